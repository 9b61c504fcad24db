import type { Files, Places } from "../../world/mod.ts";

/** The directory for learned facts about clusters. */
export function learnedDirectory({ cache }: Pick<Places, "cache">): string {
  return `${cache}/learned`;
}

/**
 * Removes the stored facts of all clusters and returns their number; a running instance stores its facts
 * again.
 */
export async function forgetLearned(
  { files, places }: { readonly files: Pick<Files, "info" | "list" | "remove">; readonly places: Places },
): Promise<number> {
  const directory = learnedDirectory(places);
  if (!await files.info(directory)) return 0;
  const stored = (await files.list(directory)).filter((name) => name.endsWith(".json"));
  for (const name of stored) await files.remove(`${directory}/${name}`);
  return stored.length;
}
