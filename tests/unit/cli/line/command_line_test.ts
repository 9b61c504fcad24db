import assert from "node:assert/strict";
import { object } from "@optique/core/constructs";
import { multiple } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { pause } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { type CommandContext, defineCommand } from "../../../../src/cli/line/command.ts";
import { runCommandLine } from "../../../../src/cli/line/command_line.ts";
import { readCommandLine } from "../../../../src/permissions/mod.ts";
import { words } from "../../../../src/cli/line/options.ts";
import { settle } from "../../../support/fake_clock.ts";
import { RecordingWorld } from "../recording_world.ts";

const wait = defineCommand({
  name: "wait",
  summary: "Wait forever",
  description: "It waits.",
  examples: [["postern wait", "Wait"]],
  parser: object({ fail: option("--fail", { description: words("Fail at once.") }) }),
  async run({ fail }, world, { signal, log, globals }) {
    log.info("wait.started", { config: globals.config });
    if (fail) {
      throw new PosternError("unreachable", "Cannot reach \x1b[31mdb", {
        cause: new Error("no cable"),
        hint: "plug it in",
      });
    }
    await pause(world.clock, 1000, { signal });
    return 42;
  },
});

function start(world: RecordingWorld, args: readonly string[], lines: string[] = []): Promise<number> {
  const context: CommandContext = {
    version: "1.2.3",
    writeLogLine: (line) => lines.push(line),
  };
  return runCommandLine(readCommandLine(args), world, {
    ...context,
    groups: [{ title: "Waiting", commands: [wait] }],
  });
}

const usage = "Usage: postern [GLOBAL OPTIONS] COMMAND [ARGUMENTS]\n";
const globals = 'postern: error: Cannot run "postern": ';
const failures: readonly { args: string[]; code: number; err: string }[] = [
  {
    args: ["wiat"],
    code: 2,
    err:
      `${usage}postern: error: Cannot run "wiat": unknown command\npostern: hint: did you mean postern wait?\n`,
  },
  {
    args: ["zzzzzz"],
    code: 2,
    err:
      `${usage}postern: error: Cannot run "zzzzzz": unknown command\npostern: hint: list the commands: postern help\n`,
  },
  ...["--config", "--log-level", "--log-format"].map((name) => ({
    args: ["-v", name],
    code: 2,
    err: `${globals}${name} requires ${
      { "--config": "FILE", "--log-level": "LEVEL", "--log-format": "FORMAT" }[name]
    }\npostern: hint: see postern --help\n`,
  })),
  {
    args: ["--log-level", "loud"],
    code: 2,
    err:
      `${globals}--log-level must be debug, info, warn or error, not "loud"\npostern: hint: see postern --help\n`,
  },
  {
    args: ["--nonsense"],
    code: 2,
    err: `${usage}${globals}unexpected option or argument: "--nonsense"\npostern: hint: see postern --help\n`,
  },
  {
    args: ["wait", "--fial"],
    code: 2,
    err: "Usage: postern wait [--fail]\n" +
      'postern: error: Cannot run "postern wait": unexpected option or argument: "--fial"\n' +
      "postern: hint: did you mean --fail?\n",
  },
  {
    args: ["--log-level", "loud", "wait"],
    code: 2,
    err:
      'postern: error: Cannot run "postern wait": --log-level must be debug, info, warn or error, not "loud"\n' +
      "postern: hint: see postern wait --help\n",
  },
  {
    args: ["wait", "--fail"],
    code: 6,
    err: "postern: error: Cannot reach \\u{1b}[31mdb: no cable\npostern: hint: plug it in\n",
  },
];

for (const { args, code, err } of failures) {
  Deno.test(`runCommandLine() reports the mistake in "${args.join(" ")}"`, async () => {
    const world = new RecordingWorld();
    assert.equal(await start(world, args), code);
    assert.deepEqual([world.err, world.out], [err, ""]);
    assert.equal(world.listening, 0);
  });
}

