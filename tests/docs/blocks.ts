/** A fenced block of a document. */
export interface Block {
  /** `sh`, `yaml`, `text` and the like. */
  readonly language: string;
  /** The words after the language: `run`, `with=cluster`; readers of the page do not see them. */
  readonly words: readonly string[];
  readonly text: string;
  /** The line of the page on which the block begins. */
  readonly line: number;
  /** The `text` block directly after this block. */
  readonly prints: string | undefined;
}

/** Returns every fenced block of a page, also inside lists. */
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

/** Returns the value of a word of a fence, such as `with` in `with=cluster`. */
export function wordOf({ words }: Block, name: string): string | undefined {
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

const root = new URL("../../", import.meta.url);

/** Reads the main pages for users. */
export async function readPages(): Promise<ReadonlyMap<string, string>> {
  const paths = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"];
  for await (const { name } of Deno.readDir(new URL("docs/guide/", root))) paths.push(`docs/guide/${name}`);
  const pages = paths.filter((path) => path.endsWith(".md")).sort()
    .map(async (path) => [path, await Deno.readTextFile(new URL(path, root))] as const);
  return new Map(await Promise.all(pages));
}
