import type { RoughLine } from "../support/rough_line.ts";
import type { FaultKind, FaultyPart } from "./fault_schedule.ts";

/** A fault that the test can cause. */
export interface LiveFault extends FaultKind {
  /** Causes the fault and resolves after `lasts` ms and the repair. */
  readonly run: (lasts: number) => Promise<void>;
}

/** A part of a running world. */
export interface LivePart extends FaultyPart {
  /** The routes through this part. */
  readonly ways: readonly string[];
  readonly kinds: readonly LiveFault[];
}

/** A section of a world: parts that can fail, and the configuration of the transports through them. */
export interface WorldSection {
  readonly parts: readonly LivePart[];
  readonly transports: readonly string[];
}

/** A process that accepts signals. */
interface Signalled {
  kill(signal: "SIGSTOP" | "SIGCONT"): void | Promise<void>;
}

/** Returns the faults of a network line. */
export function lineFaults(line: RoughLine): LiveFault[] {
  return [
    { kind: "cut", lasts: [0, 0], run: () => Promise.resolve(line.cut()) },
    {
      kind: "hold",
      lasts: [300, 9000],
      run: async (lasts) => {
        line.state = "held";
        await pause(lasts);
        line.state = "open";
      },
    },
    {
      kind: "slow",
      lasts: [1000, 8000],
      run: async (lasts) => {
        line.delay = 30;
        await pause(lasts);
        line.delay = 0;
      },
    },
    {
      kind: "away",
      lasts: [300, 4000],
      run: async (lasts) => {
        line.state = "closed";
        await pause(lasts);
        line.state = "open";
      },
    },
  ];
}

/**
 * Freezes a program for some time; calls `program` at the start, because a restart may replace the program.
 */
export function freezing(program: () => Signalled): LiveFault {
  return {
    kind: "freeze",
    lasts: [300, 9000],
    run: async (lasts) => {
      const frozen = program();
      await frozen.kill("SIGSTOP");
      await pause(lasts);
      await frozen.kill("SIGCONT");
    },
  };
}

/** Kills a program and restarts it later. */
export function restarting(restart: (pause: number) => Promise<void>): LiveFault {
  return { kind: "restart", lasts: [0, 3000], run: restart };
}

/** Holds the running instance of a program that can be killed and restarted. */
export class Replaceable<T extends AsyncDisposable> implements AsyncDisposable {
  current: T;
  readonly #start: () => Promise<T>;

  private constructor(first: T, start: () => Promise<T>) {
    this.current = first;
    this.#start = start;
  }

  static async start<T extends AsyncDisposable>(start: () => Promise<T>): Promise<Replaceable<T>> {
    return new Replaceable(await start(), start);
  }

  async restart(lasts: number): Promise<void> {
    await this.current[Symbol.asyncDispose]();
    await pause(lasts);
    this.current = await this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.current[Symbol.asyncDispose]();
  }
}

/** Waits for real time, because faults have a real duration. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
