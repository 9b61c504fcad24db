/** An IP address: its bytes (4 or 16) in network order. */
export type IpBytes = Uint8Array<ArrayBuffer>;

/** Reads an IPv4 address in four-part decimal form; `parseAnyIPv4` also accepts `10.1`, `010.0.0.1` and `0x7f.1`. */
export function parseIPv4(text: string): IpBytes | undefined {
  const bytes = new Uint8Array(4);
  return readIPv4(text, 0, bytes) ? bytes : undefined;
}

/**
 * Reads an IPv6 address (RFC 4291, section 2.2) without brackets and zone. One pass without temporary objects: the
 * router calls this for every connection.
 */
export function parseIPv6(text: string): IpBytes | undefined {
  if (text.length < 2 || text.length > 45) return undefined;
  const bytes = new Uint8Array(16);
  let filled = 0;
  let gap = text.startsWith("::") ? 0 : -1;
  for (let at = gap < 0 ? 0 : 2; at < text.length;) {
    if (filled === 16) return undefined;
    const start = at;
    let group = 0;
    for (; at < text.length; at++) {
      const digit = hexDigit(text.charCodeAt(at));
      if (digit < 0) break;
      group = group << 4 | digit;
    }
    if (at === start || at > start + 4) return undefined;
    if (text.charCodeAt(at) === dot) {
      if (filled > 12 || !readIPv4(text, start, bytes.subarray(filled, filled + 4))) return undefined;
      filled += 4;
      break;
    }
    bytes[filled++] = group >> 8;
    bytes[filled++] = group & 255;
    if (at === text.length) break;
    if (text.charCodeAt(at++) !== colon || at === text.length) return undefined;
    if (text.charCodeAt(at) !== colon) continue;
    if (gap >= 0) return undefined;
    gap = filled;
    at++;
  }
  if (gap < 0) return filled === 16 ? bytes : undefined;
  // A gap replaces at least one group of zeros.
  if (filled === 16) return undefined;
  const tail = 16 - filled + gap;
  return bytes.copyWithin(tail, gap, filled).fill(0, gap, tail);
}

const dot = 46;
const colon = 58;

/** Fills four bytes from the text between `start` and its end. */
function readIPv4(text: string, start: number, bytes: IpBytes): boolean {
  let at = start;
  for (let part = 0; part < 4; part++) {
    let value = -1;
    let digits = 0;
    while (at < text.length) {
      const digit = text.charCodeAt(at) - 48;
      if (digit < 0 || digit > 9) break;
      if (digits === 1 && value === 0) return false;
      value = digits === 0 ? digit : value * 10 + digit;
      if (++digits > 3) return false;
      at++;
    }
    if (value < 0 || value > 255) return false;
    bytes[part] = value;
    if (part < 3 && text.charCodeAt(at++) !== dot) return false;
  }
  return at === text.length;
}

/** The value of `0-9a-fA-F`, or -1. */
function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const letter = code | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/** Reads either family. */
export function parseIp(text: string): IpBytes | undefined {
  return text.includes(":") ? parseIPv6(text) : parseIPv4(text);
}

/** Writes 4 or 16 bytes in the canonical form (RFC 5952 for IPv6). */
export function formatIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (isMapped(bytes)) return `::ffff:${bytes[12]}.${bytes[13]}.${bytes[14]}.${bytes[15]}`;
  const gap = longestGap(bytes);
  let text = "";
  for (let at = 0; at < 16; at += 2) {
    if (at === gap.start) {
      text += "::";
      at = gap.end - 2;
    } else {
      const separator = at === 0 || at === gap.end ? "" : ":";
      text += separator + groupAt(bytes, at).toString(16);
    }
  }
  return text;
}

/** The first of the longest runs of two or more zero groups. */
function longestGap(bytes: Uint8Array): { readonly start: number; readonly end: number } {
  let best = { start: -1, end: -1 };
  for (let start = 0; start < 16; start += 2) {
    let end = start;
    while (end < 16 && groupAt(bytes, end) === 0) end += 2;
    if (end - start > Math.max(2, best.end - best.start)) best = { start, end };
    if (end > start) start = end;
  }
  return best;
}

function groupAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) << 8 | (bytes[at + 1] ?? 0);
}

/** Whether 16 bytes are `::ffff:a.b.c.d`. */
function isMapped(bytes: Uint8Array): boolean {
  for (let at = 0; at < 10; at++) if (bytes[at] !== 0) return false;
  return bytes[10] === 255 && bytes[11] === 255;
}

/** The IPv4 address inside `::ffff:a.b.c.d`; any other address unchanged. */
export function unmapped(bytes: IpBytes): IpBytes {
  return bytes.length === 16 && isMapped(bytes) ? bytes.slice(12) : bytes;
}

/** Whether an address is in 127.0.0.0/8, also mapped to IPv6, or is ::1. */
export function isLoopback(bytes: IpBytes): boolean {
  const plain = unmapped(bytes);
  if (plain.length === 4) return plain[0] === 127;
  return plain[15] === 1 && plain.subarray(0, 15).every((byte) => byte === 0);
}

/** Whether an address is 0.0.0.0, also mapped to IPv6, or ::. A connection to it reaches loopback. */
export function isUnspecified(bytes: IpBytes): boolean {
  return unmapped(bytes).every((byte) => byte === 0);
}

/** Whether the host of a URL or Host header is always this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  const bytes = parseIp(name);
  return bytes !== undefined && isLoopback(bytes);
}
