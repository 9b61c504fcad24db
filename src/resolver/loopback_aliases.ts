import type { Process } from "../world/mod.ts";

/** The commands that create loopback addresses, where the system does not have all of 127.0.0.0/8. */
export function loopbackAliases(platform: Process["platform"], addresses: readonly string[]): string[] {
  if (platform !== "darwin") return [];
  return addresses.map((address) => `sudo ifconfig lo0 alias ${address}/32 up`);
}
