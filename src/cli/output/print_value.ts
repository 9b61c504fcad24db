import type { World } from "../../world/mod.ts";
import { escaped } from "./odd_characters.ts";

/** A value for programs, as it is written to stdout. */
export async function formatValue(value: unknown, format: "json" | "yaml"): Promise<string> {
  if (format === "json") return `${escaped(JSON.stringify(value, null, 2))}\n`;
  // The library by way of a file of ours: a bundle gives the names of a CommonJS package to static imports only.
  const { yamlText } = await import("./yaml_text.ts");
  // What JSON would lose must not depend on the format.
  return yamlText(JSON.parse(JSON.stringify(value)));
}

/** Writes a value for programs to stdout. */
export async function printValue(world: World, value: unknown, format: "json" | "yaml"): Promise<void> {
  await world.terminal.out(await formatValue(value, format));
}
