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

/**
 * What a hop needs from a session of either engine; only the built-in engine can tell which questions were
 * answered.
 */
export type HopSession = Pick<SshSession, Needed> & Partial<Pick<SshSession, "waiting" | "hasAnsweredSince">>;
type Needed =
  | ("channels" | "connect" | "check" | "ended" | "isOver" | "reason" | "roundTrip")
  | typeof Symbol.asyncDispose;

export interface SshHopOptions {
  readonly host: SshHost;
  /** Connects and signs in. */
  readonly connect: (options: DialOptions) => Promise<HopSession>;
  /** Sends a keepalive to the hosts before this one. */
  readonly checkPath?: () => void;
  readonly deps: { readonly clock: Clock; readonly log: Log };
}

/** The state of a hop in `status`. */
export type SshHopStatus = HopStatus;

/**
 * One ssh host. It connects on first use, and reconnects when a session in use dies. Concurrent dials share
 * one connection attempt. When its sessions are silent or full, the hop adds another one.
 */
export class SshHop implements AsyncDisposable {
  readonly host: SshHost;
  readonly #connect: SshHopOptions["connect"];
  readonly #checkPath: SshHopOptions["checkPath"];
  readonly #deps: SshHopOptions["deps"];
  readonly #tasks: Tasks;
  readonly #deadlines: Deadlines;
  #sessions: HopSession[] = [];
  /** Sessions that have not answered a channel open. */
  readonly #silent = new Set<HopSession>();
  /** How many channels a session had when the server refused another for lack of room. */
  readonly #full = new Map<HopSession, number>();
  #attempt: Promise<HopSession> | undefined;
  #isRebuilding = false;
  /** How many sessions in a row died soon after they were made. */
  #lostSoon = 0;
  #usedAt = -Infinity;
  #connects = 0;
  #state: HopStatus["state"] = "idle";
  #since: Date;
  #lastError: string | undefined;
  #hint: string | undefined;
  #calendar: number;

  constructor({ host, connect, checkPath, deps }: SshHopOptions) {
    this.host = host;
    this.#connect = connect;
    this.#checkPath = checkPath;
    this.#deps = deps;
    this.#deadlines = new Deadlines(deps.clock, { keepsTimers: true });
    this.#since = deps.clock.date();
    this.#calendar = this.#calendarOffset();
    this.#tasks = new Tasks(undefined, (error) => deps.log.debug("ssh.task", { reason: describe(error) }));
  }

  /** The number of connections through this hop. */
  get channels(): number {
    return this.#sessions.reduce((sum, session) => sum + session.channels, 0);
  }

  /**
   * Connects from this host to a target; the host resolves names. If the session dies meanwhile, the hop
   * makes a new one.
   */
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
          onSlow: () => this.#checkPath?.(),
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

  async ready(options: DialOptions): Promise<void> {
    this.#usedAt = this.#deps.clock.now();
    if (!this.#usable()) await this.#connected(options);
  }

  /** Sends a keepalive, after sleep or when the network changed. */
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
      new PosternError("cancelled", `postern closed the session with ${sshLabel(this.host)}`),
    );
    this.#deadlines[Symbol.dispose]();
    await Promise.all(this.#sessions.map((session) => session[Symbol.asyncDispose]()));
    await this.#tasks[Symbol.asyncDispose]();
  }

  /** Returns the session for the next connection: one that answers and has room. */
  #usable(): HopSession | undefined {
    const roomy = this.#sessions.filter((session) =>
      !session.isOver && session.channels < (this.#full.get(session) ?? Infinity)
    );
    return roomy.find((session) => !this.#isDoubtful(session)) ?? roomy[0];
  }

  /**
   * At the session limit, retries a full session that has no connections left: no other session has more
   * room.
   */
  #empty(): HopSession | undefined {
    if (this.#sessions.length < mostSessions) return undefined;
    return this.#sessions.find(({ isOver, channels }) => !isOver && channels === 0);
  }

  /** Whether a session has an unanswered channel open or keepalive. */
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

  /** Shares one attempt between all callers; aborting one caller does not abort the attempt. */
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
   * Reconnects before the next dial. Does not retry when the server rejects the sign-in, and waits longer
   * each time when the server keeps ending sessions early.
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
          // Do not ask the user again after a canceled prompt.
          if (error instanceof PosternError && lasting.has(error.code)) return;
        }
      }
    } finally {
      this.#isRebuilding = false;
    }
  }

  /** Closes additional sessions without connections. */
  async #closeSpares(signal: AbortSignal): Promise<void> {
    while (this.#sessions.length > 1) {
      await pause(this.#deps.clock, spareTime, { signal });
      const serving = this.#usable();
      const idle = this.#sessions.find((session) => session !== serving && session.channels === 0);
      await idle?.[Symbol.asyncDispose]();
    }
  }

  /** After sleep, the wall clock is ahead of the monotonic clock; old sessions may then be dead. */
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

/** Errors that a retry does not fix. */
const lasting: ReadonlySet<ErrorCode> = new Set(["auth", "config", "cancelled"]);
const mostAttempts = 3;
/**
 * How long a keepalive may stay unanswered, in ms. Slightly less than the time that a slow channel open gives
 * the hosts before this one to answer, so that all silent hosts are known when it ends.
 */
const longForAnswer = patience / 2 - 50;
const mostSessions = 8;
/** Reconnect a dead session if it carried a connection within this time, in ms. */
const inUse = 5 * 60_000;
const spareTime = 60_000;
/** After a session that lived this long, in ms, reconnect immediately. */
const longLife = 30_000;
const waits = { first: 250, most: 30_000 };
