import type { World } from "../../world/mod.ts";

/** A progress line at the bottom of a terminal; prints nothing when stderr is not a terminal. */
export class Progress implements AsyncDisposable {
  readonly #terminal: World["terminal"];
  #isShown = false;

  constructor({ terminal }: Pick<World, "terminal">) {
    this.#terminal = terminal;
  }

  /** Replaces the progress line. */
  async show(text: string): Promise<void> {
    if (!this.#terminal.isErrorOutput) return;
    // A wrapped line could not be cleared.
    await this.#terminal.err(`\r${text.slice(0, Math.max(10, this.#terminal.columns - 1))}\x1b[K`);
    this.#isShown = true;
  }

  /** Clears the line so that other output can follow. */
  async clear(): Promise<void> {
    if (!this.#isShown) return;
    await this.#terminal.err("\r\x1b[K");
    this.#isShown = false;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.clear();
  }
}
