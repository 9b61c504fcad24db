import type { Contender } from "./bench_contenders.ts";
import type { BenchProgram } from "./bench_program.ts";
import { type Demand, judge, type Sample, type Verdict } from "./bench_table.ts";

/** The parameters of every part of a benchmark. */
export interface BenchPlace {
  /** Only checks that every measurement works; its numbers are meaningless. */
  readonly isSmoke: boolean;
  /** A private directory, removed after the run. */
  readonly directory: string;
  /** The path of the load generator. */
  readonly generator: string;
  readonly program: BenchProgram;
}

/** One run of the load generator through one contender. */
export interface Measurement {
  readonly mode: "rate" | "bulk" | "idle" | "wait";
  readonly options: readonly string[];
  /** The numbers to read from the generator's output, each with its demand. */
  readonly wants: readonly Want[];
}

/** Starts a contender for one round. */
export type StartContender = () => Promise<Contender>;

export interface Rounds {
  readonly generator: string;
  readonly rounds: number;
}

/** A number in the generator's output. */
export interface Want {
  readonly name: string;
  readonly demand: Demand;
  readonly value: (answer: Readonly<Record<string, number>>) => number;
}

/** Reads a number by the generator's key. */
export function field(key: string): Want["value"] {
  return (answer) => answer[key] ?? NaN;
}

/** Measures the contenders in turns, postern first, and prints the verdicts. */
export async function measure(
  measurement: Measurement,
  contenders: readonly Contender[],
  { generator, rounds }: Rounds,
): Promise<Verdict[]> {
  const tally = new Tally(measurement.wants);
  const failed = new Set<Contender>();
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      if (failed.has(contender)) continue;
      const answer = await generate(generator, contender, measurement);
      if (typeof answer === "string") {
        if (contender === contenders[0]) throw new Error(answer);
        console.log(`skipped: ${answer}`);
        failed.add(contender);
        continue;
      }
      tally.add(contender.name, answer);
    }
  }
  return tally.verdicts();
}

/** Like `measure`, but restarts each contender for its turn, so that no round affects the next. */
export async function measureAnew(
  measurement: Measurement,
  starts: readonly StartContender[],
  { generator, rounds }: Rounds,
): Promise<Verdict[]> {
  const tally = new Tally(measurement.wants);
  for (let round = 0; round < rounds; round++) {
    for (const start of starts) {
      await using contender = await start();
      tally.add(contender.name, numbersOf(await generate(generator, contender, measurement)));
    }
  }
  return tally.verdicts();
}

/** Runs all rounds at once, for idle contenders that do not affect each other. */
export async function measureAtOnce(
  measurement: Measurement,
  start: StartContender,
  { generator, rounds }: Rounds,
): Promise<Verdict[]> {
  await using contenders = new AsyncDisposableStack();
  const started = await Promise.all(
    Array.from({ length: rounds }, async () => contenders.use(await start())),
  );
  const tally = new Tally(measurement.wants);
  await Promise.all(started.map(async (contender) => {
    tally.add(contender.name, numbersOf(await generate(generator, contender, measurement)));
  }));
  return tally.verdicts();
}

/** Collects the wanted numbers. */
class Tally {
  readonly #wants: readonly Want[];
  readonly #samples: readonly Sample[][];

  constructor(wants: readonly Want[]) {
    this.#wants = wants;
    this.#samples = wants.map(() => []);
  }

  add(contender: string, answer: Readonly<Record<string, number>>): void {
    for (const [at, { value }] of this.#wants.entries()) {
      this.#samples[at]?.push({ contender, value: value(answer) });
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

/** Returns the numbers, or the reason of a failure: some peers fail under heavy load. */
export async function generate(
  generator: string,
  contender: Contender,
  measurement: Pick<Measurement, "mode" | "options">,
): Promise<Record<string, number> | string> {
  const { mode } = measurement;
  const args = generatorArguments(contender, measurement);
  const { success, stdout, stderr } = await new Deno.Command(generator, { args, stdin: "null" }).output();
  if (success) return JSON.parse(new TextDecoder().decode(stdout));
  return `Cannot measure ${contender.name} (${mode}): ${new TextDecoder().decode(stderr).trim()}`;
}

/** The command line of the load generator. */
export function generatorArguments(
  { address, pid, way = ["-proxy", address] }: Pick<Contender, "address" | "pid" | "way">,
  { mode, options }: Pick<Measurement, "mode" | "options">,
): string[] {
  return [mode, ...way, "-pid", `${pid}`, ...options];
}
