import { asciiName, type IpBytes, parseAnyIPv4, parseIPv6, unmapped } from "../words/mod.ts";

/** Normalizes a name for comparison: no brackets, no trailing dot, lower case, IDNs as punycode. */
export function comparableHost(host: string): string {
  let text = host;
  if (text.charCodeAt(0) === 91 && text.endsWith("]")) text = text.slice(1, -1);
  if (text.length > 1 && text.charCodeAt(text.length - 1) === 46) text = text.slice(0, -1);
  let isComparable = true;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // The root's dot may come from another script too.
    if (code > 127) return asciiName(text)?.replace(/\.$/, "") ?? text.toLowerCase();
    if (code >= 65 && code <= 90) isComparable = false;
  }
  // Most hosts are comparable already, and toLowerCase() would copy them first.
  return isComparable ? text : text.toLowerCase();
}

/**
 * Parses a comparable host as an address in any spelling; undefined for a name. An IPv4 address written as
 * IPv6 becomes IPv4, and a zone (`fe80::1%eth0`) is ignored.
 */
export function addressOf(host: string): IpBytes | undefined {
  const first = host.charCodeAt(0);
  if (!host.includes(":")) return first < 48 || first > 57 ? undefined : parseAnyIPv4(host);
  const zone = host.indexOf("%");
  const bytes = parseIPv6(zone < 0 ? host : host.slice(0, zone));
  return bytes && unmapped(bytes);
}

const loopback4: IpBytes = Uint8Array.of(127, 0, 0, 1);
const loopback6: IpBytes = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);

/** Returns the loopback address of an address's family. */
export function loopbackOf(bytes: IpBytes): IpBytes {
  return bytes.length === 4 ? loopback4 : loopback6;
}

/** Returns the loopback address of the other family. */
export function otherLoopbackOf(bytes: IpBytes): IpBytes {
  return bytes.length === 4 ? loopback6 : loopback4;
}
