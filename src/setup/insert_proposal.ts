// Imports the YAML library by name; loaded when a configuration changes.
import {
  type Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { isMapping, sameSettings } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import {
  flowText,
  type Proposal,
  type ProposedCatalogue,
  type ProposedRoute,
  type ProposedTransport,
} from "./proposal.ts";

/** The beginning of a new configuration. */
const heading = `# yaml-language-server: $schema=./postern.schema.json
# The configuration of postern. Save the file and postern applies it.
# Check it: postern config check. Show the route of a target: postern explain HOST:PORT.
`;

/** An entry of a section, after the comment with its reason. */
interface Entry {
  readonly reason: string;
  /** The entry on one line, without the dash of a list. */
  readonly text: string;
  readonly isComment?: boolean | undefined;
}

const sections = ["listen", "transports", "routes", "default", "catalogues"] as const;
type Section = typeof sections[number];

/** As the configuration is read: keys are texts. */
const reading = {
  schema: "core",
  version: "1.2",
  stringKeys: true,
  uniqueKeys: false,
  logLevel: "error",
} as const;

/** Adds a proposal to the text of a configuration; the existing lines stay as they are. */
export function withProposal(text: string, proposal: Proposal): string {
  const line = text.includes("\r\n") ? "\r\n" : "\n";
  let result = text.trim() === "" ? heading : text;
  const add = (section: Section, entries: readonly Entry[]) => {
    if (entries.length > 0) result = inserted(result, section, entries, line);
  };
  const { listen, transports, routes, fallback, catalogues } = proposal;
  if (listen) add("listen", [{ reason: listen.reason, text: `mixed: ${flowText(listen.address)}` }]);
  add("transports", transports.map(transportEntry));
  add("routes", routes.map(routeEntry));
  if (fallback) add("default", [{ reason: fallback.reason, text: flowText(fallback.name) }]);
  add("catalogues", catalogues.map(catalogueEntry));
  demandKept(text, result);
  return result;
}

function transportEntry({ name, kind, settings, via, reason }: ProposedTransport): Entry {
  return { reason, text: `${flowText(name)}: ${flowText({ [kind]: settings, via })}` };
}

function routeEntry({ to, via, reason, isGuess }: ProposedRoute): Entry {
  return { reason, text: flowText({ to, via }), isComment: isGuess };
}

function catalogueEntry({ url, name, oidc, via, reason }: ProposedCatalogue): Entry {
  const settings = { lieutenant: url.href, name: name === "main" ? undefined : name, oidc, via };
  return { reason, text: flowText(settings) };
}

/** Inserts entries at the end of a section, or a new section at the end of the text. */
function inserted(text: string, section: Section, entries: readonly Entry[], line: string): string {
  const document = parseDocument(text, reading);
  const pair = pairOf(document, section);
  const value = pair?.value;
  const isList = section === "routes" || section === "catalogues";
  const linesAt = (indent: string) =>
    entries.flatMap(({ reason, text, isComment }) => [
      `${indent}# ${commentText(reason)}`,
      `${indent}${isComment ? "# " : ""}${isList ? "- " : ""}${text}`,
    ]).map((one) => `${one}${line}`).join("");
  if (!pair) {
    const { contents } = document;
    const isPlain = contents === null || isMap(contents) && !contents.flow &&
        /(?:^|\n)$/.test(text.slice(0, startOf(contents.items[0]?.key)).replace(/^\uFEFF/, ""));
    if (!isPlain) {
      throw cannotAdd(section, "the configuration is not written as lines of keys and values");
    }
    const before = endingIn(line, text);
    if (entries.every(({ isComment }) => isComment)) {
      return `${before}${line}# ${section}:${line}${linesAt("").replace(/^# - /gm, "#   - ")}`;
    }
    if (section === "default") {
      const [{ reason, text: value } = { reason: "", text: "" }] = entries;
      return `${before}${line}# ${commentText(reason)}${line}default: ${value}${line}`;
    }
    return `${before}${line}${section}:${line}${linesAt("  ")}`;
  }
  if (section === "default") throw cannotAdd(section, "it is set already");
  if (isScalar(value) && value.value === null && value.source) {
    // An explicit null such as ~ would come before the entries.
    const [start = 0, end = 0] = value.range ?? [];
    return inserted(`${text.slice(0, start).replace(/ +$/, "")}${text.slice(end)}`, section, entries, line);
  }
  if (value === null || value === undefined || isScalar(value) && value.value === null) {
    return insertedAt(text, lineEnd(text, offsetAfter(pair.key)), linesAt("  "), line);
  }
  if (!(isList ? isSeq(value) : isMap(value))) throw cannotAdd(section, "its value is not a plain section");
  const collection = value as YAMLMap | YAMLSeq;
  const [start = 0, end = 0] = collection.range ?? [];
  if (!collection.flow) {
    const first = isSeq(collection) ? collection.items[0] : (collection.items[0] as Pair | undefined)?.key;
    const at = lineStart(text, startOf(first) ?? start);
    const indent = /^[ ]*/.exec(text.slice(at))?.[0] ?? "";
    return insertedAt(text, lineEnd(text, lastOffset(collection)), linesAt(indent), line);
  }
  if (collection.items.length === 0 && entries.every(({ isComment }) => isComment)) {
    return insertedAt(text, lineEnd(text, end), linesAt(""), line);
  }
  if (collection.items.length === 0) {
    // An empty flow collection has nothing to keep but comments after it.
    if (/[#\n]/.test(text.slice(start, end))) throw cannotAdd(section, "its brackets contain a comment");
    const rest = text.slice(end);
    const before = text.slice(0, start).replace(/ +$/, "");
    return insertedAt(before + rest, lineEnd(before + rest, before.length), linesAt("  "), line);
  }
  return insertedInBrackets(text, { last: lastOffset(collection.items.at(-1)), close: end - 1, section }, {
    lines: entries.filter(({ isComment }) => !isComment).flatMap(({ reason, text }) => [
      `# ${commentText(reason)}`,
      `${text},`,
    ]),
    line,
  });
}

/** Inserts entries before the last bracket of a flow collection, each on its own line. */
function insertedInBrackets(
  text: string,
  { last, close, section }: { readonly last: number; readonly close: number; readonly section: Section },
  { lines, line }: { readonly lines: readonly string[]; readonly line: string },
): string {
  const between = text.slice(last, close);
  if (between.includes("#")) throw cannotAdd(section, "a comment precedes its last bracket");
  if (lines.length === 0) return text;
  const before = `${text.slice(0, last)}${between.includes(",") ? "" : ","}${between.trimEnd()}`;
  const start = lineStart(text, close);
  // A bracket alone on its line stays as it is.
  const bracket = text.slice(start, close).trim() === "" ? text.slice(start) : `  ${text.slice(close)}`;
  return `${before}${line}${lines.map((one) => `    ${one}${line}`).join("")}${bracket}`;
}

/** Throws if the new text changes or drops a value of the old one: some forms of YAML cannot be extended. */
function demandKept(before: string, after: string): void {
  const [old, now] = [valueIn(before), valueIn(after)];
  const lost = Object.keys(old ?? {}).find((key) => !isKept(old?.[key], now?.[key]));
  const added = Object.keys(now ?? {}).filter((key) => !Object.hasOwn(old ?? {}, key));
  const isPlain = old !== undefined && now !== undefined;
  if (isPlain && lost === undefined && added.every((key) => sections.some((one) => one === key))) return;
  throw cannotAdd(lost ?? "transports", "the form of the file does not allow it");
}

/** The values of a text; undefined if it cannot be read. */
function valueIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const document = parseDocument(text, reading);
  if (document.errors.length > 0) return undefined;
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
    return isMapping(value) ? value : undefined;
  } catch {
    // An alias without an anchor, or far too many aliases.
    return undefined;
  }
}

function isKept(before: unknown, after: unknown): boolean {
  if (before === null || before === undefined) return true;
  if (Array.isArray(before)) {
    return Array.isArray(after) && sameSettings(before, after.slice(0, before.length));
  }
  if (isMapping(before)) {
    return isMapping(after) &&
      Object.entries(before).every(([key, value]) => sameSettings(value, after[key]));
  }
  return sameSettings(before, after);
}

function pairOf(document: Document, section: Section): Pair<unknown, unknown> | undefined {
  if (!isMap(document.contents)) return undefined;
  return document.contents.items.find(({ key }) => isScalar(key) && key.value === section);
}

/** Where the content of a node ends, without comments after it. */
function lastOffset(node: unknown): number {
  if (isPair(node)) return Math.max(offsetAfter(node.key), node.value ? lastOffset(node.value) : 0);
  return (isMap(node) || isSeq(node)) && !node.flow ? lastOffset(node.items.at(-1)) : offsetAfter(node);
}

function offsetAfter(node: unknown): number {
  return rangeOf(node)?.[1] ?? 0;
}

function startOf(node: unknown): number | undefined {
  return rangeOf(node)?.[0];
}

function rangeOf(node: unknown): readonly number[] | undefined {
  const { range } = (node ?? {}) as { readonly range?: readonly number[] | null };
  return range ?? undefined;
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/** The offset after the line of a position; a position after a line break belongs to the line before it. */
function lineEnd(text: string, at: number): number {
  if (at > 0 && text[at - 1] === "\n") return at;
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}

function insertedAt(text: string, at: number, lines: string, line: string): string {
  return `${endingIn(line, text.slice(0, at))}${lines}${text.slice(at)}`;
}

function endingIn(line: string, text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}${line}`;
}

/** A reason on one line: names from files may contain anything. */
function commentText(reason: string): string {
  return reason.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 300);
}

function cannotAdd(section: string, why: string): PosternError {
  return new PosternError("config", `Cannot add to the section "${section}": ${why}`, {
    hint: `add the lines yourself: postern setup --config NEW.yaml --yes writes them to a new file`,
  });
}
