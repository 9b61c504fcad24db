import { type IpBytes, parseIp, unmapped } from "../../words/mod.ts";

/** A network as Go's `net.ParseCIDR` reads it: its base address, masked, and the length of its prefix. */
export interface NetworkRange {
  /** 4 or 16 bytes. */
  readonly bytes: IpBytes;
  readonly bits: number;
}

/** Reads `10.0.0.0/8`; bits behind the prefix are allowed and cleared. Undefined for anything else. */
export function parseNetworkRange(text: string): NetworkRange | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = parseIp(text.slice(0, slash));
  const length = text.slice(slash + 1);
  // Go's own reader takes zeros in front and stops at numbers of this size.
  if (!address || !/^[0-9]+$/.test(length)) return undefined;
  const bits = Number(length);
  if (bits > address.length * 8) return undefined;
  const network = masked(address, bits);
  const plain = unmapped(network);
  // A network of mapped addresses means the IPv4 network inside.
  return plain.length < network.length && bits >= 96
    ? { bytes: plain, bits: bits - 96 }
    : { bytes: network, bits };
}

/** Whether an address lies in a network; an IPv4 address and its mapped form are one. */
export function isInRange(address: IpBytes, { bytes, bits }: NetworkRange): boolean {
  const plain = unmapped(address);
  if (plain.length !== bytes.length) return false;
  return masked(plain, bits).every((byte, index) => byte === bytes[index]);
}

function masked(bytes: IpBytes, bits: number): IpBytes {
  return bytes.map((byte, index) => byte & maskOf(bits - index * 8));
}

function maskOf(bits: number): number {
  return bits <= 0 ? 0 : bits >= 8 ? 255 : 256 - (1 << (8 - bits));
}
