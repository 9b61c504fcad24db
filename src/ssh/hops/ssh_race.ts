import type { Clock, Conn, Deadlines } from "../../core/mod.ts";
import type { Target } from "../../words/mod.ts";
import type { HopSession } from "./ssh_hop.ts";

export interface SshRaceOptions {
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Whether it is known already that the session does not answer. */
  readonly isDoubtful: boolean;
  /** Told when an answer takes long. */
  readonly onSlow: () => void;
  /** Another session, for when the first says nothing. */
  readonly another: () => Promise<HopSession>;
  /** Told that a session leaves a question unanswered, or that it answers. */
  readonly onSilent: (session: HopSession) => void;
  readonly onHeard: (session: HopSession) => void;
}

/**
 * How long an open may go unanswered before a second session is tried beside the first. A server that meanwhile
 * answers a question has read the open too: then it is the target that takes its time, and nobody signs in again.
 */
export const patience = 1000;

/** Opens a connection over a session and, when it stays silent, over another beside it: the first answer counts. */
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
        // A session that died says nothing about the target: another one may still answer.
        if (session.isOver && this.#running > 0) return;
        if (!session.isOver) onHeard(session);
        this.#end();
        this.#result.reject(error);
        if (this.#running > 0) this.#loser.abort(tooLate);
      },
    );
  }

  /** Finds out who does not answer: the server, one on the way to it, or the target. */
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
      // The first may still answer; when it has died meanwhile, this is why there is no other.
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
