import assert from "node:assert/strict";
import type { Process, RunResult } from "../../../../src/world/mod.ts";
import { askpassProgram, sshPrompt } from "../../../../src/ssh/sign_in/ssh_prompt.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();
const question = { text: "Passphrase of key: ", echo: false };

function envOf(values: Readonly<Record<string, string>>): Process["env"] {
  return (name) => values[name];
}

const program = { SSH_ASKPASS: "/bin/ask" };
const display = { DISPLAY: ":0" };
const programs: readonly {
  name: string;
  env: Readonly<Record<string, string>>;
  hasTerminal: boolean;
  is: string | undefined;
}[] = [
  { name: "a terminal", env: { ...program, ...display }, hasTerminal: true, is: undefined },
  { name: "no terminal, and a display", env: { ...program, ...display }, hasTerminal: false, is: "/bin/ask" },
  {
    name: "no terminal, and a display of Wayland",
    env: { ...program, WAYLAND_DISPLAY: "wayland-0" },
    hasTerminal: false,
    is: "/bin/ask",
  },
  { name: "no terminal and no display", env: program, hasTerminal: false, is: undefined },
  { name: "an empty display", env: { ...program, DISPLAY: "" }, hasTerminal: false, is: undefined },
  { name: "no program", env: display, hasTerminal: false, is: undefined },
  { name: "an empty program", env: { ...display, SSH_ASKPASS: "" }, hasTerminal: false, is: undefined },
  ...[true, false].flatMap((hasTerminal) => [
    {
      name: `"force" without a display, terminal ${hasTerminal}`,
      env: { ...program, SSH_ASKPASS_REQUIRE: "force" },
      hasTerminal,
      is: "/bin/ask",
    },
    {
      name: `"prefer" with a display, terminal ${hasTerminal}`,
      env: { ...program, ...display, SSH_ASKPASS_REQUIRE: "Prefer" },
      hasTerminal,
      is: "/bin/ask",
    },
    {
      name: `"prefer" without a display, terminal ${hasTerminal}`,
      env: { ...program, SSH_ASKPASS_REQUIRE: "prefer" },
      hasTerminal,
      is: undefined,
    },
    {
      name: `"never", terminal ${hasTerminal}`,
      env: { ...program, ...display, SSH_ASKPASS_REQUIRE: "never" },
      hasTerminal,
      is: undefined,
    },
  ]),
];
for (const { name, env, hasTerminal, is } of programs) {
  Deno.test(`askpassProgram() with ${name}`, () => {
    assert.equal(askpassProgram(envOf(env), { hasTerminal }), is);
  });
}

Deno.test("askpassProgram() opens no window from an unattended instance unless SSH_ASKPASS_REQUIRE is force", () => {
  const unseen = { hasTerminal: false, isUnattended: true };
  assert.equal(askpassProgram(envOf({ ...program, ...display }), unseen), undefined);
  const told = envOf({ ...program, ...display, SSH_ASKPASS_REQUIRE: "prefer" });
  assert.equal(askpassProgram(told, unseen), program.SSH_ASKPASS);
});

/** A prompt with a program that answers as the test says. */
function withProgram(run: (command: readonly string[]) => Promise<RunResult>) {
  const log = recordingLog();
  const prompt = sshPrompt({
    terminal: { isInput: false, isErrorOutput: true, ask: () => Promise.reject(new Error("not here")) },
    process: { env: envOf({ ...program, ...display }), run },
    log,
  });
  assert.ok(prompt);
  return { log, prompt };
}

Deno.test("sshPrompt() prompts at the terminal, and is undefined without one", async () => {
  const parts = {
    process: { env: envOf({}), run: () => Promise.reject(new Error("not here")) },
    log: recordingLog(),
  };
  const ask = () => Promise.resolve("typed");
  assert.equal(
    await sshPrompt({ ...parts, terminal: { isInput: true, isErrorOutput: true, ask } })?.(question, {
      signal,
    }),
    "typed",
  );
  assert.equal(sshPrompt({ ...parts, terminal: { isInput: false, isErrorOutput: true, ask } }), undefined);
  assert.equal(sshPrompt({ ...parts, terminal: { isInput: true, isErrorOutput: false, ask } }), undefined);
});

Deno.test("sshPrompt() returns the program's first line, and undefined when it fails", async () => {
  const answers: readonly [Partial<RunResult>, string | undefined][] = [
    [{ stdout: "secret\n" }, "secret"],
    [{ stdout: "secret" }, "secret"],
    [{ stdout: "two words \r\nmore\n" }, "two words "],
    [{ stdout: "" }, ""],
    [{ code: 1, stdout: "secret\n" }, undefined],
  ];
  for (const [result, answer] of answers) {
    const commands: (readonly string[])[] = [];
    const { prompt, log } = withProgram((command) => {
      commands.push(command);
      return Promise.resolve({ code: 0, stdout: "", stderr: "", ...result });
    });
    assert.equal(await prompt(question, { signal }), answer);
    assert.deepEqual(commands, [["/bin/ask", "Passphrase of key: "]]);
    assert.deepEqual(log.lines, []);
  }
});

Deno.test("sshPrompt() logs that the program cannot run", async () => {
  const { prompt, log } = withProgram(() => Promise.reject(new Error("no such program")));
  assert.equal(await prompt(question, { signal }), undefined);
  assert.equal(log.lines[0]?.event, "ssh.askpass_failed");
  assert.match(String(log.lines[0]?.["reason"]), /no such program/);
});

Deno.test("sshPrompt() asks one question at a time", async () => {
  const answers: ((answer: RunResult) => void)[] = [];
  const { prompt } = withProgram(() => new Promise((resolve) => answers.push(resolve)));
  const first = prompt(question, { signal });
  const second = prompt(question, { signal });
  for (const text of ["one", "two"]) {
    while (answers.length === 0) await Promise.resolve();
    assert.equal(answers.length, 1);
    answers.pop()?.({ code: 0, stdout: text, stderr: "" });
  }
  assert.deepEqual(await Promise.all([first, second]), ["one", "two"]);
});

Deno.test("sshPrompt() skips a question that was answered before its turn", async () => {
  const asked: string[] = [];
  let isKnown = false;
  const prompt = sshPrompt({
    terminal: {
      isInput: true,
      isErrorOutput: true,
      ask: async ({ text }) => {
        asked.push(text);
        await Promise.resolve();
        isKnown = true;
        return "typed";
      },
    },
    process: { env: envOf({}), run: () => Promise.reject(new Error("not here")) },
    log: recordingLog(),
  });
  assert.ok(prompt);
  const isNeedless = () => isKnown;
  const answers = await Promise.all([1, 2].map(() => prompt({ ...question, isNeedless }, { signal })));
  assert.deepEqual(answers, ["typed", undefined]);
  assert.equal(asked.length, 1);
});
