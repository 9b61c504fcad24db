import { eventually } from "../support/peer_program.ts";
import { type FaultLedger, type StreamAccount } from "./fault_ledger.ts";
import type { PlannedFault, PlannedStream, Schedule } from "./fault_schedule.ts";
import type { LivePart } from "./live_parts.ts";
import type { PatternStreams } from "./pattern_streams.ts";
import type { WorldWay } from "./whole_world.ts";

/** A stream with its client's address, which identifies it in the log. */
export type PlayedStream = Omit<StreamAccount, "outcome"> & { readonly local: string };

/** The time limit for a stream, and for a route to recover, in ms. */
const patience = 120_000;

/** The world in which a schedule runs. */
export interface Stage {
  /** The address of the instance. */
  readonly instance: string;
  readonly ways: readonly WorldWay[];
  readonly parts: readonly LivePart[];
  readonly streams: PatternStreams;
  readonly ledger: FaultLedger;
  /** All streams, including probes of routes: each has a line in the log. */
  readonly carried: PlayedStream[];
}

/**
 * Runs a schedule until all streams have ended and every route works again. After a failure it starts no
 * further events.
 */
export async function playSchedule(schedule: Schedule, stage: Stage): Promise<PlayedStream[]> {
  const times = new Timetable();
  // On a busy machine a fault may take longer than planned: the next fault of the same part waits for its
  // end.
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

/** The clock of a run, in ms from its start. */
class Timetable {
  readonly #start = performance.now();
  readonly #waiting = new Map<ReturnType<typeof setTimeout>, () => void>();
  isStopped = false;

  /** Resolves at a time, or when the run stops. */
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

/** Resolves when a route carries data; returns the number of attempts. */
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
  if (!part || !fault) throw new Error(`Unknown fault ${name}/${kind}`);
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
  if (!way) throw new Error(`Unknown route ${plan.way}`);
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
