import type { World } from "../../world/mod.ts";

/** How far something has come, on the last line of a terminal; nothing at all where stderr is none. */
export class Progress implements AsyncDisposable {
  readonly #terminal: World["terminal"];
  #isShown = false;

  constructor({ terminal }: Pick<World, "terminal">) {
    this.#terminal = terminal;
  }

  /** Shows a text in the place of the one before. */
  async show(text: string): Promise<void> {
    if (!this.#terminal.isErrorOutput) return;
    // A line that wraps could not be taken back.
    await this.#terminal.err(`\r${text.slice(0, Math.max(10, this.#terminal.columns - 1))}\x1b[K`);
    this.#isShown = true;
  }

  /** Takes it away, so that something else can be written there. */
  async clear(): Promise<void> {
    if (!this.#isShown) return;
    await this.#terminal.err("\r\x1b[K");
    this.#isShown = false;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.clear();
  }
}
