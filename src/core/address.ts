/** An IP address: its bytes (4 or 16) in network order. */
export type IpBytes = Uint8Array<ArrayBuffer>;

/** Reads an IPv4 address in the four-part decimal form only: `10.1`, `010.0.0.1` and `0x7f.1` are names, not addresses. */
export function parseIPv4(text: string): IpBytes | undefined {
  const bytes = new Uint8Array(4);
  let at = 0;
  for (let part = 0; part < 4; part++) {
    let value = -1;
    let digits = 0;
    while (at < text.length) {
      const digit = text.charCodeAt(at) - 48;
      if (digit < 0 || digit > 9) break;
      if (digits === 1 && value === 0) return undefined;
      value = digits === 0 ? digit : value * 10 + digit;
      if (++digits > 3) return undefined;
      at++;
    }
    if (value < 0 || value > 255) return undefined;
    bytes[part] = value;
    if (part < 3 && text.charCodeAt(at++) !== 46) return undefined;
  }
  return at === text.length ? bytes : undefined;
}

/** Reads an IPv6 address (RFC 4291, section 2.2), without brackets and without a zone. */
export function parseIPv6(text: string): IpBytes | undefined {
  if (text.length < 2 || text.length > 45 || !text.includes(":")) return undefined;
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = groups(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? groups(halves[1] ?? "", true) : [];
  if (!head || !tail) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const bytes = new Uint8Array(16);
  [...head, ...new Array<number>(missing).fill(0), ...tail].forEach((group, index) => {
    bytes[index * 2] = group >> 8;
    bytes[index * 2 + 1] = group & 255;
  });
  return bytes;
}

function groups(text: string, dottedAllowed: boolean): number[] | undefined {
  if (text === "") return [];
  const out: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (dottedAllowed && index === parts.length - 1 && part.includes(".")) {
      const v4 = parseIPv4(part);
      if (!v4) return undefined;
      const [a, b, c, d] = v4 as unknown as [number, number, number, number];
      out.push(a << 8 | b, c << 8 | d);
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(part)) return undefined;
      out.push(parseInt(part, 16));
    }
  }
  return out;
}

/** Reads either family. */
export function parseIp(text: string): IpBytes | undefined {
  return text.includes(":") ? parseIPv6(text) : parseIPv4(text);
}

/** Writes 4 or 16 bytes in the canonical form (RFC 5952 for IPv6). */
export function formatIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  const parts: number[] = [];
  for (let i = 0; i < 16; i += 2) parts.push((bytes[i] ?? 0) << 8 | (bytes[i + 1] ?? 0));
  if (parts.slice(0, 5).every((part) => part === 0) && parts[5] === 0xffff) {
    return `::ffff:${formatIp(bytes.subarray(12))}`;
  }
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let end = start;
    while (end < 8 && parts[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
  }
  const hex = parts.map((part) => part.toString(16));
  if (best.start < 0) return hex.join(":");
  return `${hex.slice(0, best.start).join(":")}::${hex.slice(best.start + best.length).join(":")}`;
}

/** The IPv4 address inside `::ffff:a.b.c.d`; any other address unchanged. */
export function unmapped(bytes: IpBytes): IpBytes {
  if (bytes.length !== 16) return bytes;
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return bytes;
  return bytes[10] === 255 && bytes[11] === 255 ? bytes.slice(12) : bytes;
}

/** Whether an address is 127.0.0.0/8, ::1, or the former written as IPv6. */
export function isLoopback(bytes: IpBytes): boolean {
  const plain = unmapped(bytes);
  if (plain.length === 4) return plain[0] === 127;
  return plain.subarray(0, 15).every((byte) => byte === 0) && plain[15] === 1;
}

/** Whether a host of a URL or of a Host header means this machine and nothing else. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  const bytes = parseIp(name);
  return bytes !== undefined && isLoopback(bytes);
}
