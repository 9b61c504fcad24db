import type { RoughLine } from "../support/rough_line.ts";
import type { FaultKind, FaultyPart } from "./fault_schedule.ts";

/** A fault that can be made to happen. */
export interface LiveFault extends FaultKind {
  /** Makes it happen, and resolves when what was broken is whole again: `lasts` ms later, and what a start takes. */
  readonly run: (lasts: number) => Promise<void>;
}

/** A part of a world that runs. */
export interface LivePart extends FaultyPart {
  /** The ways that go through it. */
  readonly ways: readonly string[];
  readonly kinds: readonly LiveFault[];
}

/** What a section of a world brings: parts that can fail, and the lines of the transports that lead through them. */
export interface WorldSection {
  readonly parts: readonly LivePart[];
  readonly transports: readonly string[];
}

/** Something that a signal reaches. */
interface Signalled {
  kill(signal: "SIGSTOP" | "SIGCONT"): void | Promise<void>;
}

/** What a network does to the connections over a line. */
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

/** A program that stands still for a while; which one is asked when it begins, since others may take its place. */
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

/** A program that is killed, and started again a while later. */
export function restarting(restart: (pause: number) => Promise<void>): LiveFault {
  return { kind: "restart", lasts: [0, 3000], run: restart };
}

/** A program that can be killed and started again, the one that runs now. */
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

/** Time that passes: what lasts a while, lasts. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
