import { PosternError } from "../../words/mod.ts";
import type { Question } from "../../world/mod.ts";
import { Turns, unlessAborted } from "../../core/mod.ts";
import { interrupt, listenForSignal } from "../programs/signals.ts";
import { type Typed, TypedLine } from "./typed_line.ts";

/** The part of `Deno.stdin` that questions need. */
export interface TerminalInput {
  /** Whether somebody sits there who sees what is asked. */
  isTerminal(): boolean;
  setRaw(isRaw: boolean): void;
  read(into: Uint8Array): Promise<number | null>;
}

export interface TerminalQuestionsOptions {
  readonly input: TerminalInput;
  /** Shows a text where the person sees it. */
  readonly show: (text: string) => Promise<void>;
}

/** Questions to whoever sits at the terminal, one at a time. */
export class TerminalQuestions {
  readonly #input: TerminalInput;
  readonly #show: (text: string) => Promise<void>;
  readonly #turns = new Turns();
  readonly #buffer = new Uint8Array(1024);
  /** Nothing ends a read of a terminal: one that was given up serves the next question. */
  #reading: Promise<number | null> | undefined;

  constructor({ input, show }: TerminalQuestionsOptions) {
    this.#input = input;
    this.#show = show;
  }

  /** The line that is typed; undefined where there is no terminal, or its end comes instead of a line. */
  async ask(question: Question, { signal }: { signal: AbortSignal }): Promise<string | undefined> {
    if (!this.#input.isTerminal()) return undefined;
    return await this.#turns.take(() => this.#askNow(question, signal), { signal });
  }

  async #askNow({ text, echo }: Question, signal: AbortSignal): Promise<string | undefined> {
    using stopping = new Stopping();
    const stopped = AbortSignal.any([signal, stopping.signal]);
    this.#input.setRaw(true);
    try {
      await this.#show(text);
      return await this.#typed({ echo, signal: stopped });
    } finally {
      this.#restore();
      await this.#show("\n");
    }
  }

  async #typed(
    { echo, signal }: { readonly echo: boolean; readonly signal: AbortSignal },
  ): Promise<string | undefined> {
    const line = new TypedLine();
    while (true) {
      const count = await unlessAborted(this.#read(), signal);
      if (count === null) return undefined;
      const { shown, end }: Typed = line.take(this.#buffer.subarray(0, count));
      this.#buffer.fill(0);
      if (echo && shown !== "") await this.#show(shown);
      if (end?.kind === "line") return end.text;
      if (end?.kind === "end") return undefined;
      if (end?.kind === "interrupted") {
        // The key means what it always means: whoever listens for SIGINT hears it, and we are among them.
        interrupt();
        signal.throwIfAborted();
      }
    }
  }

  #read(): Promise<number | null> {
    return this.#reading ??= this.#input.read(this.#buffer)
      // A terminal that has gone away says no more.
      .catch(() => null)
      .finally(() => this.#reading = undefined);
  }

  #restore(): void {
    try {
      this.#input.setRaw(false);
    } catch {
      // The terminal has gone away, and its mode with it.
    }
  }
}

/** Hears what would end the program and leave the terminal as it is. */
class Stopping implements Disposable {
  readonly #controller = new AbortController();
  readonly #ears = (["SIGINT", "SIGTERM", "SIGQUIT"] as const).map((name) =>
    listenForSignal(
      name,
      () => this.#controller.abort(new PosternError("cancelled", "The question was interrupted")),
    )
  );

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const ear of this.#ears) ear[Symbol.dispose]();
  }
}
