import type {
  ConnectionInfo,
  EndedConnection,
  Status,
  TrafficSample,
  WatchedStep,
  WatchUpdate,
} from "../../control/mod.ts";

/** A live connection, and how fast it is, in bytes a second. */
export interface LiveConnection extends ConnectionInfo {
  readonly upRate: number;
  readonly downRate: number;
}

const mostEnded = 200;
const mostTraffic = 300;

/** What is known of a door that is watched: the whole that it told, and every step since. */
export class TopState {
  /** The door's calendar, in ms. */
  now = 0;
  status: Status | undefined;
  readonly live = new Map<number, LiveConnection>();
  ended: readonly EndedConnection[] = [];
  traffic: readonly TrafficSample[] = [];

  take(message: WatchUpdate): void {
    const before = this.now;
    this.now = Date.parse(message.time);
    if (message.kind === "step") return this.#change(message, 1000 / Math.max(1, this.now - before));
    this.status = message.status;
    this.ended = message.ended;
    this.traffic = message.traffic;
    const known = new Map(this.live);
    this.live.clear();
    for (const info of message.live) {
      const { upRate = 0, downRate = 0 } = known.get(info.id) ?? {};
      this.live.set(info.id, { ...info, upRate, downRate });
    }
  }

  /** How fast each way out is now, and how many connections go by it. */
  ways(): Map<string, { open: number; up: number; down: number }> {
    const ways = new Map<string, { open: number; up: number; down: number }>();
    for (const { transport, upRate, downRate } of this.live.values()) {
      const sum = ways.get(transport) ?? { open: 0, up: 0, down: 0 };
      ways.set(transport, { open: sum.open + 1, up: sum.up + upRate, down: sum.down + downRate });
    }
    return ways;
  }

  #change({ status, counts, begun, moved, gone, ended, traffic }: WatchedStep, perSecond: number): void {
    this.status = status ?? (this.status && { ...this.status, ...counts });
    for (const [id, one] of this.live) {
      if (one.upRate > 0 || one.downRate > 0) this.live.set(id, { ...one, upRate: 0, downRate: 0 });
    }
    for (const info of begun) this.live.set(info.id, { ...info, upRate: 0, downRate: 0 });
    for (const [id, up, down] of moved) {
      const one = this.live.get(id);
      if (!one) continue;
      const upRate = (up - one.up) * perSecond;
      this.live.set(id, { ...one, up, down, upRate, downRate: (down - one.down) * perSecond });
    }
    for (const id of gone) this.live.delete(id);
    const known = new Set(this.ended.map(({ id }) => id));
    this.ended = [...this.ended, ...ended.filter(({ id }) => !known.has(id))].slice(-mostEnded);
    this.traffic = [...this.traffic, traffic].slice(-mostTraffic);
  }
}
