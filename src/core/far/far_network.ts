import type { FarNetwork } from "./far_table.ts";
import { type IpBytes, parseIp, unmapped } from "../../words/mod.ts";

/** No cluster owns a larger network, whatever its API server says. */
const largest = { 4: 8, 16: 32 } as const;

/** Reads `10.96.0.0/16`; undefined for anything else, and for what no cluster may own. */
export function networkIn(text: string, holds: FarNetwork["holds"]): FarNetwork | undefined {
  const [address = "", length = ""] = text.split("/");
  const bytes = parseIp(address);
  const bits = /^[0-9]{1,3}$/.test(length) ? Number(length) : -1;
  if (!bytes || bits < largest[bytes.length === 4 ? 4 : 16] || bits > bytes.length * 8) return undefined;
  return isOwnable(bytes) ? { bytes: cut(bytes, bits), bits, holds } : undefined;
}

/** Whether an address may be a cluster's: this machine itself and the links around it never are. */
export function isOwnable(bytes: IpBytes): boolean {
  const plain = unmapped(bytes);
  if (plain.length === 4) {
    return plain[0] !== 0 && plain[0] !== 127 && !(plain[0] === 169 && plain[1] === 254);
  }
  // ::/64 has loopback in it, fe80::/10 is each link's own.
  return plain.subarray(0, 8).some((byte) => byte !== 0) &&
    !(plain[0] === 254 && ((plain[1] ?? 0) & 192) === 128);
}

/** The network of so many bits that an address is in. */
export function cut(bytes: IpBytes, bits: number): IpBytes {
  return bytes.map((byte, at) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - at * 8)) & 255));
}
