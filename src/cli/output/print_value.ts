import type { World } from "../../world/mod.ts";
import { escaped } from "./odd_characters.ts";

export async function formatValue(value: unknown, format: "json" | "yaml"): Promise<string> {
  if (format === "json") return `${escaped(JSON.stringify(value, null, 2))}\n`;
  // Imports the YAML library through our file: in a bundle, only static imports see the names of a CommonJS package.
  const { yamlText } = await import("./yaml_text.ts");
  // Both formats must omit what JSON cannot express.
  return yamlText(JSON.parse(JSON.stringify(value)));
}

/** Writes a value to stdout as JSON or YAML. */
export async function printValue(world: World, value: unknown, format: "json" | "yaml"): Promise<void> {
  await world.terminal.out(await formatValue(value, format));
}
