import type { BenchDoor } from "./bench_doors.ts";
import { type Demand, judge, type Sample, type Verdict } from "./bench_table.ts";

/** What every part of a benchmark is given. */
export interface BenchPlace {
  /** Enough to see that every measurement works; its numbers decide nothing. */
  readonly isSmoke: boolean;
  /** A private directory, removed after the run. */
  readonly directory: string;
  /** Where the load generator is. */
  readonly generator: string;
}

/** One run of the load generator against one door. */
export interface Measurement {
  readonly mode: "rate" | "bulk" | "idle" | "wait";
  readonly options: readonly string[];
  /** The numbers wanted from the generator's answer, each with what must hold. */
  readonly wants: readonly Want[];
  /** Only postern is measured: the demand is absolute. */
  readonly isOwn?: true;
  readonly rounds?: number;
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
  { generator, rounds }: { readonly generator: string; readonly rounds: number },
): Promise<Verdict[]> {
  const { wants } = measurement;
  const samples = wants.map((): Sample[] => []);
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
      wants.forEach((want, at) => samples[at]?.push({ door: door.name, value: want.value(answer) }));
    }
  }
  return wants.map(({ name, demand }, at) => told(judge(name, samples[at] ?? [], demand)));
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
