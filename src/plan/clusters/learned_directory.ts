import type { Files, Places } from "../../world/mod.ts";

/** Where what postern learns of clusters is stored. */
export function learnedDirectory({ cache }: Pick<Places, "cache">): string {
  return `${cache}/learned`;
}

/** Removes what is stored of all clusters; an instance that runs stores again what it has learned. Gives how many there were. */
export async function forgetLearned(
  { files, places }: { readonly files: Pick<Files, "info" | "list" | "remove">; readonly places: Places },
): Promise<number> {
  const directory = learnedDirectory(places);
  if (!await files.info(directory)) return 0;
  const stored = (await files.list(directory)).filter((name) => name.endsWith(".json"));
  for (const name of stored) await files.remove(`${directory}/${name}`);
  return stored.length;
}
