import { type Clock, type Log, pause, unlessAborted, whenAborted, within } from "../../core/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";
import type { Lease, LeaseFields, Leases } from "./leases.ts";

/** The time that somebody leads for. */
export interface Leadership {
  /** Ends with the leadership: it was lost, or is given back. */
  readonly signal: AbortSignal;
  /** For how long what is begun now is still ours to do, in ms; nothing once the leadership has ended. */
  remaining(): number;
}

export interface LeaderElectionOptions {
  readonly leases: Leases;
  readonly name: string;
  /** Who we are; no two alike, also not one that was started again. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly times: LeaseTimes;
}

/** In ms. */
export interface LeaseTimes {
  /** How long others wait after a renewal before they take over. */
  readonly lease: number;
  /** How long after a renewal its holder still acts; less than `lease`, by more than a write may take. */
  readonly renew: number;
  /** How often the holder renews and others look. */
  readonly retry: number;
}

/**
 * One of several replicas leads, by a Lease. Nobody trusts another's clock: a Lease counts as given up when it has not
 * changed for as long as it is good for, by one's own clock. A leader that cannot renew stops before that.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  /** What the Lease said last, and since when by our clock. */
  #seen: { readonly version: string; readonly at: number } | undefined;
  #holder: string | undefined;
  #isLeading = false;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  /** Who leads, as far as we have heard. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /** Calls `lead` each time we lead, until the signal ends or `lead` fails; what it began is over before others may. */
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

  /** The Lease, where it is ours now. */
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
      new PosternError("cancelled", `Cannot go on leading: the Lease "${name}" was not renewed in time`);
    // Not on the hands of a timer alone: one of a process that was held up comes late.
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
      ended.abort(new PosternError("cancelled", "It leads no more"));
      timer[Symbol.dispose]();
      await renewing;
      this.#isLeading = false;
      log.info("leader.ended", { lease: name, identity, reason: describe(ended.signal.reason) });
      if (isOurs) await this.#release();
    }
  }

  /** Renews until it cannot; resolves with why somebody else leads. */
  async #renew(lease: Lease, signal: AbortSignal, renewed: (begun: number) => void): Promise<PosternError> {
    const { leases, clock, log, name, identity, times, random } = this.#options;
    let held = lease;
    while (true) {
      await pause(clock, times.retry * (0.75 + random() / 2), { signal });
      const begun = clock.now();
      try {
        const { next, isWritten } = await this.#timely(signal, async (signal) => {
          const written = await leases.update(held, { renewed: clock.date() }, { signal });
          // What was not answered may have been done, and then it is ours all the same; since when, nobody can say.
          const next = written ?? await leases.read(name, { signal });
          return { next, isWritten: written !== undefined };
        });
        if (next?.holder !== identity) {
          this.#holder = next?.holder;
          return new PosternError(
            "cancelled",
            `Cannot go on leading: somebody else holds the Lease "${name}"`,
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

  /** Lets the next one begin at once; that it could not be told is no failure of ours. */
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

  /** One exchange takes less than a leader's time, so that a second one fits in. */
  async #timely<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, times, name } = this.#options;
    const error = () => new PosternError("timeout", `Cannot read or write the Lease "${name}" in time`);
    return await within(
      { clock, ms: times.renew / 2, signal, error },
      (signal) => unlessAborted(work(signal), signal),
    );
  }
}
