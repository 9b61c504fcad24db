import { getDocPageSync } from "@optique/core/parser";
import settings from "../deno.json" with { type: "json" };
import { commandGroups } from "../src/cli/line/all_commands.ts";
import type { Command } from "../src/cli/line/command.ts";
import { overview } from "../src/cli/line/command_line.ts";
import { manPage, type ManualSection, pageName, terms } from "./man_page.ts";
import { exits } from "./reference_cli.ts";

const environment: readonly (readonly [string, string])[] = [
  ["POSTERN_CONFIG", "The configuration file, where --config names none."],
  ["POSTERN_BROWSER, KHARON_BROWSER, BROWSER", "What opens a web address; %s in it is the address."],
  ["LIEUTENANT_URL, COMMODORE_API_URL", "A catalogue without configuration."],
  ["SSH_AUTH_SOCK", "The ssh agent."],
  [
    "KUBECONFIG",
    "The kubeconfigs that instances and --merge use, as for kubectl. An instance ignores it where POSTERN_CLUSTER is set.",
  ],
  ["NO_COLOR", "No colours."],
  ["SSL_CERT_FILE", "Certificate authorities besides those of the system."],
  ["XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR", "Where files are kept."],
];

const files: readonly (readonly [string, string])[] = [
  ["~/.config/postern/config.yaml", "The configuration: postern config init writes a first one."],
  ["~/.cache/postern", "Catalogues of clusters, and tokens; readable by their owner only."],
  ["~/.local/state/postern", "Locks and logs of doors in the background."],
  ["$XDG_RUNTIME_DIR/postern, else run in the state directory", "Control sockets of running instances."],
];

/** Wide enough for the longest entry to stand on one line. */
const unbroken = 100_000;

/** Writes the manual into `dist/man/man1`, a page for each command. */
if (import.meta.main) {
  const directory = new URL("../dist/man/man1/", import.meta.url);
  await Deno.mkdir(directory, { recursive: true });
  const pages = manualPages(Deno.args[0] ?? await lastChange());
  for (const [name, page] of pages) await Deno.writeTextFile(new URL(`${name}.1`, directory), page);
  console.log(`wrote ${pages.size} pages to dist/man/man1: man --local-file dist/man/man1/postern.1`);
}

/** All pages by their names, which the same source and date make the same. */
export function manualPages(date: string): ReadonlyMap<string, string> {
  const commands = commandGroups.flatMap((group) => group.commands);
  const names = commands.map(({ name }) => pageName(name));
  const { version } = settings;
  const program: ManualSection[] = [
    ["EXIT STATUS", terms(exits.map(([code = "", means = ""]) => [code, means.replaceAll("`", "")]))],
    ["ENVIRONMENT", terms(environment)],
    ["FILES", terms(files)],
  ];
  const summary = "one local door into every private network";
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

/** The words that choose a part of a command. */
function formsOf({ parser }: Command): string[] {
  const entries = getDocPageSync(parser)?.sections.flatMap((section) => section.entries) ?? [];
  return entries.flatMap(({ term }) => term.type === "command" ? [term.name] : []);
}

/** The day of the last commit, else of the version's change log: what is built twice is the same. */
export async function lastChange(): Promise<string> {
  const { success, stdout } = await new Deno.Command("git", {
    args: ["log", "-1", "--format=%cs"],
    cwd: new URL("../", import.meta.url),
    stdin: "null",
    stderr: "null",
  }).output();
  return success ? new TextDecoder().decode(stdout).trim() : "";
}
