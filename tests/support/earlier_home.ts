import type { Known } from "./lived_home.ts";
import type { Household } from "./postern_process.ts";

const directory = new URL("../earlier/", import.meta.url);

/** The names of earlier versions with a stored home directory (`tests/earlier/README.md`). */
export function earlierVersions(): string[] {
  return [...Deno.readDirSync(directory)].filter(({ isDirectory }) => isDirectory).map(({ name }) => name)
    .sort();
}

/**
 * Copies the files of an earlier version into a home with their modes; returns the facts that version knew.
 */
export async function moveIn(home: Household, version: string): Promise<Known> {
  const from = decodeURIComponent(new URL(`${version}/`, directory).pathname);
  for await (const path of below(from)) {
    if (path === "known.json") continue;
    const target = `${home.directory}/${path}`;
    await Deno.mkdir(target.replace(/\/[^/]*$/, ""), { recursive: true, mode: 0o700 });
    if (path.endsWith(".kv")) await Deno.writeFile(target, await Deno.readFile(`${from}${path}`), privately);
    else {
      const text = await Deno.readTextFile(`${from}${path}`);
      const program = home.commandLine([]).command[0] ?? "";
      const filled = text.replaceAll("@HOME@", home.directory).replaceAll("@PROGRAM@", program);
      await Deno.writeTextFile(target, filled, privately);
    }
  }
  return JSON.parse(await Deno.readTextFile(`${from}known.json`));
}

const privately = { mode: 0o600 };

/** Yields the relative path of every file below a directory. */
export async function* below(directory: string, path = ""): AsyncGenerator<string> {
  for await (const { name, isDirectory, isFile } of Deno.readDir(`${directory}/${path}`)) {
    if (isDirectory) yield* below(directory, `${path}${name}/`);
    else if (isFile) yield `${path}${name}`;
  }
}
