import type {
  ConnectionInfo,
  EndedConnection,
  Status,
  TrafficSample,
  WatchedStep,
  WatchUpdate,
} from "../../control/mod.ts";

/** A live connection with its rates in bytes per second. */
export interface LiveConnection extends ConnectionInfo {
  readonly upRate: number;
  readonly downRate: number;
}

const mostEnded = 200;
const mostTraffic = 300;

/** The state of a watched instance: its last full report with all later changes applied. */
export class TopState {
  /** The instance's clock, in ms since 1970. */
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

  /** The rates and the number of live connections of each transport in use. */
  transportsInUse(): Map<string, { open: number; up: number; down: number }> {
    const sums = new Map<string, { open: number; up: number; down: number }>();
    for (const { transport, upRate, downRate } of this.live.values()) {
      const sum = sums.get(transport) ?? { open: 0, up: 0, down: 0 };
      sums.set(transport, { open: sum.open + 1, up: sum.up + upRate, down: sum.down + downRate });
    }
    return sums;
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
