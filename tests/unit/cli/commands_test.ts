import assert from "node:assert/strict";
import { getDocPageSync } from "@optique/core/parser";
import { commandGrants } from "../../../src/permissions/command_grants.ts";
import { compatPage, overview, runCommandLine } from "../../../src/cli/line/command_line.ts";
import { readCommandLine } from "../../../src/permissions/mod.ts";
import { commandGroups } from "../../../src/cli/line/all_commands.ts";
import { RecordingWorld } from "./recording_world.ts";

const commands = commandGroups.flatMap(({ commands }) => commands);
const context = {
  groups: commandGroups,
  version: "1.2.3",
  writeLogLine: () => {},
};

Deno.test("commandGroups has exactly the commands that have permissions", () => {
  assert.deepEqual(commands.map(({ name }) => name).sort(), Object.keys(commandGrants).sort());
});

for (const { name, summary, parser, help } of commands) {
  Deno.test(`the help of ${name} describes every option and shows examples`, () => {
    const page = help(80);
    assert.match(page, new RegExp(`^Usage: postern ${name}\\b`, "m"));
    assert.match(page, new RegExp(`^Examples:\\n(.*\\n)*.*postern ${name}\\b`, "m"));
    assert.ok(page.startsWith(`${summary}.\n`), "the page begins with the summary");
    for (const line of page.split("\n")) {
      assert.equal(line, line.trimEnd());
      // Examples are lines to type: help does not wrap them.
      assert.ok(line.length <= 80 || line.startsWith("  postern") || line.startsWith("      "), line);
    }
    const entries = getDocPageSync(parser)?.sections.flatMap((section) => section.entries) ?? [];
    for (const { term, description } of entries) {
      assert.ok(description && description.length > 0, `no description: ${JSON.stringify(term)}`);
    }
  });
}

const mainPage = overview(commandGroups, 80);

Deno.test("the main help page fits on one screen", () => {
  const lines = mainPage.trimEnd().split("\n");
  assert.ok(lines.length <= 40, `${lines.length} lines`);
  for (const line of lines) assert.ok(line.length <= 80, line);
  assert.match(mainPage, /postern help compat/);
  assert.match(mainPage, /postern COMMAND --help/);
});

Deno.test("help compat lists exactly the commands that are not on the main page", () => {
  const page = compatPage(commandGroups, 80);
  for (const line of page.split("\n")) assert.ok(line.length <= 80, line);
  const listed = [...page.matchAll(/^ {2}(\S+)$/gm)].map(([, name]) => name);
  const isOnMainPage = (name: string) =>
    new RegExp(`^ {2}${name} |^ {2}[A-Z].* ${name}(?:,|$)|^ {10,}(?:.* )?${name}(?:,|$)`, "m").test(mainPage);
  assert.deepEqual(listed, commands.map(({ name }) => name).filter((name) => !isOnMainPage(name)));
  assert.deepEqual(listed, [
    ...["oc-web-login", "kubelogin", "install"],
    ...["proxy-out", "connect", "disconnect", "quit"],
  ]);
  for (const { summary, replacement } of commands) {
    if (replacement === undefined) continue;
    assert.ok(page.includes(`      ${summary}\n      Same as: ${replacement}\n`), summary);
  }
});

Deno.test("postern help compat prints the page, and every listed command keeps its own help", async () => {
  const world = new RecordingWorld();
  assert.equal(await runCommandLine(readCommandLine(["help", "compat"]), world, context), 0);
  assert.equal(world.out, compatPage(commandGroups, 80));
  const quit = new RecordingWorld();
  assert.equal(await runCommandLine(readCommandLine(["help", "quit"]), quit, context), 0);
  assert.match(quit.out, /^Stop all running instances\.\n/);
});

Deno.test("help of a subcommand describes only that subcommand", () => {
  const page = commands.find(({ name }) => name === "config")?.help(80, ["show"]);
  assert.match(page ?? "", /^Usage: postern config show \[-o\/--output FORMAT\]\n\nPrints the configuration/);
  assert.doesNotMatch(page ?? "", /config init/);
});

const shells = ["bash", "zsh", "fish", "powershell", "pwsh", "nu"];

for (const shell of shells) {
  Deno.test(`completion prints a script for ${shell} that calls postern`, async () => {
    const world = new RecordingWorld();
    assert.equal(await runCommandLine(readCommandLine(["completion", shell]), world, context), 0);
    assert.match(world.out, /postern/);
    assert.match(world.out, new RegExp(`completion.{1,5}${shell}`));
    assert.equal(world.err, "");
  });
}

