import { blocksOf } from "./blocks.ts";

/** Returns the command lines in sentences and tables of a page, and in blocks that no test runs. */
export function commandLinesOf(page: string): string[] {
  const prose = page.replace(/^ *```.*?^ *```$/gms, "");
  const spans = [...prose.matchAll(/`(postern [^`]+)`/g)].map(([, span = ""]) =>
    span.replaceAll(/\s+/g, " ")
  );
  const blocks = blocksOf(page).filter(({ language, words }) => language === "sh" && words.length === 0);
  const lines = blocks.flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, "").split("\n"))
    .filter((line) => line.startsWith("postern ")).map((line) => line.replace("… ", ""));
  const jobs = blocksOf(page).filter(({ language }) => language === "yaml").flatMap(({ text }) =>
    [...text.matchAll(/(?:run: |- |\[)(postern [^\]\n]+)/g)].map(([, line = ""]) => line)
  );
  return [...spans, ...lines, ...jobs];
}

/** Splits the words after `postern` like a shell. */
export function wordsOfLine(line: string): string[] {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)];
  return words.map(([, single, double, plain]) => single ?? double ?? plain ?? "").slice(1);
}
