import { formatIp } from "../../words/mod.ts";

/** The address whose reverse name this is (RFC 1035, section 3.5; RFC 3596, section 2.5), in canonical form. */
export function reverseAddress(name: string): string | undefined {
  const four = /^([0-9.]+)\.in-addr\.arpa$/.exec(name)?.[1]?.split(".").reverse();
  if (four) {
    const isAddress = four.length === 4 &&
      four.every((part) => /^(?:0|[1-9][0-9]{0,2})$/.test(part) && +part < 256);
    return isAddress ? four.join(".") : undefined;
  }
  const nibbles = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name)?.[1]?.split(".").slice(0, 32).reverse();
  if (!nibbles) return undefined;
  const bytes = Uint8Array.from({ length: 16 }, (_, at) => {
    return parseInt(`${nibbles[2 * at]}${nibbles[2 * at + 1]}`, 16);
  });
  return formatIp(bytes);
}
