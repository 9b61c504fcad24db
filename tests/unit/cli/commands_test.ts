import assert from "node:assert/strict";
import { getDocPageSync } from "@optique/core/parser";
import { commandGrants } from "../../../src/permissions/command_grants.ts";
import { runCommandLine } from "../../../src/cli/line/command_line.ts";
import { readCommandLine } from "../../../src/permissions/mod.ts";
import { commandGroups } from "../../../src/cli/line/all_commands.ts";
import { RecordingWorld } from "./recording_world.ts";

const commands = commandGroups.flatMap(({ commands }) => commands);
const context = {
  groups: commandGroups,
  version: "1.2.3",
  writeLogLine: () => {},
};

Deno.test("commandGroups has every command that has permissions, and no other", () => {
  assert.deepEqual(commands.map(({ name }) => name).sort(), Object.keys(commandGrants).sort());
});

for (const { name, summary, parser, help } of commands) {
  Deno.test(`the help of ${name} tells of every option and shows examples`, () => {
    const page = help(80);
    assert.match(page, new RegExp(`^Usage: postern ${name}\\b`, "m"));
    assert.match(page, new RegExp(`^Examples:\\n(.*\\n)*.*postern ${name}\\b`, "m"));
    assert.ok(page.startsWith(summary.charAt(0).toUpperCase() + summary.slice(1)), "begins with its summary");
    assert.ok(summary.length <= 70 && !summary.endsWith("."), "the summary fits into the list");
    for (const line of page.split("\n")) {
      assert.equal(line, line.trimEnd());
      // The examples are lines to type, which nobody breaks.
      assert.ok(line.length <= 80 || line.startsWith("  postern") || line.startsWith("      "), line);
    }
    const entries = getDocPageSync(parser)?.sections.flatMap((section) => section.entries) ?? [];
    for (const { term, description } of entries) {
      assert.ok(description && description.length > 0, `no description: ${JSON.stringify(term)}`);
    }
  });
}

Deno.test("help of a part of a command tells of that part", () => {
  const page = commands.find(({ name }) => name === "config")?.help(80, ["show"]);
  assert.match(page ?? "", /^Usage: postern config show \[-o\/--output FORMAT\]\n\nPrints the configuration/);
  assert.doesNotMatch(page ?? "", /config init/);
});

const shells = ["bash", "zsh", "fish", "powershell", "pwsh", "nu"];

for (const shell of shells) {
  Deno.test(`completion prints a script for ${shell} that asks postern`, async () => {
    const world = new RecordingWorld();
    assert.equal(await runCommandLine(readCommandLine(["completion", shell]), world, context), 0);
    assert.match(world.out, /postern/);
    assert.match(world.out, new RegExp(`completion.{1,5}${shell}`));
    assert.equal(world.err, "");
  });
}

const completions: readonly (readonly [string[], string[]])[] = [
  [["prox"], ["proxy", "proxy-out"]],
  [["con"], ["connections", "console", "connect", "config"]],
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
  [["completion"], /missing required argument/],
  [["completion", "cmd"], /"cmd"/],
  [["completion", "cmd", "x"], /Cannot complete for "cmd"/],
  [["help", "nothing"], /Cannot run "nothing"/],
  [["explain"], /missing required argument/],
  [["explain", "a b"], /Cannot read "a b" as HOST:PORT/],
  [["connections", "close", "x"], /: NUMBER: .*"x"/],
  [
    ["connections", "close", "99999999999999999999"],
    /NUMBER: Expected a number from 1 to 9007199254740991, /,
  ],
  [["test", "--parallel", "99999999999999999999"], /--parallel: Expected a number from 1 to 256, but got/],
  [["connections", "close"], /expected a NUMBER/],
  [["connections", "3"], /"3"/],
  [["config", "chek"], /did you mean check/],
  [["proxy", "--idle-exit", "soon"], /"soon" is no duration/],
  [["proxy", "--background", "--log-file", "x"], /Cannot use --log-file with --background/],
  [["stop", "a", "--all"], /Cannot tell which instance to stop/],
  [["stop", "a", "--id", "b"], /Cannot tell which instance to stop/],
  [["logs", "a", "--id", "b"], /Cannot tell whose log to print/],
  [["status", "--id", "a", "--id", "b"], /--id cannot be used multiple times/],
  [["version", "-o", "xml"], /-o\/--output: Expected one of|Expected one of/],
];

for (const [args, message] of wrong) {
  Deno.test(`"postern ${args.join(" ")}" is wrong usage`, async () => {
    const world = new RecordingWorld();
    assert.equal(await runCommandLine(readCommandLine(args), world, context), 2);
    assert.match(world.err, message);
    assert.equal(world.out, "");
  });
}

Deno.test("version tells programs more", async () => {
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
  Deno.test(`"${args.join(" ")}" refuses to show credentials on a terminal`, async () => {
    const world = new RecordingWorld({ isTerminal: true });
    assert.equal(await runCommandLine(readCommandLine(args), world, context), 2);
    assert.match(world.err, /Cannot show credentials on a terminal\n.*hint: .*--show/);
  });
}

Deno.test("help takes the value of an option for no part of a command", () => {
  const page = commands.find(({ name }) => name === "status")?.help(80, ["work"]);
  assert.match(page ?? "", /^Shows /);
});
