import { type Clock, type Conn, unlessAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { PodPort } from "./forward_api.ts";
import type { OpenedForm } from "./forward_forms.ts";
import type { ForwardLimits } from "./forward_limits.ts";
import type { ForwardOpener } from "./forward_opener.ts";
import type { ForwardSession } from "./forward_session.ts";

export interface PodForwardsOptions {
  readonly clock: Clock;
  readonly limits: ForwardLimits;
  readonly pod: Pick<PodPort, "namespace" | "pod">;
  readonly opener: Pick<ForwardOpener, "connect" | "form" | "session" | "single">;
  /** Idle sessions of all pods; the longest idle one is first. */
  readonly idle: Set<ForwardSession>;
  /** Called when no forward and no session is left. */
  readonly onEmpty: () => void;
  /** Called when a session that carries forwards breaks. */
  readonly onBroken: (error: unknown) => void;
}

/**
 * The forwards to one pod. The first forward opens a session that the others share. A second session opens
 * when the first carries many forwards, and further ones when slow readers block the existing sessions.
 */
export class PodForwards implements AsyncDisposable {
  readonly #options: PodForwardsOptions;
  /** Each session with the timer that closes it while it is idle. */
  readonly #sessions = new Map<ForwardSession, Disposable | undefined>();
  #opening: Promise<Conn | undefined> | undefined;
  /** The number of forwards that have, or are about to get, a separate connection. */
  #singles = 0;
  readonly #single = new Set<Conn>();
  #asking = 0;
  #change = Promise.withResolvers<void>();
  /** The error of the last session that broke before it carried a forward. */
  #stillborn: { readonly error: unknown } | undefined;
  #isClosed = false;

  constructor(options: PodForwardsOptions) {
    this.#options = options;
  }

  get sessions(): number {
    return this.#sessions.size + this.#single.size;
  }

  get streams(): number {
    return [...this.#sessions.keys()].reduce((sum, session) => sum + session.streams, this.#single.size);
  }

  async open(port: number, { signal }: { signal: AbortSignal }): Promise<Conn> {
    this.#asking++;
    const before = this.#stillborn;
    try {
      while (true) {
        signal.throwIfAborted();
        if (this.#isClosed) throw new PosternError("cancelled", "The transport was closed");
        const session = this.#choose();
        if (session) return this.#enter(session, port);
        // A server that accepts a session and hangs up at once would do so again on every retry.
        if (this.#stillborn && this.#stillborn !== before) throw this.#stillborn.error;
        const conn = await this.#openFor(port, signal);
        if (conn) return conn;
      }
    } finally {
      this.#asking--;
      this.#tellIfEmpty();
    }
  }

  check(): void {
    for (const session of this.#sessions.keys()) session.check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const conn of this.#single) conn.abort();
    await Promise.all([...this.#sessions.keys()].map((session) => session[Symbol.asyncDispose]()));
    this.#changed();
    await this.#opening?.catch(() => {});
  }

  /** The session for the next forward; undefined if one must be opened or awaited. */
  #choose(): ForwardSession | undefined {
    const { clock, limits } = this.#options;
    const sessions = [...this.#sessions.keys()];
    for (const session of sessions) if (clock.now() - session.openedAt >= limits.age) session.retire();
    const open = sessions.filter(({ takesMore, streams }) => takesMore && streams < limits.streams);
    const free = open.filter(({ isCrowded }) => !isCrowded);
    const [best] = (free.length > 0 ? free : open).sort((a, b) =>
      Number(a.hasBulk) - Number(b.hasBulk) || a.streams - b.streams
    );
    if (!best) return undefined;
    if (best.isCrowded) return sessions.length < limits.sessions + mostCrowded ? undefined : best;
    // Do not wait for it: the additional session serves later forwards.
    const isMore = (best.streams >= many || best.hasBulk) && free.length < limits.sessions;
    if (isMore && !this.#opening) this.#openShared(0).then((conn) => conn?.abort(), () => {});
    return best;
  }

  #enter(session: ForwardSession, port: number): Conn {
    this.#onUsed(session);
    return session.open(port);
  }

  /** Waits until a session may be available, or returns a connection for this forward alone. */
  async #openFor(port: number, signal: AbortSignal): Promise<Conn | undefined> {
    const { limits, opener } = this.#options;
    // Each forward has a separate connection.
    if (opener.form === "v4") {
      if (this.#singles >= limits.connections) return await this.#untilChanged(signal);
      return this.#unlessGivenUp(await this.#openSingle(port), signal);
    }
    if (this.#opening) {
      await unlessAborted(this.#opening, signal);
      return undefined;
    }
    const isThere = [...this.#sessions.keys()].filter(({ takesMore }) => takesMore).length;
    if (isThere >= limits.sessions + mostCrowded) return await this.#untilChanged(signal);
    return this.#unlessGivenUp(await this.#openShared(port), signal);
  }

  #unlessGivenUp(conn: Conn | undefined, signal: AbortSignal): Conn | undefined {
    if (conn && signal.aborted) conn.abort(signal.reason);
    signal.throwIfAborted();
    return conn;
  }

  /** Opens a session for all waiting forwards, or returns a connection for this port alone. */
  async #openShared(port: number): Promise<Conn | undefined> {
    const opening = this.#connect(port);
    this.#opening = opening;
    try {
      return await opening;
    } finally {
      this.#opening = undefined;
      this.#changed();
      this.#tellIfEmpty();
    }
  }

  async #connect(port: number): Promise<Conn | undefined> {
    const { opener, pod } = this.#options;
    const opened = await opener.connect({ ...pod, port });
    if (this.#isClosed) {
      opened.conn.abort();
      return undefined;
    }
    if (opened.form === "v4") return this.#addSingle(opened, port);
    const session: ForwardSession = opener.session(opened, pod, {
      onChange: () => this.#onChange(session),
      onOver: (error, carried) => this.#onOver(session, error, carried),
    });
    this.#sessions.set(session, undefined);
    this.#onChange(session);
    return undefined;
  }

  async #openSingle(port: number): Promise<Conn | undefined> {
    this.#singles++;
    try {
      return await this.#connect(port);
    } finally {
      this.#singles--;
      this.#changed();
    }
  }

  #addSingle(opened: OpenedForm, port: number): Conn {
    this.#singles++;
    const { opener, pod } = this.#options;
    const conn = opener.single(opened, { ...pod, port }, () => {
      this.#singles--;
      this.#single.delete(conn);
      this.#changed();
      this.#tellIfEmpty();
    });
    this.#single.add(conn);
    return conn;
  }

  #onChange(session: ForwardSession): void {
    if (!this.#sessions.has(session)) return;
    const { clock, limits } = this.#options;
    if (session.streams > 0) this.#onUsed(session);
    else if (!this.#sessions.get(session)) {
      this.#sessions.set(session, clock.after(limits.idle, () => session.retire()));
      const { idle } = this.#options;
      idle.add(session);
      if (idle.size > limits.idleSessions) { for (const longest of idle) return longest.retire(); }
    }
    this.#changed();
  }

  #onUsed(session: ForwardSession): void {
    this.#sessions.get(session)?.[Symbol.dispose]();
    this.#sessions.set(session, undefined);
    this.#options.idle.delete(session);
  }

  #onOver(session: ForwardSession, error: unknown, carried: number): void {
    this.#onUsed(session);
    this.#sessions.delete(session);
    if (error !== undefined && session.isUnused) this.#stillborn = { error };
    if (error !== undefined && carried > 0) this.#options.onBroken(error);
    this.#changed();
    this.#tellIfEmpty();
  }

  #changed(): void {
    const change = this.#change;
    this.#change = Promise.withResolvers<void>();
    change.resolve();
  }

  async #untilChanged(signal: AbortSignal): Promise<undefined> {
    await unlessAborted(this.#change.promise, signal);
  }

  #tellIfEmpty(): void {
    if (this.#asking === 0 && !this.#opening && this.#sessions.size === 0 && this.#singles === 0) {
      this.#options.onEmpty();
    }
  }
}

/** The number of forwards in a session that justifies another session. */
const many = 32;
/** Maximum number of additional sessions while slow readers block others. */
const mostCrowded = 6;
