import assert from "node:assert/strict";
import { interrupt, listenForSignal } from "../../../../src/runtime/programs/signals.ts";
import { type TerminalInput, TerminalQuestions } from "../../../../src/runtime/terminal/terminal_question.ts";

const signal = new AbortController().signal;

/** A terminal whose keys the test presses. */
class FakeTerminal implements TerminalInput {
  isRaw = false;
  shown = "";
  readonly #keys: (string | null)[] = [];
  #waiting: ((keys: string | null) => void) | undefined;
  readonly #isTerminal: boolean;

  constructor({ isTerminal = true } = {}) {
    this.#isTerminal = isTerminal;
  }

  isTerminal(): boolean {
    return this.#isTerminal;
  }

  setRaw(isRaw: boolean): void {
    this.isRaw = isRaw;
  }

  press(keys: string | null): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) waiting(keys);
    else this.#keys.push(keys);
  }

  async read(into: Uint8Array): Promise<number | null> {
    const [pressed] = this.#keys.splice(0, 1);
    const keys = pressed === undefined
      ? await new Promise<string | null>((resolve) => this.#waiting = resolve)
      : pressed;
    if (keys === null) return null;
    return new TextEncoder().encodeInto(keys, into).written;
  }
}

function asking(
  terminal: FakeTerminal,
): { ask: TerminalQuestions["ask"]; secret: (text?: string) => Promise<string | undefined> } {
  const questions = new TerminalQuestions({
    input: terminal,
    show: (text) => Promise.resolve(void (terminal.shown += text)),
  });
  return {
    ask: (question, options) => questions.ask(question, options),
    secret: (text = "Secret: ") => questions.ask({ text, echo: false }, { signal }),
  };
}

Deno.test("TerminalQuestions.ask() echoes everything but secrets", async () => {
  const terminal = new FakeTerminal();
  const { ask, secret } = asking(terminal);
  terminal.press("hid");
  terminal.press("den\r");
  assert.equal(await secret(), "hidden");
  assert.equal(terminal.shown, "Secret: \n");
  assert.equal(terminal.isRaw, false);
  terminal.press("me\x7fy\r");
  assert.equal(await ask({ text: "Name: ", echo: true }, { signal }), "my");
  assert.equal(terminal.shown, "Secret: \nName: me\b \by\n");
});

Deno.test("TerminalQuestions.ask() has no answer without a terminal, or at its end", async () => {
  assert.equal(await asking(new FakeTerminal({ isTerminal: false })).secret(), undefined);
  for (const keys of [null, "\x04"]) {
    const terminal = new FakeTerminal();
    terminal.press(keys);
    assert.equal(await asking(terminal).secret(), undefined);
    assert.equal(terminal.isRaw, false);
  }
});

Deno.test("TerminalQuestions.ask() asks one question at a time, and skips aborted ones", async () => {
  const terminal = new FakeTerminal();
  const { ask, secret } = asking(terminal);
  const stop = new AbortController();
  const first = secret("one? ");
  const second = assert.rejects(ask({ text: "two? ", echo: false }, { signal: stop.signal }), /enough/);
  const third = secret("three? ");
  stop.abort(new Error("enough"));
  await second;
  assert.equal(terminal.shown, "one? ");
  terminal.press("1\r");
  assert.equal(await first, "1");
  terminal.press("3\r");
  assert.equal(await third, "3");
  assert.equal(terminal.shown, "one? \nthree? \n");
});

Deno.test("TerminalQuestions.ask() restores the terminal when aborted, and can ask again", async () => {
  const terminal = new FakeTerminal();
  const { ask, secret } = asking(terminal);
  const stop = new AbortController();
  const given = ask({ text: "one? ", echo: false }, { signal: stop.signal });
  await Promise.resolve();
  stop.abort(new Error("enough"));
  await assert.rejects(given, /enough/);
  assert.equal(terminal.isRaw, false);
  // The aborted question's read is still running; input until the next question is dropped.
  terminal.press("stray\n");
  await new Promise((resolve) => setTimeout(resolve));
  const next = secret();
  terminal.press("right\r");
  assert.equal(await next, "right");
});

Deno.test("TerminalQuestions.ask() is canceled by the interrupt key, which also calls all SIGINT listeners", async () => {
  const terminal = new FakeTerminal();
  let heard = 0;
  using _ear = listenForSignal("SIGINT", () => heard++);
  terminal.press("sec\x03ret\r");
  await assert.rejects(asking(terminal).secret(), { code: "cancelled" });
  assert.equal(terminal.isRaw, false);
  assert.equal(heard, 1);
});

Deno.test("TerminalQuestions.ask() restores the terminal at a signal", async () => {
  const terminal = new FakeTerminal();
  const asked = assert.rejects(asking(terminal).secret(), { code: "cancelled" });
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(terminal.isRaw, true);
  interrupt();
  await asked;
  assert.equal(terminal.isRaw, false);
});
