import { type Clock, Ring } from "../../core/mod.ts";
import type {
  ConnectionInfo,
  Status,
  TrafficSample,
  WatchedStep,
  WatchedWhole,
  WatchUpdate,
} from "../../control/mod.ts";
import type { ConnectionTable } from "../dials/connection_table.ts";
import type { LogTail } from "./log_tail.ts";

/** The parts of an instance that a watch reads. */
export interface WatchedInstance {
  readonly clock: Clock;
  readonly connections: ConnectionTable;
  readonly tail: LogTail;
  status(): Status;
}

/** Interval between steps in ms. */
const every = 1000;
/** Maximum number of watchers. */
const mostWatchers = 8;
/** Traffic history in steps: five minutes. */
const mostTraffic = 300;
/** How many steps to continue without watchers, so that a reloaded page finds its history. */
const linger = 30;

interface Known {
  readonly isDialling: boolean;
  up: number;
  down: number;
}

/**
 * Reports what happens in an instance. All watchers share one step a second, made only while one of them
 * watches. A slow reader misses steps and then gets the whole state, so nothing is queued.
 */
export class InstanceWatch implements Disposable {
  readonly #instance: WatchedInstance;
  readonly #traffic = new Ring<TrafficSample>(mostTraffic);
  readonly #known = new Map<number, Known>();
  #watchers = 0;
  #alone = 0;
  #isOver = false;
  #timer: Disposable | undefined;
  #made = 0;
  #step: WatchedStep | undefined;
  #next = Promise.withResolvers<void>();
  #ended = 0;
  #logged = 0;
  #shown = "";
  #moved: Moment;

  constructor(instance: WatchedInstance) {
    this.#instance = instance;
    this.#moved = { at: 0, up: 0, down: 0 };
  }

  get watchers(): number {
    return this.#watchers;
  }

  /** Updates from now on, until the reader stops or the instance stops. Undefined with too many watchers. */
  watch(): AsyncIterable<WatchUpdate> | undefined {
    return this.#watchers < mostWatchers && !this.#isOver ? this.#tell() : undefined;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#next.resolve();
  }

  async *#tell(): AsyncGenerator<WatchUpdate> {
    // A watcher counts only once it starts to read.
    if (this.#watchers >= mostWatchers || this.#isOver) return;
    this.#watchers++;
    try {
      if (this.#watchers === 1) this.#begin();
      let seen = this.#made;
      yield this.#whole();
      while (true) {
        if (seen === this.#made) await this.#next.promise;
        if (this.#isOver) return;
        const message = this.#step !== undefined && seen === this.#made - 1 ? this.#step : this.#whole();
        seen = this.#made;
        yield message;
      }
    } finally {
      this.#watchers--;
    }
  }

  /** Records the current state as the base of the first step. */
  #begin(): void {
    const status = this.#instance.status();
    const { connections, tail } = this.#instance;
    this.#known.clear();
    for (const { id, tally, isDialling } of connections.live) this.#known.set(id, { ...tally, isDialling });
    this.#ended = connections.endedCount;
    this.#logged = tail.count;
    this.#shown = shownOf(status);
    this.#step = undefined;
    this.#alone = 0;
    if (this.#timer) return;
    this.#moved = this.#moment(status);
    this.#wait();
  }

  #wait(): void {
    this.#timer = this.#instance.clock.after(every, () => {
      this.#timer = undefined;
      if (this.#watchers === 0 && ++this.#alone > linger) return;
      this.#wait();
      this.#make();
    });
  }

  #make(): void {
    const status = this.#instance.status();
    const traffic = this.#sample(status);
    this.#step = this.#watchers > 0 ? this.#changes(status, traffic) : undefined;
    this.#made++;
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve();
  }

  #sample(status: Status): TrafficSample {
    const before = this.#moved;
    const { at, up, down } = this.#moved = this.#moment(status);
    const perSecond = 1000 / Math.max(1, at - before.at);
    const sample = {
      up: Math.round(Math.max(0, up - before.up) * perSecond),
      down: Math.round(Math.max(0, down - before.down) * perSecond),
      open: status.connections.open,
    };
    this.#traffic.push(sample);
    return sample;
  }

  #moment({ bytes }: Status): Moment {
    return { at: this.#instance.clock.now(), ...bytes };
  }

  #changes(status: Status, traffic: TrafficSample): WatchedStep {
    const { connections, tail, clock } = this.#instance;
    const { begun, moved, gone } = this.#connectionChanges();
    const ended = connections.ended(this.#ended);
    this.#ended = connections.endedCount;
    const log = tail.lines(this.#logged);
    this.#logged = tail.count;
    const shown = shownOf(status);
    const isNew = shown !== this.#shown;
    this.#shown = shown;
    const { connections: counted, bytes, memory } = status;
    return {
      kind: "step",
      time: clock.date().toISOString(),
      counts: { connections: counted, bytes, memory },
      ...(isNew && { status }),
      begun,
      moved,
      gone,
      ended,
      log,
      traffic,
    };
  }

  #connectionChanges(): Pick<WatchedStep, "begun" | "moved" | "gone"> {
    const begun: ConnectionInfo[] = [];
    const moved: [number, number, number][] = [];
    const left = new Set(this.#known.keys());
    for (const record of this.#instance.connections.live) {
      const { id, tally: { up, down }, isDialling } = record;
      const known = this.#known.get(id);
      left.delete(id);
      if (!known || known.isDialling !== isDialling) {
        begun.push(record.info());
        this.#known.set(id, { up, down, isDialling });
      } else if (known.up !== up || known.down !== down) {
        moved.push([id, known.up = up, known.down = down]);
      }
    }
    for (const id of left) this.#known.delete(id);
    return { begun, moved, gone: [...left] };
  }

  #whole(): WatchedWhole {
    const { connections, tail, clock } = this.#instance;
    return {
      kind: "whole",
      time: clock.date().toISOString(),
      every,
      status: this.#instance.status(),
      live: connections.list(),
      ended: connections.ended(),
      log: tail.lines(),
      traffic: this.#traffic.since(),
    };
  }
}

interface Moment {
  readonly at: number;
  readonly up: number;
  readonly down: number;
}

/** A status without the parts that change all the time. */
function shownOf({ connections: _connections, bytes: _bytes, memory: _memory, ...shown }: Status): string {
  return JSON.stringify(shown);
}
