import { asPosternError, describe, formatTarget, type PosternError, type Target } from "../../words/mod.ts";
import {
  type Clock,
  type Conn,
  Counter,
  type Dial,
  Histogram,
  type Log,
  type Metric,
} from "../../core/mod.ts";

export interface TunnelRecordOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The prefix of its metric names: `konnectivity_network_proxy_server_`. */
  readonly prefix: string;
  readonly failures: {
    readonly name: string;
    readonly help: string;
    /** The reason label of a failure; `isGivenUp` means that the client has gone. */
    reasonOf(error: PosternError, options: { readonly isGivenUp: boolean }): string;
  };
  /** The histogram bounds of dial durations, in s. */
  readonly bounds: readonly number[];
  readonly open: { readonly name: string; readonly help: string };
  readonly connect: (target: Target, options: { signal: AbortSignal }) => Promise<Conn>;
}

/** Dials targets, logs each connection at its end, and counts like upstream's programs. */
export class TunnelRecord {
  readonly #options: TunnelRecordOptions;
  readonly #durations: Histogram;
  readonly #failures: Counter;
  #open = 0;
  #pending = 0;

  constructor(options: TunnelRecordOptions) {
    const { prefix, failures, bounds } = options;
    this.#options = options;
    this.#durations = new Histogram(
      `${prefix}dial_duration_seconds`,
      "Duration of dials, in seconds.",
      bounds,
    );
    this.#failures = new Counter(`${prefix}${failures.name}`, failures.help, ["reason"]);
  }

  get open(): number {
    return this.#open;
  }

  get pending(): number {
    return this.#pending;
  }

  /** Counts a failure outside `dial`. */
  failed(reason: string): void {
    this.#failures.add(1, reason);
  }

  /** Dials a target and records the result. */
  readonly dial: Dial = async ({ target, client, protocol }, { signal }) => {
    const { clock, log, connect, failures } = this.#options;
    const started = clock.now();
    const about = { client, protocol, target: formatTarget(target) };
    this.#pending++;
    let conn: Conn;
    try {
      conn = await connect(target, { signal });
    } catch (error) {
      this.failed(failures.reasonOf(asPosternError(error), { isGivenUp: signal.aborted }));
      log.info("conn.failed", { ...about, reason: describe(error) });
      throw error;
    } finally {
      this.#pending--;
    }
    this.#durations.observe((clock.now() - started) / 1000);
    this.#open++;
    const tally = { up: 0, down: 0 };
    let isFinished = false;
    return {
      conn,
      tally,
      finish: (outcome, error) => {
        if (isFinished) return;
        isFinished = true;
        this.#open--;
        const ms = Math.round(clock.now() - started);
        const reason = error === undefined ? {} : { reason: describe(error) };
        log.info("conn.done", { ...about, ms, in: tally.up, out: tally.down, outcome, ...reason });
        void conn[Symbol.asyncDispose]();
      },
    };
  };

  metrics(): Metric[] {
    const { prefix, open } = this.#options;
    return [
      this.#durations.metric(),
      this.#failures.metric(),
      gauge(`${prefix}${open.name}`, open.help, this.#open),
    ];
  }
}

/** A gauge with one value. */
export function gauge(name: string, help: string, value: number): Metric {
  return { kind: "gauge", name, help, samples: [{ labels: {}, value }] };
}

/** A gauge with one value per label value. */
export function gauges(
  name: string,
  help: string,
  { label, values }: { readonly label: string; readonly values: Readonly<Record<string, number>> },
): Metric {
  const samples = Object.entries(values).map(([is, value]) => ({ labels: { [label]: is }, value }));
  return { kind: "gauge", name, help, samples };
}
