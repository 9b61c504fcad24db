/** A fenced block of a document. */
export interface Block {
  /** `sh`, `yaml`, `text` and the like. */
  readonly language: string;
  /** What stands behind the language: `run`, `with=cluster`. Nobody sees it who reads the page. */
  readonly words: readonly string[];
  readonly text: string;
  /** The line of the page where it begins. */
  readonly line: number;
  /** The `text` block that follows at once. */
  readonly prints: string | undefined;
}

/** Every fenced block of a page, also those inside of lists. */
export function blocksOf(page: string): Block[] {
  const fence = /^( *)```(\S+)([^\n]*)\n(.*?)\n\1```$/gms;
  const found = [...page.matchAll(fence)].map((match) => {
    const [whole, indent = "", language = "", words = "", text = ""] = match;
    return {
      language,
      words: words.split(" ").filter((word) => word !== ""),
      text: text.split("\n").map((line) => line.startsWith(indent) ? line.slice(indent.length) : line)
        .join("\n"),
      line: page.slice(0, match.index).split("\n").length,
      end: match.index + whole.length,
      start: match.index,
    };
  });
  return found.map(({ start: _start, end, ...block }, at) => {
    const next = found[at + 1];
    const isAnswered = next?.language === "text" && page.slice(end, next.start).trim() === "";
    return { ...block, prints: isAnswered ? next.text : undefined };
  });
}

/** The value of a word of a fence: of `with` in `with=cluster`. */
export function wordOf({ words }: Block, name: string): string | undefined {
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

const root = new URL("../../", import.meta.url);

/** The pages that people read first, with their text. */
export async function readPages(): Promise<ReadonlyMap<string, string>> {
  const paths = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"];
  for await (const { name } of Deno.readDir(new URL("docs/guide/", root))) paths.push(`docs/guide/${name}`);
  const pages = paths.filter((path) => path.endsWith(".md")).sort()
    .map(async (path) => [path, await Deno.readTextFile(new URL(path, root))] as const);
  return new Map(await Promise.all(pages));
}
