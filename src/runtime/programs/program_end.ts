import type { Clock } from "../../core/mod.ts";

/** How long a program may take to end when it is asked to, before it is made to. */
const killAfter = 2000;

/** Asks a program to end when the signal says so, and makes it end when it does not listen. */
export class ProgramEnd implements Disposable {
  #timer: Disposable | undefined;
  readonly #signal: AbortSignal;
  readonly #ask: () => void;

  constructor(child: Deno.ChildProcess, signal: AbortSignal, clock: Clock) {
    this.#signal = signal;
    this.#ask = () => {
      kill(child, "SIGTERM");
      this.#timer = clock.after(killAfter, () => kill(child, "SIGKILL"));
    };
    signal.addEventListener("abort", this.#ask, { once: true });
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#signal.removeEventListener("abort", this.#ask);
  }
}

function kill(child: Deno.ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    child.kill(signal);
  } catch (error) {
    // It has ended by itself in between, which is what was wanted.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}
