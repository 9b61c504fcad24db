import { PosternError } from "../../words/mod.ts";
import type { Question } from "../../world/mod.ts";
import { Turns, unlessAborted } from "../../core/mod.ts";
import { interrupt, listenForSignal } from "../programs/signals.ts";
import { type Typed, TypedLine } from "./typed_line.ts";

/** The part of `Deno.stdin` for questions. */
export interface TerminalInput {
  /** Whether a user at a terminal can see and answer questions. */
  isTerminal(): boolean;
  setRaw(isRaw: boolean): void;
  read(into: Uint8Array): Promise<number | null>;
}

export interface TerminalQuestionsOptions {
  readonly input: TerminalInput;
  /** Shows a text to the user. */
  readonly show: (text: string) => Promise<void>;
}

/** Asks the user at the terminal, one question at a time. */
export class TerminalQuestions {
  readonly #input: TerminalInput;
  readonly #show: (text: string) => Promise<void>;
  readonly #turns = new Turns();
  readonly #buffer = new Uint8Array(1024);
  /** A read of a terminal cannot be canceled, so an abandoned read serves the next question. */
  #reading: Promise<number | null> | undefined;

  constructor({ input, show }: TerminalQuestionsOptions) {
    this.#input = input;
    this.#show = show;
  }

  /** Returns the typed line; undefined without a terminal, or when the input ends first. */
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
        // The interrupt key has its usual effect: it calls all listeners of SIGINT, including ours.
        interrupt();
        signal.throwIfAborted();
      }
    }
  }

  #read(): Promise<number | null> {
    return this.#reading ??= this.#input.read(this.#buffer)
      // A closed terminal delivers no more input.
      .catch(() => null)
      .finally(() => this.#reading = undefined);
  }

  #restore(): void {
    try {
      this.#input.setRaw(false);
    } catch {
      // The terminal is closed; its mode no longer matters.
    }
  }
}

/** Catches signals that would end the program and leave the terminal in raw mode. */
class Stopping implements Disposable {
  readonly #controller = new AbortController();
  readonly #ears = (["SIGINT", "SIGTERM", "SIGQUIT"] as const).map((name) =>
    listenForSignal(
      name,
      () => this.#controller.abort(new PosternError("cancelled", "The user interrupted the prompt")),
    )
  );

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const ear of this.#ears) ear[Symbol.dispose]();
  }
}
