import type { Clock, Conn, Deadlines } from "../../core/mod.ts";
import type { Target } from "../../words/mod.ts";
import type { HopSession } from "./ssh_hop.ts";

export interface SshRaceOptions {
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Whether the session is known not to answer. */
  readonly isDoubtful: boolean;
  /** Called when an answer takes long. */
  readonly onSlow: () => void;
  /** Makes another session, for when the first one is silent. */
  readonly another: () => Promise<HopSession>;
  /** Called when a session leaves a keepalive unanswered, or answers again. */
  readonly onSilent: (session: HopSession) => void;
  readonly onHeard: (session: HopSession) => void;
}

/**
 * Milliseconds before an unanswered channel open is also tried on a second session. If the server answers a
 * keepalive in that time, it has read the open as well: then the target is slow, and a second sign-in would
 * not help.
 */
export const patience = 1000;

/**
 * Opens a connection over a session and, if the session stays silent, also over a second one; the first
 * answer wins.
 */
export function openFirst(session: HopSession, options: SshRaceOptions): Promise<Conn> {
  return new Race(options).run(session);
}

class Race {
  readonly #options: SshRaceOptions;
  readonly #result = Promise.withResolvers<Conn>();
  readonly #loser = new AbortController();
  #running = 0;
  #isOver = false;
  #slow: Disposable | undefined;

  constructor(options: SshRaceOptions) {
    this.#options = options;
  }

  run(session: HopSession): Promise<Conn> {
    const { signal, clock, deadlines, isDoubtful } = this.#options;
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener("abort", this.#cancel, { once: true });
    this.#start(session);
    if (isDoubtful) void this.#tryAnother(session);
    else {
      const startedAt = clock.now();
      this.#slow = deadlines.add(patience / 2, () => this.#ask(session, startedAt));
    }
    return this.#result.promise;
  }

  readonly #cancel = (): void => {
    const { reason } = this.#options.signal;
    this.#end();
    this.#result.reject(reason);
    this.#loser.abort(reason);
  };

  #start(session: HopSession): void {
    const { target, onHeard } = this.#options;
    this.#running++;
    session.connect(target, { signal: this.#loser.signal }).then(
      (conn) => {
        onHeard(session);
        if (this.#isOver) return conn.abort();
        this.#end();
        this.#result.resolve(conn);
        if (--this.#running > 0) this.#loser.abort(tooLate);
      },
      (error) => {
        this.#running--;
        if (this.#isOver) return;
        // A dead session says nothing about the target: another session may still answer.
        if (session.isOver && this.#running > 0) return;
        if (!session.isOver) onHeard(session);
        this.#end();
        this.#result.reject(error);
        if (this.#running > 0) this.#loser.abort(tooLate);
      },
    );
  }

  /** Finds out what is slow: the server, a host before it, or the target. */
  #ask(session: HopSession, startedAt: number): void {
    const { deadlines, onSlow } = this.#options;
    if (!session.waiting) {
      session.check();
      onSlow();
    }
    this.#slow = deadlines.add(patience / 2, () => {
      if (!session.hasAnsweredSince?.(startedAt)) void this.#tryAnother(session);
    });
  }

  async #tryAnother(first: HopSession): Promise<void> {
    const { another, onSilent } = this.#options;
    onSilent(first);
    this.#running++;
    try {
      const second = await another();
      if (!this.#isOver) this.#start(second);
    } catch (error) {
      // The first session may still answer. If it died meanwhile, report why there is no second one.
      if (!this.#isOver && this.#running === 1) {
        this.#end();
        this.#result.reject(error);
      }
    } finally {
      this.#running--;
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#slow?.[Symbol.dispose]();
    this.#options.signal.removeEventListener("abort", this.#cancel);
  }
}

const tooLate = new Error("another session was faster");
