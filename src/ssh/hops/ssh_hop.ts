import {
  backoff,
  type Clock,
  type Conn,
  Deadlines,
  type DialOptions,
  type HopStatus,
  type Log,
  pause,
  Tasks,
  unlessAborted,
} from "../../core/mod.ts";
import {
  describe,
  type ErrorCode,
  formatTarget,
  isPosternError,
  PosternError,
  type Target,
} from "../../words/mod.ts";
import { sshLabel } from "../ssh_label.ts";
import type { SshHost } from "../config/ssh_host.ts";
import { isShortage } from "../session/ssh_open_failure.ts";
import { openFirst, patience } from "./ssh_race.ts";
import type { SshSession } from "../session/ssh_session.ts";

/** What a hop needs of a session, whoever speaks ssh in it; not everyone knows what was answered. */
export type HopSession = Pick<SshSession, Needed> & Partial<Pick<SshSession, "waiting" | "hasAnsweredSince">>;
type Needed =
  | ("channels" | "connect" | "check" | "ended" | "isOver" | "reason" | "roundTrip")
  | typeof Symbol.asyncDispose;

export interface SshHopOptions {
  readonly host: SshHost;
  /** Connects and signs in. */
  readonly connect: (options: DialOptions) => Promise<HopSession>;
  /** Asks the hosts on the way here whether they are there. */
  readonly checkWay?: () => void;
  readonly deps: { readonly clock: Clock; readonly log: Log };
}

/** What `status` shows of a hop. */
export type SshHopStatus = HopStatus;

/**
 * One ssh host: connected when first needed, and again by itself when a session that was in use dies. All who wait
 * share one attempt; a second session is made beside the first when that is silent or full.
 */
export class SshHop implements AsyncDisposable {
  readonly host: SshHost;
  readonly #connect: SshHopOptions["connect"];
  readonly #checkWay: SshHopOptions["checkWay"];
  readonly #deps: SshHopOptions["deps"];
  readonly #tasks: Tasks;
  readonly #deadlines: Deadlines;
  #sessions: HopSession[] = [];
  /** Sessions that left an open unanswered. */
  readonly #silent = new Set<HopSession>();
  /** How many channels a session had when it refused another for want of room. */
  readonly #full = new Map<HopSession, number>();
  #attempt: Promise<HopSession> | undefined;
  #isRebuilding = false;
  /** How many sessions in a row were lost soon after they were made. */
  #lostSoon = 0;
  #usedAt = -Infinity;
  #connects = 0;
  #state: HopStatus["state"] = "idle";
  #since: Date;
  #lastError: string | undefined;
  #hint: string | undefined;
  #calendar: number;

  constructor({ host, connect, checkWay, deps }: SshHopOptions) {
    this.host = host;
    this.#connect = connect;
    this.#checkWay = checkWay;
    this.#deps = deps;
    this.#deadlines = new Deadlines(deps.clock, { keepsTimers: true });
    this.#since = deps.clock.date();
    this.#calendar = this.#calendarOffset();
    this.#tasks = new Tasks(undefined, (error) => deps.log.debug("ssh.task", { reason: describe(error) }));
  }

  /** How many connections go through it now. */
  get channels(): number {
    return this.#sessions.reduce((sum, session) => sum + session.channels, 0);
  }

