import assert from "node:assert/strict";
import { readPages } from "./blocks.ts";

const troubleshooting = "docs/guide/troubleshooting.md";

/** The column headings for sentences of postern. */
const columns = ["sentence", "the sentence begins with", "postern says", "event"];

const pages = await readPages();
const source = await sourcesBelow(new URL("../../src/", import.meta.url));
const words = [...source.values()].join("\n");

for (const [path, page] of pages) {
  const sentences = sentencesOf(page);
  if (sentences.length === 0) continue;
  Deno.test(`postern contains every sentence that ${path} explains`, () => {
    const unsaid = sentences.filter((sentence) => fixedParts(sentence).some((part) => !words.includes(part)));
    assert.deepEqual(unsaid, []);
  });
}

Deno.test(`${troubleshooting} has sections with sentences`, () => {
  const sections = (pages.get(troubleshooting) ?? "").split(/^## /m).slice(1);
  const explaining = sections.filter((section) => sentencesOf(section).length > 3);
  assert.ok(explaining.length >= 8, `${explaining.length} sections`);
});

Deno.test(`${troubleshooting} has every warning event of the log`, () => {
  const known = new Set(sentencesOf(pages.get(troubleshooting) ?? ""));
  const events = [...source].filter(([path]) => !path.includes("/src/demo/")).flatMap(([, text]) =>
    [...text.matchAll(/[lL]og\??\.(?:warn|error)\(\s*"([a-z_.]+)"/g)].map(([, event = ""]) => event)
  );
  assert.ok(events.length > 50, `${events.length} events`);
  assert.deepEqual(events.filter((event) => !known.has(event)), []);
});

/** Errors without a hint: a protocol reports them to clients, or the sentence itself says what to do. */
const unhinted: Readonly<Record<string, readonly string[]>> = {
  auth: [
    "Cannot serve the client: it does not offer ${what}",
    "Cannot serve the client: wrong user or password",
    "Cannot use this control port without its token",
  ],
  config: [
    '"config", `the built-in engine cannot evaluate the condition "${unjudged}"`',
    '"config", `unknown condition "${name}"`',
    '"config", expanded.fault',
    "Cannot answer DNS on ${text}: DNS needs a port, not a socket file",
    "Cannot read the object ${shownText(name)}: the name is invalid",
    'Cannot build the transport "${name}": unknown name',
    'Cannot build the transport "${name}": its path contains itself',
    'Cannot read "${path}": the file has more than ${limit} bytes',
    'Cannot read "${path}": line ${line}, column ${column}: ${problem.message}',
    "Cannot read the PEM: it has no ${label}",
    "Cannot read the PEM: its ${label} is not base64",
    'Cannot use "only": ${parsed.problem}',
    // The store of catalogues adds a hint to these.
    'Cannot use "${path}": a newer postern wrote it',
    'Cannot use "${path}": it is damaged: ${why}',
    'Cannot use "${path}": it is damaged: ${why}',
  ],
  usage: [
    "Cannot check a proxy: missing argument: FILE or --install-config FILE",
    "Cannot check a proxy: missing argument: FILE or --install-config FILE",
    "Cannot use --all without --renew",
    "Cannot combine several sources: give a cluster, an install-config, a platform or a list",
    "Cannot read drain ${JSON.stringify(text.slice(0, 40))} as milliseconds",
    "Cannot render objects: missing argument: FILE or --install-config FILE",
    "Cannot send a ${what} of more than 255 bytes over SOCKS5",
    "Cannot send a text with a zero byte or more than 255 bytes over SOCKS4",
    'Cannot use "${maskedUrl(to).slice(0, 200)}" for --route: it ${parsed.problem}',
    "Cannot use --lease-duration: the minimum is 3s",
    'Cannot write "${host}" into a PAC file: not a host',
  ],
};

for (const [code, known] of Object.entries(unhinted)) {
  Deno.test(`every error of the kind "${code}" has a hint`, () => {
    const without = [...source].filter(([path]) => !path.includes("/src/demo/"))
      .flatMap(([, text]) => errorsOf(text, code))
      .filter((error) => !error.includes("hint"))
      .map((error) => /["`](Cannot.*?)["`],?\s*(?:\{|$)/s.exec(error)?.[1] ?? error);
    assert.deepEqual(without.toSorted(), known.toSorted());
  });
}

Deno.test("fixedParts() omits variable parts", () => {
  assert.deepEqual(fixedParts('Cannot reach HOST:PORT: no answer within 20 s, "x"'), [
    "Cannot reach ",
    ": no answer within ",
  ]);
});

Deno.test("errorsOf() returns a whole error", () => {
  const text = 'throw new PosternError("auth", `a ${f(x)}`, { hint: "b" }); new PosternError("usage", "c")';
  assert.deepEqual(errorsOf(text, "auth").map((error) => error.includes("hint")), [true]);
});

/** Returns the code spans in the first column of a page's tables of sentences. */
function sentencesOf(page: string): string[] {
  return [...page.matchAll(/^\| ([^|\n]+?) +\|.*\n\| -.*\n((?:\|.*\n)+)/gm)]
    .filter(([, heading = ""]) => columns.includes(heading))
    .flatMap(([, , rows = ""]) => [...rows.matchAll(/^\| (`.*?`) +\|/gm)])
    .flatMap(([, cell = ""]) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text));
}

/**
 * Returns the parts of a sentence that the code contains literally: without names, numbers, quoted text and
 * "the proxy".
 */
function fixedParts(sentence: string): string[] {
  return sentence.split(/…|"[^"]*"|\b[A-Z]{2,}(?::[A-Z]+)*\b|[0-9]+|\b[ab]\b via|the proxy/).filter((part) =>
    part.length > 5
  );
}

/** Returns the errors with a code in a source text, each from its code to the end of its arguments. */
function errorsOf(text: string, code: string): string[] {
  return text.split(/new PosternError\(\s*/).slice(1).filter((error) => error.startsWith(`"${code}"`))
    .map((error) => error.slice(0, endOf(error)));
}

/** Returns the position of the parenthesis that closes one opened before the text. */
function endOf(text: string): number {
  let depth = 1;
  for (let at = 0; at < text.length; at++) {
    if ("([{".includes(text[at] ?? "")) depth++;
    if (")]}".includes(text[at] ?? "") && --depth === 0) return at;
  }
  return text.length;
}

async function sourcesBelow(directory: URL): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = new URL(isDirectory ? `${name}/` : name, directory);
    if (!isDirectory) texts.set(path.pathname, await Deno.readTextFile(path));
    else for (const [below, text] of await sourcesBelow(path)) texts.set(below, text);
  }
  return texts;
}