Deno.test("runCommandLine() without a command prints the help page on stderr and fails", async () => {
  const world = new RecordingWorld();
  assert.equal(await start(world, []), 2);
  assert.equal(world.out, "");
  assert.match(world.err, /Waiting:\n {2}wait {2}Wait forever\n/);
  assert.match(world.err, /postern: error: Cannot run postern: missing argument: COMMAND\n/);
});

Deno.test("runCommandLine() prints --help and --version on stdout", async () => {
  for (
    const [args, pattern] of [
      [["--help"], /Waiting:\n/],
      [["-v", "--version"], /^postern 1\.2\.3\n$/],
      [["wait", "--help"], /^Wait forever\.\n\nIt waits\.\n\nUsage: postern wait \[--fail\]\n/],
      [["--help", "wait"], /^Wait forever\./],
      [["wait", "--nonsense", "-h"], /^Wait forever\./],
    ] as const
  ) {
    const world = new RecordingWorld();
    assert.equal(await start(world, args), 0);
    assert.match(world.out, pattern);
    assert.equal(world.err, "");
  }
});

Deno.test("runCommandLine() returns 130 and prints nothing after an interrupt", async () => {
  const world = new RecordingWorld();
  const code = start(world, ["wait"]);
  await settle();
  assert.equal(world.listening, 1);
  world.interrupt();
  assert.equal(await code, 130);
  assert.deepEqual([world.out, world.err], ["", ""]);
  assert.equal(world.listening, 0);
});

Deno.test("runCommandLine() returns the command's exit code", async () => {
  const world = new RecordingWorld();
  const code = start(world, ["wait"]);
  await world.clock.advance(1000);
  assert.equal(await code, 42);
});

Deno.test("runCommandLine() prints a stack trace at --log-level debug only", async () => {
  const quiet = new RecordingWorld();
  await start(quiet, ["wait", "--fail"]);
  assert.doesNotMatch(quiet.err, /command_line_test\.ts/);
  for (const args of [["--log-level", "debug", "wait", "--fail"], ["wait", "--log-level=debug", "--fail"]]) {
    const world = new RecordingWorld();
    await start(world, args);
    assert.match(world.err, /Error: no cable\n\s+at .*command_line_test\.ts/);
  }
});

Deno.test("runCommandLine() prints no stack trace when --log-level debug is for another program", async () => {
  const world = new RecordingWorld();
  const kubectl = defineCommand({
    name: "kubectl",
    summary: "Fail",
    description: "It fails.",
    examples: [],
    parser: object({ words: multiple(argument(string())) }),
    run: () => Promise.reject(new PosternError("unreachable", "Cannot reach db")),
  });
  const context = {
    version: "1.2.3",
    writeLogLine: () => {},
    groups: [{ title: "All", commands: [kubectl] }],
  };
  assert.equal(
    await runCommandLine(readCommandLine(["kubectl", "lab", "get", "--log-level", "debug"]), world, context),
    6,
  );
  assert.equal(world.err, "postern: error: Cannot reach db\n");
});

const levels: readonly (readonly [string[], boolean])[] = [
  [[], false],
  [["-v"], true],
  [["-vv"], true],
  [["--verbose"], true],
  [["--log-level", "info"], true],
  [["--log-level", "error", "-vvv"], false],
];

for (const [options, isSaid] of levels) {
  Deno.test(`a command ${isSaid ? "logs" : "does not log"} level info with "${options.join(" ")}"`, async () => {
    const world = new RecordingWorld();
    const lines: string[] = [];
    const code = start(world, ["--config", "c.yaml", "--log-format=json", "wait", ...options], lines);
    await world.clock.advance(1000);
    await code;
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      isSaid
        ? [{ time: "2026-01-01T00:00:00.000Z", level: "info", event: "wait.started", config: "c.yaml" }]
        : [],
    );
  });
}
