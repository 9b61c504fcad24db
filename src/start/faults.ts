import { type CommandLine, isDependedOn, wantsTraces } from "../permissions/mod.ts";

/** What no code has caught: a fault of postern itself. */
export class Faults {
  readonly #wantsTraces: boolean;
  /** A mishap of one client must not end the connections of all others: such a process says so and goes on. */
  readonly #outlives: boolean;

  constructor(line: CommandLine) {
    this.#wantsTraces = wantsTraces(line);
    this.#outlives = isDependedOn(line.command);
  }

  /** From now on faults are told, and traces are made only where they are shown: to note them costs more than many a dial. */
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

  /** One sentence and one hint. */
  tell(reason: unknown): void {
    const text = reason instanceof Error ? reason.message : String(reason);
    console.error(`postern: error: Unexpected failure: ${text}`);
    console.error(
      "postern: hint: this is a fault of postern: run it with --log-level debug, report what it prints",
    );
    if (this.#wantsTraces && reason instanceof Error) console.error(reason.stack);
  }

  #end(reason: unknown): void {
    this.tell(reason);
    if (!this.#outlives) Deno.exit(1);
  }
}