  /** Connects from this host to a target; names are resolved there. A session that dies meanwhile is made anew. */
  async dial(target: Target, { signal, onStep }: DialOptions): Promise<Conn> {
    this.#usedAt = this.#deps.clock.now();
    this.#lookAtCalendar();
    for (let left = mostAttempts;; left--) {
      const session = this.#usable() ?? this.#empty() ??
        await this.#connected({ signal, onStep });
      try {
        return await openFirst(session, {
          target,
          signal,
          clock: this.#deps.clock,
          deadlines: this.#deadlines,
          isDoubtful: this.#isDoubtful(session),
          onSlow: () => this.#checkWay?.(),
          another: () => this.#another(session),
          onSilent: (silent) => this.#silent.add(silent),
          onHeard: (heard) => this.#silent.delete(heard),
        });
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (left <= 1) throw error;
        if (isShortage(error)) this.#full.set(session, session.channels);
        else if (!session.isOver) throw error;
        if (this.#sessions.length >= mostSessions && !this.#usable()) throw error;
      }
    }
  }

  /** Waits until it is connected. */
  async ready(options: DialOptions): Promise<void> {
    this.#usedAt = this.#deps.clock.now();
    if (!this.#usable()) await this.#connected(options);
  }

  /** Asks the server whether it is there, after sleep or when the network changed. */
  check(): void {
    for (const session of this.#sessions) session.check();
  }

  status(): HopStatus {
    const session = this.#usable();
    const roundTrip = session?.roundTrip;
    return {
      host: this.host.alias,
      address: formatTarget({ host: this.host.hostName, port: this.host.port }),
      state: this.#state,
      since: this.#since.toISOString(),
      ...(roundTrip !== undefined && { roundTripMs: Math.round(roundTrip * 10) / 10 }),
      channels: this.channels,
      sessions: this.#sessions.length,
      reconnects: Math.max(0, this.#connects - 1),
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
      ...(this.#hint !== undefined && { hint: this.#hint }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tasks.abort(
      new PosternError("cancelled", `The session with ${sshLabel(this.host)} was closed here`),
    );
    this.#deadlines[Symbol.dispose]();
    await Promise.all(this.#sessions.map((session) => session[Symbol.asyncDispose]()));
    await this.#tasks[Symbol.asyncDispose]();
  }

  /** The session for the next connection: one that answers and has room. */
  #usable(): HopSession | undefined {
    const roomy = this.#sessions.filter((session) =>
      !session.isOver && session.channels < (this.#full.get(session) ?? Infinity)
    );
    return roomy.find((session) => !this.#isDoubtful(session)) ?? roomy[0];
  }

  /** Where there are enough sessions, one that had no room and carries nothing is asked again: no other has more. */
  #empty(): HopSession | undefined {
    if (this.#sessions.length < mostSessions) return undefined;
    return this.#sessions.find(({ isOver, channels }) => !isOver && channels === 0);
  }

  /** Whether a session has left an open or a question unanswered. */
  #isDoubtful(session: HopSession): boolean {
    const { waiting = 0, roundTrip = 0 } = session;
    return this.#silent.has(session) || waiting > Math.max(longForAnswer, roundTrip * 3);
  }

  async #another(than: HopSession): Promise<HopSession> {
    const other = this.#sessions.find((session) =>
      session !== than && !session.isOver && !this.#isDoubtful(session)
    );
    if (other) return other;
    if (this.#sessions.length >= mostSessions) throw new Error("there are enough sessions");
    return await this.#connected({ signal: this.#tasks.signal });
  }

  /** Shares one attempt among all who wait; whoever stops waiting does not stop it. */
  #connected({ signal, onStep }: DialOptions): Promise<HopSession> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#tasks.signal.aborted) return Promise.reject(this.#tasks.signal.reason);
    const attempt = this.#attempt ??= this.#startAttempt(onStep);
    return unlessAborted(attempt, signal);
  }

  #startAttempt(onStep: DialOptions["onStep"]): Promise<HopSession> {
    const { promise, resolve, reject } = Promise.withResolvers<HopSession>();
    this.#tasks.spawn(async (signal) => {
      if (this.#sessions.length === 0) this.#enter("connecting");
      try {
        const session = await this.#connect({ signal, onStep });
        this.#attempt = undefined;
        this.#adopt(session);
        resolve(session);
      } catch (error) {
        this.#attempt = undefined;
        if (this.#sessions.length === 0) this.#enter("failing", error);
        this.#deps.log.debug("ssh.failed", { host: this.host.alias, reason: describe(error) });
        reject(error);
      }
    });
    promise.catch(() => {});
    return promise;
  }

  #adopt(session: HopSession): void {
    if (this.#tasks.signal.aborted) return void session[Symbol.asyncDispose]();
    this.#sessions.push(session);
    this.#connects++;
    this.#enter("ready");
    this.#deps.log.info("ssh.connected", { host: this.host.alias, times: this.#connects });
    const madeAt = this.#deps.clock.now();
    this.#tasks.spawn(async () => {
      await session.ended;
      this.#lostSoon = this.#deps.clock.now() - madeAt < longLife ? this.#lostSoon + 1 : 0;
      this.#onLost(session);
      await session[Symbol.asyncDispose]();
    });
    if (this.#sessions.length > 1) this.#tasks.spawn((signal) => this.#closeSpares(signal));
  }

  #onLost(session: HopSession): void {
    const { log, clock } = this.#deps;
    this.#sessions = this.#sessions.filter((other) => other !== session);
    this.#silent.delete(session);
    this.#full.delete(session);
    if (this.#tasks.signal.aborted || isPosternError(session.reason, "cancelled")) return;
    log.info("ssh.lost", { host: this.host.alias, reason: describe(session.reason) });
    this.#lastError = describe(session.reason);
    if (this.#sessions.length > 0) return;
    this.#enter("failing", session.reason);
    if (clock.now() - this.#usedAt < inUse) this.#tasks.spawn((signal) => this.#rebuild(signal));
  }

  /**
   * Connects again before anybody asks; a server that does not let us in is not asked twice, and one that ends
   * sessions soon is asked more and more slowly.
   */
  async #rebuild(signal: AbortSignal): Promise<void> {
    if (this.#isRebuilding) return;
    this.#isRebuilding = true;
    const { clock } = this.#deps;
    try {
      for (let again = Math.max(-1, this.#lostSoon - 2); !this.#usable(); again++) {
        if (again >= 0) await pause(clock, backoff(again, waits), { signal });
        if (clock.now() - this.#usedAt > inUse) return;
        try {
          await this.#connected({ signal });
        } catch (error) {
          signal.throwIfAborted();
          // Nor is a person who was asked and wants no more.
          if (error instanceof PosternError && lasting.has(error.code)) return;
        }
      }
    } finally {
      this.#isRebuilding = false;
    }
  }

  /** A session that was made beside another is given back when neither needs it. */
  async #closeSpares(signal: AbortSignal): Promise<void> {
    while (this.#sessions.length > 1) {
      await pause(this.#deps.clock, spareTime, { signal });
      const serving = this.#usable();
      const idle = this.#sessions.find((session) => session !== serving && session.channels === 0);
      await idle?.[Symbol.asyncDispose]();
    }
  }

  /** After a sleep the calendar is ahead of the clock that only counts waking hours: then old sessions are doubtful. */
  #lookAtCalendar(): void {
    const offset = this.#calendarOffset();
    if (Math.abs(offset - this.#calendar) > 5000) this.check();
    this.#calendar = offset;
  }

  #calendarOffset(): number {
    return this.#deps.clock.date().getTime() - this.#deps.clock.now();
  }

  #enter(state: HopStatus["state"], error?: unknown): void {
    if (error !== undefined) this.#lastError = describe(error);
    this.#hint = error instanceof PosternError ? error.hint : undefined;
    if (state === this.#state) return;
    this.#state = state;
    this.#since = this.#deps.clock.date();
  }
}

/** Failures that are the same a moment later. */
const lasting: ReadonlySet<ErrorCode> = new Set(["auth", "config", "cancelled"]);
const mostAttempts = 3;
/** A bit less than what a slow open gives the hosts on the way, so that all that are silent are known together. */
const longForAnswer = patience / 2 - 50;
const mostSessions = 8;
/** A session that served in this time is made anew when it dies. */
const inUse = 5 * 60_000;
const spareTime = 60_000;
/** Who loses a session that lived as long connects again at once. */
const longLife = 30_000;
const waits = { first: 250, most: 30_000 };
