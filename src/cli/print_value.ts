import type { World } from "../core/mod.ts";

/** A value for programs, as it is written to stdout. */
export async function formatValue(value: unknown, format: "json" | "yaml"): Promise<string> {
  if (format === "json") return `${JSON.stringify(value, null, 2)}\n`;
  const { stringify } = await import("yaml");
  // Values without classes only: what JSON would lose must not depend on the format.
  return stringify(JSON.parse(JSON.stringify(value)), { lineWidth: 0 });
}

/** Writes a value for programs to stdout. */
export async function printValue(world: World, value: unknown, format: "json" | "yaml"): Promise<void> {
  await world.terminal.out(await formatValue(value, format));
}
