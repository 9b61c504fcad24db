import { type IpBytes, parseIPv4 } from "./address.ts";

/** Whether a host's last label is a number: resolvers then read the host as an address (URL standard, section 3.5). */
export function endsInNumber(host: string): boolean {
  const end = host.endsWith(".") ? host.length - 1 : host.length;
  return /^(?:[0-9]+|0x[0-9a-f]*)$/i.test(host.slice(host.lastIndexOf(".", end - 1) + 1, end));
}

/**
 * Reads an IPv4 address by the URL standard: one to four decimal, octal or hexadecimal numbers, and an optional dot at
 * the end. The last number fills the remaining bytes.
 */
export function parseAnyIPv4(text: string): IpBytes | undefined {
  const strict = parseIPv4(text);
  if (strict || !endsInNumber(text)) return strict;
  const parts = (text.endsWith(".") ? text.slice(0, -1) : text).split(".");
  if (parts.length > 4) return undefined;
  const numbers = parts.map(numberOf);
  const last = numbers.pop() ?? NaN;
  if (!numbers.every((number) => number <= 255) || !(last < 256 ** (4 - numbers.length))) return undefined;
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, last);
  bytes.set(numbers);
  return bytes;
}

/** The number in a part of an address; NaN for other text. */
function numberOf(part: string): number {
  if (/^0x[0-9a-f]*$/i.test(part)) return part.length === 2 ? 0 : parseInt(part, 16);
  if (/^0[0-7]*$/.test(part)) return parseInt(part, 8);
  return /^[1-9][0-9]*$/.test(part) ? parseInt(part, 10) : NaN;
}
