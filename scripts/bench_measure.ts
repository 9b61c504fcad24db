import type { BenchDoor } from "./bench_doors.ts";
import type { BenchProgram } from "./bench_program.ts";
import { type Demand, judge, type Sample, type Verdict } from "./bench_table.ts";

/** What every part of a benchmark is given. */
export interface BenchPlace {
  /** Enough to see that every measurement works; its numbers decide nothing. */
  readonly isSmoke: boolean;
  /** A private directory, removed after the run. */
  readonly directory: string;
  /** Where the load generator is. */
  readonly generator: string;
  readonly program: BenchProgram;
}

/** One run of the load generator against one door. */
export interface Measurement {
  readonly mode: "rate" | "bulk" | "idle" | "wait";
  readonly options: readonly string[];
  /** The numbers wanted from the generator's answer, each with what must hold. */
  readonly wants: readonly Want[];
}

/** Starts a door for one round. */
export type StartDoor = () => Promise<BenchDoor>;

export interface Rounds {
  readonly generator: string;
  readonly rounds: number;
}

/** A number in the generator's answer. */
export interface Want {
  readonly name: string;
  readonly demand: Demand;
  readonly value: (answer: Readonly<Record<string, number>>) => number;
}

/** A number as the generator names it. */
export function field(key: string): Want["value"] {
  return (answer) => answer[key] ?? NaN;
}

/** Measures the doors in turns, postern first, and prints what came of it. */
export async function measure(
  measurement: Measurement,
  doors: readonly BenchDoor[],
  { generator, rounds }: Rounds,
): Promise<Verdict[]> {
  const tally = new Tally(measurement.wants);
  const failed = new Set<BenchDoor>();
  for (let round = 0; round < rounds; round++) {
    for (const door of doors) {
      if (failed.has(door)) continue;
      const answer = await generate(generator, door, measurement);
      if (typeof answer === "string") {
        if (door === doors[0]) throw new Error(answer);
        console.log(`skipped: ${answer}`);
        failed.add(door);
        continue;
      }
      tally.add(door.name, answer);
    }
  }
  return tally.verdicts();
}

/** As `measure`, each door started anew for its turn: what a round leaves behind is not held against the next. */
export async function measureAnew(
  measurement: Measurement,
  starts: readonly StartDoor[],
  { generator, rounds }: Rounds,
): Promise<Verdict[]> {
  const tally = new Tally(measurement.wants);
  for (let round = 0; round < rounds; round++) {
    for (const start of starts) {
      await using door = await start();
      tally.add(door.name, numbersOf(await generate(generator, door, measurement)));
    }
  }
  return tally.verdicts();
}

/** For doors that have nothing to do: all rounds at once, since they do not take anything from each other. */
export async function measureAtOnce(
  measurement: Measurement,
  start: StartDoor,
  { generator, rounds }: Rounds,
): Promise<Verdict[]> {
  await using doors = new AsyncDisposableStack();
  const started = await Promise.all(Array.from({ length: rounds }, async () => doors.use(await start())));
  const tally = new Tally(measurement.wants);
  await Promise.all(started.map(async (door) => {
    tally.add(door.name, numbersOf(await generate(generator, door, measurement)));
  }));
  return tally.verdicts();
}

/** What was wanted of the answers so far. */
class Tally {
  readonly #wants: readonly Want[];
  readonly #samples: readonly Sample[][];

  constructor(wants: readonly Want[]) {
    this.#wants = wants;
    this.#samples = wants.map(() => []);
  }

  add(door: string, answer: Readonly<Record<string, number>>): void {
    for (const [at, { value }] of this.#wants.entries()) {
      this.#samples[at]?.push({ door, value: value(answer) });
    }
  }

  verdicts(): Verdict[] {
    return this.#wants.map(({ name, demand }, at) => told(judge(name, this.#samples[at] ?? [], demand)));
  }
}

function numbersOf(answer: Readonly<Record<string, number>> | string): Readonly<Record<string, number>> {
  if (typeof answer === "string") throw new Error(answer);
  return answer;
}

/** Prints a verdict. */
export function told(verdict: Verdict): Verdict {
  console.log(verdict.text);
  return verdict;
}

/** The numbers, or why there are none: not every peer bears every load. */
export async function generate(
  generator: string,
  door: BenchDoor,
  measurement: Pick<Measurement, "mode" | "options">,
): Promise<Record<string, number> | string> {
  const { mode } = measurement;
  const args = generatorArguments(door, measurement);
  const { success, stdout, stderr } = await new Deno.Command(generator, { args, stdin: "null" }).output();
  if (success) return JSON.parse(new TextDecoder().decode(stdout));
  return `Cannot measure ${door.name} (${mode}): ${new TextDecoder().decode(stderr).trim()}`;
}

/** What the load generator is told. */
export function generatorArguments(
  { address, pid, way = ["-door", address] }: Pick<BenchDoor, "address" | "pid" | "way">,
  { mode, options }: Pick<Measurement, "mode" | "options">,
): string[] {
  return [mode, ...way, "-pid", `${pid}`, ...options];
}
