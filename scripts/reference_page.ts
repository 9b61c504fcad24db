/** The first line of a generated page. */
export function madeOf(source: string): string {
  return `<!-- Generated from ${source} by scripts/reference.ts: edit the source, then run deno task reference. -->`;
}

/** A Markdown table in the format of `deno fmt`. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (row[column] ?? "").padEnd(width)).join(" | ")} |`;
  const [first = [], ...rest] = cells;
  const rule = widths.map((width) => "-".repeat(width));
  return [line(first), line(rule), ...rest.map(line)].join("\n");
}

/** Replaces the text between the marks `<!-- name -->` and `<!-- end of name -->` of a page. */
export function withPart(page: string, name: string, part: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`Cannot find the marks of "${name}" in the page`);
  return `${page.slice(0, from)}${begin}\n\n${part}\n\n${page.slice(to)}`;
}

/** A paragraph of Markdown as `deno fmt` wraps it; all lines but the first begin with `indent`. */
export function paragraph(text: string, indent = ""): string {
  const lines: string[] = [];
  for (const word of text.match(/(?:\[[^\]]*\]\([^)]*\)|\S)+/g) ?? []) {
    const line = lines.at(-1);
    if (line === undefined) lines.push(word);
    else if (line.length + 1 + word.length <= 110) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines.join("\n");
}
