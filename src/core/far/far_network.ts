import type { FarNetwork } from "./far_table.ts";
import { type IpBytes, parseIp, unmapped } from "../../words/mod.ts";

/** The largest network that a cluster may own, even if its API server reports a larger one. */
const largest = { 4: 8, 16: 32 } as const;

/** Parses `10.96.0.0/16`; undefined for anything else, and for networks that no cluster may own. */
export function networkIn(text: string, holds: FarNetwork["holds"]): FarNetwork | undefined {
  const [address = "", length = ""] = text.split("/");
  const bytes = parseIp(address);
  const bits = /^[0-9]{1,3}$/.test(length) ? Number(length) : -1;
  if (!bytes || bits < largest[bytes.length === 4 ? 4 : 16] || bits > bytes.length * 8) return undefined;
  return isOwnable(bytes) ? { bytes: cut(bytes, bits), bits, holds } : undefined;
}

/** Whether a cluster may own an address: loopback and link-local addresses belong to this machine. */
export function isOwnable(bytes: IpBytes): boolean {
  const plain = unmapped(bytes);
  if (plain.length === 4) {
    return plain[0] !== 0 && plain[0] !== 127 && !(plain[0] === 169 && plain[1] === 254);
  }
  // ::/64 contains loopback; fe80::/10 is link-local.
  return plain.subarray(0, 8).some((byte) => byte !== 0) &&
    !(plain[0] === 254 && ((plain[1] ?? 0) & 192) === 128);
}

/** Returns the network of an address, by its prefix length. */
export function cut(bytes: IpBytes, bits: number): IpBytes {
  return bytes.map((byte, at) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - at * 8)) & 255));
}
