import { getDocPageSync } from "@optique/core/parser";
import settings from "../deno.json" with { type: "json" };
import { commandGroups } from "../src/cli/line/all_commands.ts";
import type { Command } from "../src/cli/line/command.ts";
import { overview } from "../src/cli/line/command_line.ts";
import { manPage, type ManualSection, pageName, terms } from "./man_page.ts";
import { exits } from "./reference_cli.ts";

const environment: readonly (readonly [string, string])[] = [
  ["POSTERN_CONFIG", "The configuration file, unless --config is given."],
  ["POSTERN_BROWSER, KHARON_BROWSER, BROWSER", "The command that opens a web address, which replaces %s."],
  ["LIEUTENANT_URL, COMMODORE_API_URL", "The Lieutenant API of a catalogue, without a configuration."],
  ["SSH_AUTH_SOCK", "The socket of the ssh agent."],
  [
    "KUBECONFIG",
    "The kubeconfigs that instances and --merge use, as in kubectl. An instance ignores it if POSTERN_CLUSTER is set.",
  ],
  ["NO_COLOR", "If not empty, output has no colors."],
  ["SSL_CERT_FILE", "A file with additional certificate authorities."],
  [
    "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR",
    "The parents of postern's directories.",
  ],
];

const files: readonly (readonly [string, string])[] = [
  ["~/.config/postern/config.yaml", "The configuration; create it with postern config init."],
  ["~/.cache/postern", "Catalogues of clusters, and tokens; readable only by you."],
  ["~/.local/state/postern", "Locks, and logs of background instances."],
  ["$XDG_RUNTIME_DIR/postern, else run in the state directory", "Control sockets of running instances."],
];

/** Wide enough for the longest entry to stay on one line. */
const unbroken = 100_000;

/** Writes one manual page for each command to `dist/man/man1`. */
if (import.meta.main) {
  const directory = new URL("../dist/man/man1/", import.meta.url);
  await Deno.mkdir(directory, { recursive: true });
  const pages = manualPages(Deno.args[0] ?? await lastChange());
  for (const [name, page] of pages) await Deno.writeTextFile(new URL(`${name}.1`, directory), page);
  console.log(`wrote ${pages.size} pages to dist/man/man1: man --local-file dist/man/man1/postern.1`);
}

/** All pages by name; the same source and date give the same pages. */
export function manualPages(date: string): ReadonlyMap<string, string> {
  const commands = commandGroups.flatMap((group) => group.commands);
  const names = commands.map(({ name }) => pageName(name));
  const { version } = settings;
  const compatibility = commands.flatMap(({ name, summary, replacement }) =>
    replacement === undefined ? [] : [[name, `${summary}. Same as: ${replacement}.`] as const]
  );
  const program: ManualSection[] = [
    ["COMPATIBILITY", terms(compatibility)],
    ["EXIT STATUS", terms(exits.map(([code = "", means = ""]) => [code, means.replaceAll("`", "")]))],
    ["ENVIRONMENT", terms(environment)],
    ["FILES", terms(files)],
  ];
  const summary = "one local door into every private cluster";
  const whole = manPage({ name: "", summary, help: overview(commandGroups, unbroken) }, {
    version,
    date,
    related: names,
  }, program);
  return new Map([
    [pageName(""), whole],
    ...commands.map((command) => {
      const page = {
        name: command.name,
        summary: command.summary,
        help: command.help(unbroken),
        forms: formsOf(command).map((form) => [form, command.help(unbroken, [form])] as const),
      };
      return [pageName(command.name), manPage(page, { version, date, related: ["postern"] })] as const;
    }),
  ]);
}

/** The names of a command's subcommands. */
function formsOf({ parser }: Command): string[] {
  const entries = getDocPageSync(parser)?.sections.flatMap((section) => section.entries) ?? [];
  return entries.flatMap(({ term }) => term.type === "command" ? [term.name] : []);
}

/** The day of the last commit, so that two builds give the same pages; empty without a Git repository. */
export async function lastChange(): Promise<string> {
  const { success, stdout } = await new Deno.Command("git", {
    args: ["log", "-1", "--format=%cs"],
    cwd: new URL("../", import.meta.url),
    stdin: "null",
    stderr: "null",
  }).output();
  return success ? new TextDecoder().decode(stdout).trim() : "";
}
