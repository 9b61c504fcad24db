import { randomNumbers } from "../support/pattern_bytes.ts";

/** A kind of fault of a part, and its duration. */
export interface FaultKind {
  /** `freeze`, `cut`: the part implements it. */
  readonly kind: string;
  /** The shortest and the longest duration in ms; zero for an instant fault. */
  readonly lasts: readonly [number, number];
}

/** A part of the world that can fail. */
export interface FaultyPart {
  readonly name: string;
  readonly kinds: readonly FaultKind[];
}

/** One fault at one time. */
export interface PlannedFault {
  /** Milliseconds after the start. */
  readonly at: number;
  readonly part: string;
  readonly kind: string;
  /** The duration in ms. */
  readonly lasts: number;
}

/** One connection of a client. */
export interface PlannedStream {
  readonly id: number;
  /** Milliseconds after the start. */
  readonly at: number;
  readonly way: string;
  readonly protocol: "socks5" | "socks4" | "http";
  /** Bytes that the client sends and receives; each direction has its own pattern. */
  readonly up: number;
  readonly down: number;
  /** Bytes per write of either side, and the pause in ms after each. */
  readonly piece: number;
  readonly pause: number;
  /** Whether the client half-closes before the target starts to send. */
  readonly isHalfClosed: boolean;
  /** Whether the client sends before the answer to its request. */
  readonly isEarly: boolean;
}

export interface Schedule {
  readonly seed: number;
  readonly faults: readonly PlannedFault[];
  readonly streams: readonly PlannedStream[];
}

/** A route of the world, and the abilities of its carrier. */
export interface PlannedWay {
  readonly name: string;
  readonly carriesHalfClose: boolean;
}

export interface ScheduleOptions {
  readonly seed: number;
  /** The length in ms. */
  readonly lasts: number;
  readonly parts: readonly FaultyPart[];
  readonly ways: readonly PlannedWay[];
}

/** The maximum time between two faults, and between two clients, in ms. */
const faultsApart = 2500;
const streamsApart = 250;
/** The maximum sum of the pauses of one direction, in ms. */
const longest = 15_000;
/** The time before the first fault in ms, so that streams are running by then. */
const calm = 1500;

/** Plans all events in order; depends only on the seed, the length and the names. */
export function planSchedule({ seed, lasts, parts, ways }: ScheduleOptions): Schedule {
  return {
    seed,
    faults: planFaults(new Choice(seed), { lasts, parts }),
    // A separate generator, so that additional faults do not change the clients.
    streams: planStreams(new Choice(seed ^ 0x5bd1e995), { lasts, ways }),
  };
}

/**
 * Keeps only the faults of some parts (`api`) or kinds (`api/freeze`); the timing of the rest stays the same.
 */
export function narrowed(schedule: Schedule, only: readonly string[]): Schedule {
  if (only.length === 0) return schedule;
  const faults = schedule.faults.filter(({ part, kind }) =>
    only.includes(part) || only.includes(`${part}/${kind}`)
  );
  return { ...schedule, faults };
}

/** Formats one line for each fault, for the search for the cause. */
export function scheduleText({ seed, faults, streams }: Schedule): string {
  const lines = faults.map(({ at, part, kind, lasts }) =>
    `  ${(at / 1000).toFixed(2).padStart(8)} s  ${part}/${kind}${lasts > 0 ? ` for ${lasts} ms` : ""}`
  );
  return [`seed ${seed}: ${faults.length} faults, ${streams.length} streams`, ...lines].join("\n");
}

function planFaults(
  choice: Choice,
  { lasts, parts }: Pick<ScheduleOptions, "lasts" | "parts">,
): PlannedFault[] {
  const faults: PlannedFault[] = [];
  const busyUntil = new Map<string, number>();
  for (let at = calm; at < lasts; at += choice.between(faultsApart / 5, faultsApart)) {
    const part = choice.of(parts);
    const fault = choice.of(part.kinds);
    const takes = choice.between(...fault.lasts);
    // One at a time for each part: two faults at once have no defined meaning.
    if ((busyUntil.get(part.name) ?? 0) > at) continue;
    busyUntil.set(part.name, at + takes + 1);
    faults.push({ at, part: part.name, kind: fault.kind, lasts: takes });
  }
  return faults;
}

function planStreams(
  choice: Choice,
  { lasts, ways }: Pick<ScheduleOptions, "lasts" | "ways">,
): PlannedStream[] {
  const streams: PlannedStream[] = [];
  for (let at = 0; at < lasts; at += choice.between(1, streamsApart)) {
    const way = choice.of(ways);
    // Mostly small, some that last through several faults.
    const isLarge = choice.between(1, 8) === 1;
    const size = () => choice.between(0, isLarge ? 1_500_000 : 40_000);
    const [up, down] = [size(), size()];
    const pause = choice.between(0, isLarge ? 250 : 60);
    streams.push({
      id: streams.length + 1,
      at,
      way: way.name,
      protocol: choice.of(["socks5", "socks4", "http"] as const),
      up,
      down,
      piece: Math.max(
        choice.between(500, isLarge ? 60_000 : 8000),
        Math.ceil(Math.max(up, down) * pause / longest),
      ),
      pause,
      isHalfClosed: choice.between(0, 2) === 0 && way.carriesHalfClose,
      isEarly: choice.between(0, 1) === 0,
    });
  }
  return streams;
}

/** Random choices from a seed. */
class Choice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = randomNumbers(seed);
    // Skip the first numbers: adjacent seeds produce similar ones.
    for (let left = 10; left > 0; left--) this.#next();
  }

  /** Returns an integer between two bounds, inclusive. */
  between(least: number, most: number): number {
    return Math.floor(least + this.#next() * (most - least + 1));
  }

  of<T>(list: readonly T[]): T {
    const chosen = list[this.between(0, list.length - 1)];
    if (chosen === undefined) throw new Error("Cannot choose from an empty list");
    return chosen;
  }
}
