import { type Clock, whenAborted } from "../core/mod.ts";
import type { HttpConnection } from "./http_connection.ts";

export interface HttpPoolParts {
  readonly clock: Clock;
  /**
   * The maximum number of concurrent requests, not counting watches and upgraded connections (default: 4).
   */
  readonly most?: number | undefined;
}

const usualRequests = 4;
/** The share of connections to keep when idle. */
const idleShare = 0.5;
/** How long an idle connection is kept, in ms: less than servers and load balancers keep it. */
const idleFor = 30_000;

interface Idle {
  readonly connection: HttpConnection;
  readonly timer: Disposable;
}

/** The idle connections to one server, and the queue for new requests. */
export class HttpPool implements AsyncDisposable {
  readonly #parts: HttpPoolParts;
  readonly #idle: Idle[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #closing = new Set<Promise<void>>();
  #requests = 0;
  #isClosed = false;

  constructor(parts: HttpPoolParts) {
    this.#parts = parts;
  }

  get #most(): number {
    return this.#parts.most ?? usualRequests;
  }

  get idle(): number {
    return this.#idle.length;
  }

  /** Waits until a request may start; disposing the result lets the next one start. */
  async place({ signal }: { readonly signal: AbortSignal }): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#requests >= this.#most) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      using _stop = whenAborted(signal, () => {
        const at = this.#waiting.indexOf(resolve);
        // A request that may already start passes its turn on when it is disposed.
        if (at >= 0) this.#waiting.splice(at, 1);
        if (at >= 0) reject(signal.reason);
      });
      await promise;
    } else this.#requests++;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        const next = this.#waiting.shift();
        if (next) next();
        else this.#requests--;
      },
    };
  }

  /** Returns an idle connection with this key; opens a new one when there is none or `isFresh` is set. */
  async take(
    key: string,
    open: () => Promise<HttpConnection>,
    { isFresh = false }: { readonly isFresh?: boolean } = {},
  ): Promise<HttpConnection> {
    while (!isFresh) {
      const idle = this.#idle.pop();
      if (!idle) break;
      idle.timer[Symbol.dispose]();
      if (idle.connection.key === key) return idle.connection;
      this.#close(idle.connection);
    }
    return await open();
  }

  /** Returns a reusable connection to the pool. */
  giveBack(connection: HttpConnection): void {
    if (this.#isClosed || this.#idle.length >= this.#most * idleShare) return this.#close(connection);
    const drop = () => {
      const at = this.#idle.findIndex((idle) => idle.connection === connection);
      if (at < 0) return;
      this.#idle.splice(at, 1)[0]?.timer[Symbol.dispose]();
      this.#close(connection);
    };
    this.#idle.push({ connection, timer: this.#parts.clock.after(idleFor, drop) });
    connection.ended().then(drop);
  }

  /** Closes idle connections, after a rejected sign-in or a network change. */
  clear(): void {
    for (const { connection, timer } of this.#idle.splice(0)) {
      timer[Symbol.dispose]();
      this.#close(connection);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.clear();
    await Promise.all(this.#closing);
  }

  #close(connection: HttpConnection): void {
    const closing = connection[Symbol.asyncDispose]().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}
