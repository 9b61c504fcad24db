import { type ConfigDocument, isMapping, parseDocument } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";

/** An object from a file, with its document for line numbers. */
export interface WrittenObject {
  readonly object: Readonly<Record<string, unknown>>;
  readonly document: ConfigDocument;
  /** The path in the document: empty except for items of a list. */
  readonly path: readonly (string | number)[];
}

/** The maximum number of documents in one file. */
const mostDocuments = 1000;

/** Reads the objects of a YAML or JSON file: documents separated by `---`, and the items of lists. */
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

/** Reads a file with one document; throws on invalid text. */
export async function readDocument(world: Pick<World, "files">, path: string): Promise<ConfigDocument> {
  const [document, ...more] = await readDocuments(world, path);
  if (document && more.length === 0) return document;
  throw new PosternError("config", `Cannot read "${path}": it must contain exactly one YAML document`, {
    hint: "name a file with only that document",
  });
}

async function readDocuments({ files }: Pick<World, "files">, path: string): Promise<ConfigDocument[]> {
  const text = await files.readText(path, { limit: 8 * 1024 * 1024 });
  const documents: ConfigDocument[] = [];
  for (const part of parts(text)) {
    if (documents.length === mostDocuments) {
      throw new PosternError("config", `Cannot read "${path}": more than ${mostDocuments} documents`, {
        hint: "split it into several files",
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

/**
 * Splits a text into documents. Empty lines replace the text before each document, so that line numbers stay
 * correct.
 */
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
