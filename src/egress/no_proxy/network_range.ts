import { type IpBytes, parseIp, unmapped } from "../../words/mod.ts";

/** A network as Go's `net.ParseCIDR` returns it: the masked base address and the prefix length. */
export interface NetworkRange {
  /** 4 or 16 bytes. */
  readonly bytes: IpBytes;
  readonly bits: number;
}

/** Reads `10.0.0.0/8` and clears the bits after the prefix. Undefined for other texts. */
export function parseNetworkRange(text: string): NetworkRange | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = parseIp(text.slice(0, slash));
  const length = text.slice(slash + 1);
  // Go accepts leading zeros and limits numbers to this size.
  if (!address || !/^[0-9]+$/.test(length)) return undefined;
  const bits = Number(length);
  if (bits > address.length * 8) return undefined;
  const network = masked(address, bits);
  const plain = unmapped(network);
  // A network of IPv4-mapped addresses means the IPv4 network.
  return plain.length < network.length && bits >= 96
    ? { bytes: plain, bits: bits - 96 }
    : { bytes: network, bits };
}

/** Whether a network contains an address; an IPv4 address equals its mapped form. */
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
