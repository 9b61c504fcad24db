import { PosternError } from "../../words/mod.ts";
import type { Terminal } from "../../world/mod.ts";
import { collectText } from "../collect_text.ts";
import { fileError } from "../files/file_error.ts";
import { systemClock } from "../system_clock.ts";
import { StdioConn } from "./stdio_conn.ts";
import { TerminalScreen } from "./terminal_screen.ts";
import { TerminalQuestions } from "./terminal_question.ts";
import { writeAll } from "../network/write_all.ts";

/** Provides access to the three standard streams. */
export function createTerminal(): Terminal {
  return {
    get isInput() {
      return Deno.stdin.isTerminal();
    },
    get isOutput() {
      return Deno.stdout.isTerminal();
    },
    get isErrorOutput() {
      return Deno.stderr.isTerminal();
    },
    get isRead() {
      return !standardOutput.hasGone;
    },
    get columns() {
      return columns();
    },
    out: (text) => standardOutput.write(text),
    // A failure of stderr cannot be reported anywhere.
    err: (text) => standardError.write(text).catch(() => {}),
    readInput,
    conn: ({ inputEnded } = {}) =>
      new StdioConn({ input: Deno.stdin, output: Deno.stdout, endOutput, lingers, inputEnded }, systemClock),
    ask: (question, options) => questions.ask(question, options),
    takeScreen(events) {
      if (!Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) return undefined;
      return new TerminalScreen((text) => standardOutput.write(text), events);
    },
  };
}

/** Writes to stderr in one order with `Terminal.err`, but rejects on failure: the sink of the log. */
export function writeStderr(text: string): Promise<void> {
  return standardError.write(text);
}

/** A stream with ordered, complete writes. After its reader has closed it, output is discarded. */
export class OrderedOutput {
  readonly #into: { write(bytes: Uint8Array): Promise<number> };
  readonly #name: string;
  readonly #encoder = new TextEncoder();
  #last: Promise<unknown> = Promise.resolve();
  #hasGone = false;

  constructor(into: { write(bytes: Uint8Array): Promise<number> }, name: string) {
    this.#into = into;
    this.#name = name;
  }

  /** Whether a write has failed because the reader closed the stream. */
  get hasGone(): boolean {
    return this.#hasGone;
  }

  write(text: string): Promise<void> {
    const written = this.#last.then(() => this.#writeNow(text));
    // A failure belongs to its own caller; the next text is tried again.
    this.#last = written.catch(() => {});
    return written;
  }

  async #writeNow(text: string): Promise<void> {
    if (this.#hasGone) return;
    try {
      await writeAll(this.#into, this.#encoder.encode(text));
    } catch (error) {
      if (!(error instanceof Deno.errors.BrokenPipe)) throw fileError(error, `write to ${this.#name}`);
      this.#hasGone = true;
    }
  }
}

const standardOutput = new OrderedOutput(Deno.stdout, "the standard output");
const standardError = new OrderedOutput(Deno.stderr, "the standard error output");
const questions = new TerminalQuestions({
  input: {
    // The user needs to see the question.
    isTerminal: () => Deno.stdin.isTerminal() && Deno.stderr.isTerminal(),
    setRaw: (isRaw) => Deno.stdin.setRaw(isRaw),
    read: (into) => Deno.stdin.read(into),
  },
  show: (text) => standardError.write(text),
});

/** Deno has no call that closes the descriptor: `Deno.stdout.close()` closes a copy. */
function endOutput(): Promise<void> {
  return Promise.resolve();
}

/** How long a program that reads our output may have to wait for its end, in ms. */
const longestSilence = 2000;

async function lingers(): Promise<number | undefined> {
  if (Deno.stdin.isTerminal()) return 0;
  if (Deno.stdout.isTerminal()) return undefined;
  const { fstatSync } = await import("node:fs");
  const kind = fstatSync(1);
  return kind.isFIFO() || kind.isSocket() ? longestSilence : undefined;
}

function columns(): number {
  try {
    return Deno.consoleSize().columns;
  } catch {
    // Not a terminal: use the conventional width.
    return 80;
  }
}

function readInput(limit: number): Promise<string> {
  return collectText(Deno.stdin.readable, {
    limit,
    tooMuch: () =>
      new PosternError("usage", `Cannot read the standard input: more than ${limit} bytes`, {
        hint: "use a file, or shorten the input",
      }),
  });
}
