/**
 * The module that starts the program for tests; a test that imports it, directly or indirectly, tests the
 * program.
 */
const starter = "tests/support/postern_process.ts";

/** Reads a file of the project. */
export type ReadSource = (path: string) => Promise<string>;

/** Selects the test files that start the program; the other tests do not depend on the compiled program. */
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

/** Returns the project files that a file imports, without type-only imports. */
function importedBy(path: string, text: string): string[] {
  const found = text.matchAll(/^(?:import|export)\b(?! type\b)[^;]*?"(\.{1,2}\/[^"]+\.ts)"/gm);
  return [...found].map(([, name = ""]) => new URL(name, `file:///${path}`).pathname.slice(1));
}