const completions: readonly (readonly [string[], string[]])[] = [
  [["prox"], ["proxy", "proxy-out"]],
  [["con"], ["connections", "console", "config", "connect"]],
  [["config", ""], ["check", "show", "schema", "init"]],
  [["env", "--shell", ""], ["sh", "fish", "powershell", "json"]],
  [["proxy", "--listen-"], ["--listen-socks", "--listen-http", "--listen-unix", "--listen-dns"]],
  [["proxy", "--listen", "127.0.0.1:0", "--list"], [
    "--listen",
    "--listen-socks",
    "--listen-http",
    "--listen-unix",
    "--listen-dns",
  ]],
  [["clusters", "c-lab", "e"], ["emergency-credentials"]],
  [["clusters", "--selector", "a=b", "c-lab", "k"], ["kubeconfig", "kubectl"]],
  [["clusters", "e"], []],
  [["clusters", "list", "c-lab", "e"], []],
  [["clusters", "list", "kubeconfig", "--f"], []],
  [["clusters", "c-lab", "emergency-credentials", "--p"], ["--private-key", "--passphrase-file"]],
  [["status", "-o", "j"], ["json"]],
  [["status", "--help"], []],
  [["--log-level", "d"], ["debug"]],
  [["-v", "--log-level", "debug", "prox"], ["proxy", "proxy-out"]],
  [["nonsense", ""], []],
];

for (const [typed, expected] of completions) {
  Deno.test(`completion after "${typed.join(" ")}"`, async () => {
    const world = new RecordingWorld();
    assert.equal(await runCommandLine(readCommandLine(["completion", "bash", ...typed]), world, context), 0);
    assert.deepEqual(world.out.split("\n").filter((line) => line !== ""), expected);
  });
}

const wrong: readonly (readonly [string[], RegExp])[] = [
  [["completion"], /missing argument: SHELL/],
  [["completion", "cmd"], /"cmd"/],
  [["completion", "cmd", "x"], /Cannot complete for "cmd"/],
  [["help", "nothing"], /Cannot run "nothing"/],
  [["explain"], /missing argument: HOST/],
  [["explain", "a b"], /Cannot read "a b" as HOST:PORT/],
  [["connections", "close", "x"], /: NUMBER must .*"x"/],
  [
    ["connections", "close", "99999999999999999999"],
    /NUMBER must be a whole number of at least 1, not/,
  ],
  [["test", "--parallel", "99999999999999999999"], /--parallel must be a whole number from 1 to 256, not/],
  [["connections", "close"], /expected a NUMBER/],
  [["connections", "3"], /"3"/],
  [["config", "chek"], /did you mean check/],
  [["proxy", "--idle-exit", "soon"], /"soon" is not a duration/],
  [["proxy", "--background", "--log-file", "x"], /Cannot use --log-file with --background/],
  [["stop", "a", "--all"], /use only one of ID, --id and --all/],
  [["stop", "a", "--id", "b"], /use only one of ID, --id and --all/],
  [["logs", "a", "--id", "b"], /ID and --id both name an instance/],
  [["status", "--id", "a", "--id", "b"], /--id cannot be used multiple times/],
  [["version", "-o", "xml"], /-o\/--output must be table, json or yaml/],
];

for (const [args, message] of wrong) {
  Deno.test(`"postern ${args.join(" ")}" is wrong usage`, async () => {
    const world = new RecordingWorld();
    assert.equal(await runCommandLine(readCommandLine(args), world, context), 2);
    assert.match(world.err, message);
    assert.equal(world.out, "");
  });
}

Deno.test("version -o json prints the platform", async () => {
  const world = new RecordingWorld();
  await runCommandLine(readCommandLine(["version", "-o", "json"]), world, context);
  assert.deepEqual(JSON.parse(world.out), {
    version: "1.2.3",
    platform: "linux",
    arch: "x86_64",
    isCompiled: false,
  });
  const yaml = new RecordingWorld();
  await runCommandLine(readCommandLine(["version", "-o", "yaml"]), yaml, context);
  assert.equal(yaml.out, "version: 1.2.3\nplatform: linux\narch: x86_64\nisCompiled: false\n");
});

for (
  const args of [["env", "--with-credentials"], ["emergency-credentials", "c-lab"], [
    "clusters",
    "c-lab",
    "emergency-credentials",
  ]]
) {
  Deno.test(`"${args.join(" ")}" refuses to print credentials to a terminal`, async () => {
    const world = new RecordingWorld({ isTerminal: true });
    assert.equal(await runCommandLine(readCommandLine(args), world, context), 2);
    assert.match(
      world.err,
      /Cannot print credentials to a terminal: missing option: --show\n.*hint: .*--show/,
    );
  });
}

Deno.test("help does not take the value of an option for a subcommand", () => {
  const page = commands.find(({ name }) => name === "status")?.help(80, ["work"]);
  assert.match(page ?? "", /^Show /);
});
