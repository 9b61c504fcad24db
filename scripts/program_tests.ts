/** What starts the program for tests, compiled or not: who imports it, also by way of others, is about the program. */
const starter = "tests/support/postern_process.ts";

/** Gives the text of a file of the project. */
export type ReadSource = (path: string) => Promise<string>;

/** Those of some test files that start the program itself: the others are the same whatever program there is. */
export async function programTests(paths: readonly string[], read: ReadSource): Promise<string[]> {
  const known = new Map<string, Promise<readonly string[]>>();
  const importsOf = (path: string) => {
    const found = known.get(path) ?? read(path).then((text) => importedBy(path, text));
    known.set(path, found);
    return found;
  };
  const chosen: string[] = [];
  for (const path of paths) if (await reaches(path, importsOf)) chosen.push(path);
  return chosen;
}

async function reaches(
  path: string,
  importsOf: (path: string) => Promise<readonly string[]>,
): Promise<boolean> {
  const seen = new Set([path]);
  for (const file of seen) {
    if (file === starter) return true;
    for (const imported of await importsOf(file)) if (imported.startsWith("tests/")) seen.add(imported);
  }
  return false;
}

/** The files of the project that one imports, those of which it knows types only left out. */
function importedBy(path: string, text: string): string[] {
  const found = text.matchAll(/^(?:import|export)\b(?! type\b)[^;]*?"(\.{1,2}\/[^"]+\.ts)"/gm);
  return [...found].map(([, name = ""]) => new URL(name, `file:///${path}`).pathname.slice(1));
}
