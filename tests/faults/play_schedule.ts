import { eventually } from "../support/peer_program.ts";
import { type FaultLedger, type StreamAccount } from "./fault_ledger.ts";
import type { PlannedFault, PlannedStream, Schedule } from "./fault_schedule.ts";
import type { LivePart } from "./live_parts.ts";
import type { PatternStreams } from "./pattern_streams.ts";
import type { WorldWay } from "./whole_world.ts";

/** A stream and where its client was, by which the door's log knows it. */
export type PlayedStream = Omit<StreamAccount, "outcome"> & { readonly local: string };

/** How long one stream may take with all that goes wrong, and how long a way may need to work again, in ms. */
const patience = 120_000;

/** Where a schedule is played. */
export interface Stage {
  /** The address of the door. */
  readonly instance: string;
  readonly ways: readonly WorldWay[];
  readonly parts: readonly LivePart[];
  readonly streams: PatternStreams;
  readonly ledger: FaultLedger;
  /** Every stream that was carried, those that only ask whether a way works too: each has its line in the log. */
  readonly carried: PlayedStream[];
}

/**
 * Plays a schedule to its end: all streams are over, and every way that had trouble works again. After a failure nothing
 * more begins.
 */
export async function playSchedule(schedule: Schedule, stage: Stage): Promise<PlayedStream[]> {
  const times = new Timetable();
  // A busy machine may need longer for a fault than it was to last: the next one of the same part waits for its end.
  const ends = new Map<string, Promise<void>>();
  const faults = schedule.faults.map(async (fault) => {
    const before = ends.get(fault.part);
    const over = Promise.withResolvers<void>();
    ends.set(fault.part, over.promise);
    await times.reached(fault.at);
    await before;
    if (times.isStopped) over.resolve();
    else await suffer(fault, stage, over.resolve);
  });
  const streams = schedule.streams.map(async (plan) => {
    await times.reached(plan.at);
    return times.isStopped ? [] : [await carry(plan, stage)];
  });
  try {
    await Promise.all(faults);
    return (await Promise.all(streams)).flat();
  } catch (error) {
    times.stop();
    await Promise.allSettled([...faults, ...streams]);
    throw error;
  }
}

/** The moments of a run, in ms from its start. */
class Timetable {
  readonly #start = performance.now();
  readonly #waiting = new Map<ReturnType<typeof setTimeout>, () => void>();
  isStopped = false;

  /** Resolves at a moment, or when the run is stopped. */
  reached(at: number): Promise<void> {
    if (this.isStopped) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#waiting.delete(timer);
      resolve();
    }, Math.max(0, this.#start + at - performance.now()));
    this.#waiting.set(timer, resolve);
    return promise;
  }

  stop(): void {
    this.isStopped = true;
    for (const [timer, resolve] of this.#waiting) {
      clearTimeout(timer);
      resolve();
    }
    this.#waiting.clear();
  }
}

/** Resolves once a way carries something; tells how many times it was tried. */
export async function untilItWorks(way: string, stage: Stage): Promise<number> {
  let tries = 0;
  let last = "";
  const works = async () => {
    tries++;
    const { failure, up, down } = await carry(probe(way), stage);
    last = failure ?? "";
    return failure === undefined && up === probeSize && down === probeSize;
  };
  try {
    await eventually(`${way} works`, works, patience);
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}: ${last}`);
  }
  return tries;
}

async function suffer(
  { part: name, kind, lasts }: PlannedFault,
  stage: Stage,
  onOver: () => void,
): Promise<void> {
  const part = stage.parts.find((part) => part.name === name);
  const fault = part?.kinds.find((fault) => fault.kind === kind);
  if (!part || !fault) throw new Error(`there is no ${name}/${kind}`);
  const end = stage.ledger.begin(`${name}/${kind}`, part.ways, performance.now());
  await fault.run(lasts).finally(onOver);
  await Promise.all(part.ways.map((way) => untilItWorks(way, stage)));
  end(performance.now());
}

async function carry(
  plan: PlannedStream,
  { instance, ways, streams, carried }: Stage,
): Promise<PlayedStream> {
  const way = ways.find(({ name }) => name === plan.way);
  if (!way) throw new Error(`there is no way ${plan.way}`);
  const played = await streams.carry(plan, { instance, target: way.target, patience });
  carried.push(played);
  return played;
}

const probeSize = 2000;
let probes = 0;

function probe(way: string): PlannedStream {
  return {
    id: 1_000_000_000 + probes++,
    at: 0,
    way,
    protocol: "http",
    up: probeSize,
    down: probeSize,
    piece: probeSize,
    pause: 0,
    isHalfClosed: false,
    isEarly: false,
  };
}
