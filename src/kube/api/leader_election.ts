import { type Clock, type Log, pause, unlessAborted, whenAborted, within } from "../../core/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";
import type { Lease, LeaseFields, Leases } from "./leases.ts";

/** The time during which one replica leads. */
export interface Leadership {
  /** Aborts when the leadership is lost or released. */
  readonly signal: AbortSignal;
  /** How long, in ms, work that starts now is still covered by the leadership; 0 after it ended. */
  remaining(): number;
}

export interface LeaderElectionOptions {
  readonly leases: Leases;
  readonly name: string;
  /** The name of this process; unique, also across restarts. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
  readonly times: LeaseTimes;
}

/** All in ms. */
export interface LeaseTimes {
  /** How long other replicas wait after a renewal before they take over. */
  readonly lease: number;
  /**
   * How long after a renewal the holder still acts; shorter than `lease` by more than the duration of a
   * write.
   */
  readonly renew: number;
  /** How often the holder renews and the other replicas check. */
  readonly retry: number;
}

/**
 * Elects one of several replicas as leader, with a Lease. Clocks are never compared: a Lease has expired when
 * it did not change for its whole duration, measured by the local clock. A leader that cannot renew stops
 * before that.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  /** The last version of the Lease, and when the local clock first saw it. */
  #seen: { readonly version: string; readonly at: number } | undefined;
  #holder: string | undefined;
  #isLeading = false;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  /** The current leader, as last read. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /**
   * Calls `lead` each time this replica leads, until the signal aborts or `lead` fails. The work that it
   * starts ends before another replica may lead.
   */
  async run(
    lead: (leadership: Leadership) => Promise<void>,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<void> {
    const { clock, log, times, random } = this.#options;
    while (true) {
      const begun = clock.now();
      let lease: Lease | undefined;
      try {
        lease = await this.#timely(signal, (signal) => this.#acquire(signal));
      } catch (error) {
        signal.throwIfAborted();
        log.warn("leader.unknown", { reason: describe(error) });
      }
      if (lease) await this.#lead(lease, begun, lead, signal);
      await pause(clock, times.retry * (0.5 + random()), { signal });
    }
  }

  /** The Lease, if this replica holds it now. */
  async #acquire(signal: AbortSignal): Promise<Lease | undefined> {
    const { leases, name, identity, clock } = this.#options;
    const lease = await leases.read(name, { signal });
    if (!lease) return await leases.create(name, this.#fields(0), { signal });
    this.#holder = lease.holder === "" ? undefined : lease.holder;
    if (this.#seen?.version !== lease.resourceVersion) {
      this.#seen = { version: lease.resourceVersion, at: clock.now() };
    }
    const isOver = clock.now() - this.#seen.at >= lease.seconds * 1000;
    if (lease.holder !== "" && lease.holder !== identity && !isOver) return undefined;
    return await leases.update(lease, this.#fields(lease.transitions + 1), { signal });
  }

  async #lead(
    lease: Lease,
    begun: number,
    lead: (leadership: Leadership) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log, name, identity, times } = this.#options;
    const ended = new AbortController();
    using _stop = whenAborted(signal, () => ended.abort(signal.reason));
    let until = begun + times.renew;
    const lost = () =>
      new PosternError("cancelled", `Cannot keep the Lease "${name}": it was not renewed in time`);
    // The timer alone is not enough: in a process that was suspended it fires late.
    const remaining = () => ended.signal.aborted ? 0 : Math.max(0, until - clock.now());
    let timer = clock.after(remaining(), () => ended.abort(lost()));
    const renewing = this.#renew(lease, ended.signal, (renewed) => {
      timer[Symbol.dispose]();
      until = renewed + times.renew;
      timer = clock.after(Math.max(0, until - clock.now()), () => ended.abort(lost()));
    }).then((why) => ended.abort(why), () => {});
    this.#isLeading = true;
    this.#holder = identity;
    log.info("leader.leads", { lease: name, identity });
    try {
      await lead({ signal: ended.signal, remaining });
    } catch (error) {
      if (!ended.signal.aborted || error !== ended.signal.reason) throw error;
    } finally {
      const isOurs = remaining() > 0 || signal.aborted;
      ended.abort(new PosternError("cancelled", "The leadership has ended"));
      timer[Symbol.dispose]();
      await renewing;
      this.#isLeading = false;
      log.info("leader.ended", { lease: name, identity, reason: describe(ended.signal.reason) });
      if (isOurs) await this.#release();
    }
  }

  /** Renews until that fails; resolves with the reason for losing the Lease. */
  async #renew(lease: Lease, signal: AbortSignal, renewed: (begun: number) => void): Promise<PosternError> {
    const { leases, clock, log, name, identity, times, random } = this.#options;
    let held = lease;
    while (true) {
      await pause(clock, times.retry * (0.75 + random() / 2), { signal });
      const begun = clock.now();
      try {
        const { next, isWritten } = await this.#timely(signal, async (signal) => {
          const written = await leases.update(held, { renewed: clock.date() }, { signal });
          // A write without a response may have succeeded. Then the Lease is ours, but its renewal time is
          // unknown.
          const next = written ?? await leases.read(name, { signal });
          return { next, isWritten: written !== undefined };
        });
        if (next?.holder !== identity) {
          this.#holder = next?.holder;
          return new PosternError(
            "cancelled",
            `Cannot keep the Lease "${name}": another process holds it`,
          );
        }
        if (isWritten) renewed(begun);
        held = next;
      } catch (error) {
        signal.throwIfAborted();
        log.warn("leader.not_renewed", { lease: name, reason: describe(error) });
      }
    }
  }

  /** Releases the Lease so that another replica can start at once; a failure is only logged. */
  async #release(): Promise<void> {
    const { leases, name, identity, log } = this.#options;
    const own = new AbortController();
    try {
      await this.#timely(own.signal, async (signal) => {
        const lease = await leases.read(name, { signal });
        if (lease?.holder === identity) await leases.update(lease, { holder: "", seconds: 1 }, { signal });
      });
    } catch (error) {
      log.warn("leader.not_released", { lease: name, reason: describe(error) });
    }
  }

  #fields(transitions: number): LeaseFields {
    const { clock, identity, times } = this.#options;
    const now = clock.date();
    const seconds = Math.max(1, Math.ceil(times.lease / 1000));
    return { holder: identity, seconds, acquired: now, renewed: now, transitions, labels: {} };
  }

  /** Limits one exchange to less than the `renew` time, so that a second attempt fits in. */
  async #timely<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, times, name } = this.#options;
    const error = () => new PosternError("timeout", `Cannot read or write the Lease "${name}" in time`);
    return await within(
      { clock, ms: times.renew / 2, signal, error },
      (signal) => unlessAborted(work(signal), signal),
    );
  }
}
