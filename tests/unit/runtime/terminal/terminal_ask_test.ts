import assert from "node:assert/strict";
import { peerTest } from "../../../support/peers.ts";
import { type AtTerminal, atTerminal, type TerminalSession } from "../../../support/pseudo_terminal.ts";

const source = new URL("../../../../src/runtime/terminal/", import.meta.url);

/** Asks at a separate terminal and returns the result. */
function ask(
  python: string,
  steps: readonly AtTerminal[],
  { echo = false, times = 1 } = {},
): Promise<TerminalSession> {
  const program = `
    const { createTerminal } = await import("${source}terminal.ts");
    const { ask } = createTerminal();
    for (let at = 0; at < ${times}; at++) {
      try {
        const answer = await ask({ text: "Q" + at + ": ", echo: ${echo} }, { signal: new AbortController().signal });
        console.log("got " + JSON.stringify(answer));
      } catch (error) {
        console.log("failed " + error.code);
        Deno.exit(7);
      }
    }
    Deno.exit(0);`;
  return atTerminal(python, [Deno.execPath(), "eval", program], {
    steps,
    env: { HOME: Deno.env.get("HOME") ?? "", NO_COLOR: "1" },
  });
}

const raw = { echo: false, lines: false };
const usual = { echo: true, lines: true };

peerTest("Terminal.ask() reads a secret without echo", ["python"], async ({ python }) => {
  const { screen, code, during, after } = await ask(python, [
    { until: "Q0: ", press: "wrong\x15pässw\x7f" },
    { until: "", press: "w0rd\r" },
    { until: "Q1: ", press: "" },
    { until: "", press: "\x04" },
  ], { times: 2 });
  assert.equal(screen, 'Q0: \r\ngot "pässw0rd"\r\nQ1: \r\ngot undefined\r\n');
  assert.equal(code, 0);
  assert.deepEqual(during[0], raw);
  assert.deepEqual(after, usual);
});

peerTest("Terminal.ask() echoes other input", ["python"], async ({ python }) => {
  const { screen, after } = await ask(python, [{ until: "Q0: ", press: "nane\x7f\x7fme\r" }], { echo: true });
  assert.equal(screen, 'Q0: nane\b \b\b \bme\r\ngot "name"\r\n');
  assert.deepEqual(after, usual);
});

for (
  const { name, how } of [
    { name: "the interrupt key", how: { press: "sec\x03" } },
    { name: "SIGINT", how: { signal: "INT" } },
    { name: "SIGTERM", how: { signal: "TERM" } },
    { name: "SIGQUIT", how: { signal: "QUIT" } },
  ] as const
) {
  peerTest(`Terminal.ask() restores the terminal at ${name}`, ["python"], async ({ python }) => {
    const { screen, code, during, after } = await ask(python, [{ until: "Q0: ", ...how }]);
    assert.match(screen, /failed cancelled/);
    assert.equal(code, 7);
    assert.deepEqual(during, [raw]);
    assert.deepEqual(after, usual);
  });
}

peerTest(
  "Terminal.ask() does not prompt when stderr is a file",
  ["python", "sh"],
  async ({ python, sh }) => {
    const directory = await Deno.makeTempDir();
    try {
      const program = `
      const { createTerminal } = await import("${source}terminal.ts");
      const answer = await createTerminal().ask({ text: "Q: ", echo: false }, { signal: AbortSignal.timeout(9000) });
      console.log("got " + answer);
      Deno.exit(0);`;
      const command = [sh, "-c", `exec "$@" 2>${directory}/log`, "sh", Deno.execPath(), "eval", program];
      const env = { HOME: Deno.env.get("HOME") ?? "", NO_COLOR: "1" };
      const { screen, after } = await atTerminal(python, command, { steps: [], env });
      assert.equal(screen, "got undefined\r\n");
      assert.deepEqual(after, usual);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);
