/** The parts of a manual page that do not come from a command's help. */
export interface ManualFacts {
  readonly version: string;
  /** The date of the version, such as `2026-11-19`. */
  readonly date: string;
  /** Names of other pages, such as `postern-proxy`. */
  readonly related: readonly string[];
}

/** A command with its help; `name` is empty for the program itself. */
export interface ManualCommand {
  readonly name: string;
  readonly summary: string;
  /** The text of `--help`, with every entry on one line. */
  readonly help: string;
  /** Subcommands (`konnectivity server`) with the help of each. */
  readonly forms?: readonly (readonly [name: string, help: string])[];
}

/** An additional section: a title and lines of roff. */
export type ManualSection = readonly [title: string, lines: readonly string[]];

/** The name of a command's page: `postern-proxy`, or `postern` for the overview. */
export function pageName(command: string): string {
  return command === "" ? "postern" : `postern-${command}`;
}

/** A command's manual page for section 1, in roff. */
export function manPage(
  command: ManualCommand,
  { version, date, related }: ManualFacts,
  more: readonly ManualSection[] = [],
): string {
  const name = pageName(command.name);
  const title = name.toUpperCase();
  return [
    `.TH ${quoted(title)} 1 ${quoted(date)} ${quoted(`postern ${version}`)} ${quoted("postern")}`,
    // Does not justify or hyphenate: command lines stay intact.
    ".ad l",
    ".nh",
    ".SH NAME",
    `${roff(name)} \\- ${roff(command.summary)}`,
    ...helpSections(command.help),
    ...(command.forms ?? []).flatMap(([form, help]) => formSection(form, help)),
    ...more.flatMap(([heading, lines]) => [`.SH ${quoted(heading)}`, ...lines]),
    ".SH SEE ALSO",
    related.map((other) => `.BR ${roff(other)} (1)`).join(" ,\n"),
  ].join("\n") + "\n";
}

/** A list of terms with their meanings. */
export function terms(rows: readonly (readonly [term: string, meaning: string])[]): string[] {
  return rows.flatMap(([term, meaning]) => [".TP", `.B ${quoted(term)}`, roff(meaning)]);
}

/** The blocks of a help text, each under its heading of the manual. */
function helpSections(help: string): string[] {
  const blocks = help.trimEnd().split(/\n\n+/);
  const usage = blocks.findIndex((block) => block.startsWith("Usage:"));
  const about = blocks.slice(0, usage).flatMap((block) => [".PP", ...block.split("\n").map(roff)]);
  return [
    ".SH SYNOPSIS",
    ...synopsis(blocks[usage] ?? ""),
    ...about.length > 0 ? [".SH DESCRIPTION", ...about.slice(1)] : [],
    ...blocks.slice(usage + 1).flatMap(helpBlock),
  ];
}

function synopsis(usage: string): string[] {
  return usage.split("\n").flatMap((line) => [".PP", roff(line.replace(/^Usage: | {7}/, "").trimEnd())])
    .slice(1);
}

/** The section of a subcommand: its options. */
function formSection(form: string, help: string): string[] {
  const blocks = help.trimEnd().split(/\n\n+/);
  const own = blocks.filter((block) => block.startsWith("  ") || block.startsWith("Options:"));
  if (own.length === 0) return [];
  return [`.SH ${quoted(form.toUpperCase())}`, ...own.flatMap((block) => entries(block.split("\n")))];
}

function helpBlock(block: string): string[] {
  const [first = "", ...rest] = block.split("\n");
  if (!first.endsWith(":") || first.startsWith(" ")) {
    return first.startsWith(" ") ? [".SH OPTIONS", ...entries([first, ...rest])] : [".PP", roff(block)];
  }
  return [`.SH ${quoted(first.slice(0, -1).toUpperCase())}`, ...entries(rest)];
}

/** Entries: a term and its meaning on one line, or a command to type with its caption on the next line. */
function entries(lines: readonly string[]): string[] {
  const made: string[] = [];
  for (const line of lines) {
    const [, term, meaning] = /^ {2}(\S.*?) {2,}(\S.*)$/.exec(line) ?? [];
    if (term !== undefined && meaning !== undefined) made.push(".TP", `.B ${quoted(term)}`, roff(meaning));
    else if (/^ {6}/.test(line)) made.push(roff(line.trim()));
    else made.push(".TP", `.B ${quoted(line.trim())}`);
  }
  return made;
}

/** Escapes text for roff: no requests, and minus signs that users can copy. */
function roff(text: string): string {
  const plain = text.replaceAll("\u2026", "...").replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll(
    "`",
    "\\(ga",
  )
    .replaceAll("^", "\\(ha").replaceAll("~", "\\(ti").replaceAll("'", "\\(aq")
    .replace(/[^\x20-\x7e]/gu, (sign) => `\\[u${codeOf(sign)}]`);
  return /^[.]/.test(plain) ? `\\&${plain}` : plain;
}

function codeOf(sign: string): string {
  return (sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

function quoted(text: string): string {
  return `"${roff(text).replaceAll('"', "\\(dq")}"`;
}
