import { type FarNetwork, type IpBytes, parseIp } from "../../core/mod.ts";

/** Reads `10.96.0.0/16`; undefined for anything else. */
export function networkIn(text: string, holds: FarNetwork["holds"]): FarNetwork | undefined {
  const [address = "", length = ""] = text.split("/");
  const bytes = parseIp(address);
  const bits = /^[0-9]{1,3}$/.test(length) ? Number(length) : -1;
  if (!bytes || bits < 1 || bits > bytes.length * 8) return undefined;
  return { bytes: cut(bytes, bits), bits, holds };
}

/** The network of so many bits that an address is in. */
export function cut(bytes: IpBytes, bits: number): IpBytes {
  return bytes.map((byte, at) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - at * 8)) & 255));
}
