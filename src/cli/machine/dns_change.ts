import type { DnsChange } from "../../resolver/mod.ts";
import type { World } from "../../world/mod.ts";

/** Reports which system files were written and removed. */
export async function tellDnsChange(world: World, { written, removed }: DnsChange): Promise<void> {
  const lines = [...written.map((path) => `wrote ${path}`), ...removed.map((path) => `removed ${path}`)];
  if (lines.length === 0) lines.push("nothing to change");
  await world.terminal.err(lines.map((line) => `postern: ${line}\n`).join(""));
}
