import type { Clock } from "../../core/mod.ts";

/** How long to wait for a program after SIGTERM before killing it, in ms. */
const killAfter = 2000;

/** Terminates a program when the signal aborts, and kills it if it does not end in time. */
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
    // The program ended by itself in between, which is fine.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}
