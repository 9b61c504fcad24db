import assert from "node:assert/strict";
import { parseSync } from "@optique/core/parser";
import type { Usage } from "@optique/core/usage";
import type { Command } from "../../src/cli/line/command.ts";
import { commandGroups } from "../../src/cli/line/all_commands.ts";
import { formOf } from "../../src/cli/line/command_line.ts";
import type { Globals } from "../../src/cli/line/global_options.ts";
import { parentOf, placesNamed } from "../../src/permissions/named_places.ts";
import { clusterVerbs, readCommandLine, valueOf, withEmptyValues } from "../../src/permissions/mod.ts";

/** The parts of a command line that determine permissions, configuration and log. */
export interface Gist {
  readonly command: string;
  readonly config: string | undefined;
  readonly logLevel: string | undefined;
  readonly logFormat: string;
  readonly id: string | undefined;
}

const byName = new Map(
  commandGroups.flatMap(({ commands }) => commands).map((command) => [command.name, command]),
);

/** Every parser, including the forms of `clusters` and `shell`. */
export const allForms: readonly Command[] = [
  ...byName.values(),
  ...[...clusterVerbs.map((verb) => ["clusters", "lab", verb]), ["shell", "--each"], ["clusters", "--each"]]
    .map((args) => chosen(args)?.command).filter((command) => command !== undefined),
];

/** Returns every option of a parser and its parts, and whether it takes a value. */
export function optionsOf({ parser }: Command): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>();
  const walk = (usage: Usage): void => {
    for (const term of usage) {
      if (term.type === "option") {
        for (const name of term.names) found.set(name, term.metavar !== undefined);
      } else if (term.type === "exclusive") term.terms.forEach(walk);
      else if ("terms" in term) walk(term.terms);
    }
  };
  walk(parser.usage);
  return found;
}

/** Reads a command line as before loading the parser. */
export function gistRead(args: readonly string[]): Gist {
  const line = readCommandLine(args);
  return {
    command: line.command,
    config: valueOf(line, "--config"),
    logLevel: valueOf(line, "--log-level"),
    logFormat: valueOf(line, "--log-format") ?? "text",
    id: valueOf(line, "--id"),
  };
}

/** Reads a command line with the parser; undefined if the parser refuses it. */
export function gistParsed(args: readonly string[]): Gist | undefined {
  const form = chosen(args);
  if (!form) return undefined;
  const { command, args: words } = form;
  const result = parseSync(command.parser, withEmptyValues(words, command.name));
  if (!result.success) return undefined;
  const { own, globals: { config, logLevel, logFormat } } = result.value as {
    own: unknown;
    globals: Globals;
  };
  return { command: nameOf(command), config, logLevel, logFormat, id: idIn(own) };
}

/**
 * Checks that both readers agree on a line that the parser accepts; returns whether it does. A refused line
 * has the permissions of its command or of help, and only those that its words need.
 */
export function agree(args: readonly string[]): boolean {
  const read = gistRead(args);
  const parsed = gistParsed(args);
  if (parsed) {
    assert.deepEqual(read, parsed, JSON.stringify(args));
    return true;
  }
  const form = chosen(args);
  const line = readCommandLine(args);
  const expected = form ? [nameOf(form.command)] : line.name === undefined ? ["help", "version"] : ["help"];
  assert.ok(expected.includes(read.command), JSON.stringify(args));
  const values = args.map((word) => word.replace(/^-[^=]*=/, ""));
  const named = [...values, ...values.map(parentOf)];
  assert.deepEqual(placesNamed(line).filter((place) => !named.includes(place)), [], JSON.stringify(args));
  return false;
}

/** Returns the command whose permissions a form has. */
function nameOf(form: Command): string {
  return optionsOf(form).has("--each") ? "shell" : form.name.split(" ").at(-1) ?? "";
}

function chosen(args: readonly string[]): { command: Command; args: readonly string[] } | undefined {
  const line = readCommandLine(args);
  const command = byName.get(line.name ?? "");
  // Our parsers do not see the first words of these.
  const isRaw = ["completion", "kubelogin"].includes(line.name ?? "");
  return command && formOf(command, isRaw ? { ...line, rest: [] } : line);
}

/** Options of a part of a command are nested. */
function idIn(values: unknown): string | undefined {
  if (typeof values !== "object" || values === null) return undefined;
  for (const [name, value] of Object.entries(values)) {
    const found = name === "id" && typeof value === "string" ? value : idIn(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
