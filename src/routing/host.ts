import { asciiName, type IpBytes, parseIp, unmapped } from "../core/mod.ts";

/** The form in which names are compared: no brackets, one trailing dot dropped, lower case, IDNs as punycode. */
export function comparableHost(host: string): string {
  let text = host;
  if (text.charCodeAt(0) === 91 && text.endsWith("]")) text = text.slice(1, -1);
  if (text.length > 1 && text.charCodeAt(text.length - 1) === 46) text = text.slice(0, -1);
  let isComparable = true;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // The dot of the root may be one of another script too.
    if (code > 127) return asciiName(text)?.replace(/\.$/, "") ?? text.toLowerCase();
    if (code >= 65 && code <= 90) isComparable = false;
  }
  // Most hosts come as they should be, and toLowerCase() makes a copy before it sees that.
  return isComparable ? text : text.toLowerCase();
}

/**
 * The address that a comparable host is; undefined for a name. An IPv4 address written as IPv6 is the IPv4
 * address, and a zone (`fe80::1%eth0`) does not count.
 */
export function addressOf(host: string): IpBytes | undefined {
  const first = host.charCodeAt(0);
  const isSix = host.includes(":");
  if (!isSix && (first < 48 || first > 57)) return undefined;
  const zone = isSix ? host.indexOf("%") : -1;
  const bytes = parseIp(zone < 0 ? host : host.slice(0, zone));
  return bytes && unmapped(bytes);
}
