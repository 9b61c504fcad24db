import type { Bytes, FuzzTarget } from "./fuzz_target.ts";

const directory = new URL("./corpus/", import.meta.url);

/** Returns the directory of a target's inputs. */
export function corpusDirectory({ name }: Pick<FuzzTarget, "name">): URL {
  return new URL(`${name}/`, directory);
}

/** A stored input. */
export interface CorpusEntry {
  readonly name: string;
  readonly bytes: Bytes;
}

/** Reads the inputs of a target, ordered by name. */
export async function readCorpus(target: Pick<FuzzTarget, "name">): Promise<CorpusEntry[]> {
  const place = corpusDirectory(target);
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(place)) if (isFile) names.push(name);
  return await Promise.all(
    names.sort().map(async (name) => ({
      name,
      bytes: await Deno.readFile(new URL(name, place)),
    })),
  );
}
