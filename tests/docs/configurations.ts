import { settingsSchema } from "../../src/plan/settings.ts";
import { type Block, blocksOf } from "./blocks.ts";

export const schema = await settingsSchema();
const keys = Object.keys(schema.json()["properties"] ?? {});

/** Returns the YAML blocks of a page that configure postern, not another program. */
export function configurationsOf(page: string): string[] {
  return blocksOf(page).filter(isConfiguration).map(({ text }) => text);
}

/** Whether a block is YAML that begins with one of postern's keys. */
export function isConfiguration({ language, text }: Block): boolean {
  return language === "yaml" && keys.includes(/^(\w+):/m.exec(text)?.[1] ?? "");
}
