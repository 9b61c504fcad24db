import { type ConfigDocument, isMapping, parseDocument } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";

/** An object of a file, and the document that knows its places. */
export interface WrittenObject {
  readonly object: Readonly<Record<string, unknown>>;
  readonly document: ConfigDocument;
  /** Where it is in the document: empty but for the items of a list. */
  readonly path: readonly (string | number)[];
}

/** The most documents of one file. */
const mostDocuments = 1000;

/** Reads the objects of a file of YAML or JSON: documents parted by `---`, and the items of lists. */
export async function readObjects(world: Pick<World, "files">, path: string): Promise<WrittenObject[]> {
  const objects: WrittenObject[] = [];
  for (const document of await readDocuments(world, path)) {
    const { value } = document;
    if (!isMapping(value)) continue;
    const items = value["kind"] === "List" ? value["items"] : undefined;
    if (!Array.isArray(items)) {
      objects.push({ object: value, document, path: [] });
      continue;
    }
    const all: readonly unknown[] = items;
    all.forEach((object, index) => {
      if (isMapping(object)) objects.push({ object, document, path: ["items", index] });
    });
  }
  return objects;
}

/** Reads one document; what is wrong with its text is one error. */
export async function readDocument(world: Pick<World, "files">, path: string): Promise<ConfigDocument> {
  const [document, ...more] = await readDocuments(world, path);
  if (document && more.length === 0) return document;
  throw new PosternError("config", `Cannot read "${path}": it is not one document of YAML`, {
    hint: "name a file with that document alone",
  });
}

async function readDocuments({ files }: Pick<World, "files">, path: string): Promise<ConfigDocument[]> {
  const text = await files.readText(path, { limit: 8 * 1024 * 1024 });
  const documents: ConfigDocument[] = [];
  for (const part of parts(text)) {
    if (documents.length === mostDocuments) {
      throw new PosternError("config", `Cannot read "${path}": more than ${mostDocuments} documents`, {
        hint: "give it in several files",
      });
    }
    const document = await parseDocument(part, { name: path });
    const [problem] = document.problems;
    if (problem) {
      const { line, column } = problem.position ?? { line: 1, column: 1 };
      throw new PosternError(
        "config",
        `Cannot read "${path}": line ${line}, column ${column}: ${problem.message}`,
      );
    }
    documents.push(document);
  }
  return documents;
}

/** The documents of a text, each behind as many empty lines as it had lines before it: places stay true. */
function parts(text: string): string[] {
  const parts: string[] = [];
  let lines: string[] = [];
  const finish = () => {
    if (lines.some((line) => /^[^#\s]/.test(line.trim()))) parts.push(lines.join("\n"));
    lines = lines.map(() => "");
  };
  for (const line of text.split("\n")) {
    if (/^---\s*$/.test(line)) finish();
    lines.push(/^---\s*$/.test(line) ? "" : line);
  }
  finish();
  return parts;
}
