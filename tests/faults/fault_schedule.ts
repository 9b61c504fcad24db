import { randomNumbers } from "../support/pattern_bytes.ts";

/** What can go wrong with a part, and how long it may last. */
export interface FaultKind {
  /** `freeze`, `cut`: the part knows what that is. */
  readonly kind: string;
  /** Milliseconds from the least to the most that it lasts; nothing for what happens at once. */
  readonly lasts: readonly [number, number];
}

/** A part of the world that can fail. */
export interface FaultyPart {
  readonly name: string;
  readonly kinds: readonly FaultKind[];
}

/** One thing that goes wrong, and when. */
export interface PlannedFault {
  /** Milliseconds after the start. */
  readonly at: number;
  readonly part: string;
  readonly kind: string;
  /** How long it lasts, in ms. */
  readonly lasts: number;
}

/** One connection of a client. */
export interface PlannedStream {
  readonly id: number;
  /** Milliseconds after the start. */
  readonly at: number;
  readonly way: string;
  readonly protocol: "socks5" | "socks4" | "http";
  /** Bytes that the client sends, and that come back; each has a pattern of its own. */
  readonly up: number;
  readonly down: number;
  /** Bytes that either side sends at once, and milliseconds it waits then. */
  readonly piece: number;
  readonly pause: number;
  /** Whether the client ends its direction before the target begins with its own. */
  readonly isHalfClosed: boolean;
  /** Whether the client sends before it is told that the target was reached. */
  readonly isEarly: boolean;
}

export interface Schedule {
  readonly seed: number;
  readonly faults: readonly PlannedFault[];
  readonly streams: readonly PlannedStream[];
}

/** A way into the world, and what a client may do there. */
export interface PlannedWay {
  readonly name: string;
  readonly carriesHalfClose: boolean;
}

export interface ScheduleOptions {
  readonly seed: number;
  /** How long it goes on, in ms. */
  readonly lasts: number;
  readonly parts: readonly FaultyPart[];
  readonly ways: readonly PlannedWay[];
}

/** Milliseconds between two faults, and between two clients, at most. */
const faultsApart = 2500;
const streamsApart = 250;
/** Milliseconds that the pauses of one direction add up to, at most. */
const longest = 15_000;
/** Before the first fault, so that something goes on by then. */
const calm = 1500;

/** All that happens, in its order: a function of the seed, the length and the names, and of nothing else. */
export function planSchedule({ seed, lasts, parts, ways }: ScheduleOptions): Schedule {
  return {
    seed,
    faults: planFaults(new Choice(seed), { lasts, parts }),
    // Numbers of its own, so that a fault more does not change what clients do.
    streams: planStreams(new Choice(seed ^ 0x5bd1e995), { lasts, ways }),
  };
}

/**
 * The same with fewer faults: those of a part (`api`), or of a kind of it (`api/freeze`). The rest happens when it
 * would have.
 */
export function narrowed(schedule: Schedule, only: readonly string[]): Schedule {
  if (only.length === 0) return schedule;
  const faults = schedule.faults.filter(({ part, kind }) =>
    only.includes(part) || only.includes(`${part}/${kind}`)
  );
  return { ...schedule, faults };
}

/** A line for each fault, for a person who looks for the one that mattered. */
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
    // One at a time for each part: what two at once would mean is nobody's to say.
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

/** Choices that follow from a seed. */
class Choice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = randomNumbers(seed);
    // The first numbers of neighbouring seeds are neighbours too.
    for (let left = 10; left > 0; left--) this.#next();
  }

  /** A whole number from the one to the other, both included. */
  between(least: number, most: number): number {
    return Math.floor(least + this.#next() * (most - least + 1));
  }

  of<T>(list: readonly T[]): T {
    const chosen = list[this.between(0, list.length - 1)];
    if (chosen === undefined) throw new Error("there is nothing to choose from");
    return chosen;
  }
}
