import { type Clock, whenAborted } from "../core/mod.ts";
import type { HttpConnection } from "./http_connection.ts";

export interface HttpPoolParts {
  readonly clock: Clock;
  /** How many requests may run at once; a watch and what was upgraded do not count. 4 unless told. */
  readonly most?: number | undefined;
}

const usualRequests = 4;
/** Of those that may be in use, so many stay when they are not. */
const idleShare = 0.5;
/** How long a connection waits for the next request, in ms: less than servers and what stands before them do. */
const idleFor = 30_000;

interface Idle {
  readonly connection: HttpConnection;
  readonly timer: Disposable;
}

/** The connections to one server that are kept for the next request, and who waits for one. */
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

  /** Waits for a place among the requests; disposing gives it back. */
  async place({ signal }: { readonly signal: AbortSignal }): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#requests >= this.#most) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      using _stop = whenAborted(signal, () => {
        const at = this.#waiting.indexOf(resolve);
        // One that has its turn already hands it on by being disposed.
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

  /** An idle connection with this key; a new one where there is none, or where it must be fresh. */
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

  /** Takes back a connection that may carry another request. */
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

  /** Drops what waits: after a refused sign-in, or when the network has changed. */
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
