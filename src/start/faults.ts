import { type CommandLine, isDependedOn, wantsTraces } from "../permissions/mod.ts";

/** Handles uncaught errors, which are bugs of postern. */
export class Faults {
  readonly #wantsTraces: boolean;
  /** A process with connections of other clients reports a bug and continues. */
  readonly #outlives: boolean;

  constructor(line: CommandLine) {
    this.#wantsTraces = wantsTraces(line);
    this.#outlives = isDependedOn(line.command);
  }

  /** Reports all uncaught errors from now on. Disables stack traces unless postern prints them: they are expensive. */
  catchAll(): void {
    if (!this.#wantsTraces) Error.stackTraceLimit = 0;
    globalThis.addEventListener("unhandledrejection", (event) => {
      event.preventDefault();
      this.#end(event.reason);
    });
    globalThis.addEventListener("error", (event) => {
      event.preventDefault();
      this.#end(event.error);
    });
  }

  /** Prints one sentence and one hint. */
  tell(reason: unknown): void {
    const text = reason instanceof Error ? reason.message : String(reason);
    console.error(`postern: error: Unexpected failure: ${text}`);
    console.error(
      "postern: hint: this is a bug in postern: run it again with --log-level debug and report the output",
    );
    if (this.#wantsTraces && reason instanceof Error) console.error(reason.stack);
  }

  #end(reason: unknown): void {
    this.tell(reason);
    if (!this.#outlives) Deno.exit(1);
  }
}
