/** One number of one contender in one round. */
export interface Sample {
  readonly contender: string;
  readonly value: number;
}

/** A bound for postern: a ratio to the best or a named peer, or an absolute number. */
export type Demand =
  | { readonly atLeast: number; readonly ofBest: "highest" }
  | { readonly atMost: number; readonly ofBest: "lowest" }
  | { readonly atLeast: number; readonly of: string }
  | { readonly atMost: number; readonly of: string }
  | { readonly atMost: number }
  /** Reported without a bound. */
  | "informative";

/** The results of one contender. */
export interface ContenderResult {
  readonly contender: string;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly rounds: number;
}

/** A line of the report: median and spread of each contender, and whether postern meets the demand. */
export interface Verdict {
  readonly text: string;
  readonly holds: boolean;
  readonly name: string;
  readonly demand: Demand;
  /** The value compared with the demand: the ratio to the peer, or the number itself. */
  readonly found?: number;
  readonly contenders: readonly ContenderResult[];
}

/**
 * Whether the result proves a defect even on a noisy machine: no number, or less than a tenth of the demanded
 * throughput. In a short run, latencies, memory and idle time depend too much on the machine.
 */
export function hasCollapsed({ demand, found }: Verdict): boolean {
  if (demand === "informative" || found === undefined) return false;
  return Number.isNaN(found) || ("atLeast" in demand && found < demand.atLeast / collapse);
}

/** Compares the samples of one measurement with its demand. */
export function judge(name: string, samples: readonly Sample[], demand: Demand): Verdict {
  const values = new Map<string, number[]>();
  for (const { contender, value } of samples) values.set(contender, [...values.get(contender) ?? [], value]);
  const results = [...values].map(([contender, list]): ContenderResult => ({
    contender,
    median: median(list),
    low: Math.min(...list),
    high: Math.max(...list),
    rounds: list.length,
  }));
  const medians = new Map(results.map(({ contender, median }) => [contender, median]));
  const contenders = results.map(({ contender, median, low, high }) =>
    `${contender} ${short(median)} (${short(low)}–${short(high)})`
  );
  const told = { name, demand, contenders: results };
  if (demand === "informative") {
    return { ...told, text: `       ${name}: ${contenders.join(", ")}`, holds: true };
  }
  const own = medians.get("postern") ?? NaN;
  const against = reference(medians, demand);
  const ratio = own / against;
  const holds = "atLeast" in demand ? ratio >= demand.atLeast : ratio <= demand.atMost;
  const wanted = boundText(demand);
  const found = isRatio(demand) ? `${short(ratio)} × (${wanted} ×)` : `${short(own)} (${wanted})`;
  const text = `${holds ? "ok    " : "MISSED"} ${name}: ${found}; ${contenders.join(", ")}`;
  return { ...told, text, holds, found: ratio };
}

/** For example `at least 0.9`. */
export function boundText(demand: Exclude<Demand, string>): string {
  return "atLeast" in demand ? `at least ${demand.atLeast}` : `at most ${demand.atMost}`;
}

/** Whether the demand compares postern with other programs. */
export function isRatio(demand: Exclude<Demand, string>): boolean {
  return "ofBest" in demand || "of" in demand;
}

function reference(medians: ReadonlyMap<string, number>, demand: Exclude<Demand, string>): number {
  const peers = [...medians].flatMap(([contender, value]) => contender === "postern" ? [] : [value]);
  if ("of" in demand) return medians.get(demand.of) ?? NaN;
  if (!("ofBest" in demand)) return 1;
  return demand.ofBest === "highest" ? Math.max(...peers) : Math.min(...peers);
}

/** The middle value, or the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return ((low ?? NaN) + (high ?? NaN)) / 2;
}

/** Formats a number with three significant digits. */
export function short(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** A result this many times worse than its demand is a collapse, not noise. */
const collapse = 10;
