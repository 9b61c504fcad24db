import { type Clock, type Conn, pause, ReadRoom, whenAborted, within } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type HeaderField, http2Codes, http2CodeText, type Http2Event, Http2Session } from "../wire/mod.ts";
import { type ExchangeHost, Http2Exchange } from "./http2_exchange.ts";

export interface Http2ConnectionOptions {
  readonly role: "client" | "server";
  readonly clock: Clock;
  /** Called for each request to a server. */
  readonly onRequest?: (exchange: Http2Exchange) => void;
  /** How many bytes the peer may send ahead on one stream (default: 1 MiB). */
  readonly streamWindow?: number;
  /** The same for all streams together (default: four times `streamWindow`). */
  readonly connectionWindow?: number;
  readonly maxStreams?: number;
  readonly maxFields?: number;
}

/**
 * Runs an `Http2Session` over a connection: one loop reads, one writes, and each stream is an
 * `Http2Exchange`.
 */
export class Http2Connection implements AsyncDisposable, ExchangeHost {
  readonly #conn: Conn;
  readonly #clock: Clock;
  readonly #session: Http2Session;
  readonly #onRequest: ((exchange: Http2Exchange) => void) | undefined;
  readonly #exchanges = new Map<number, Http2Exchange>();
  /** Exchanges whose writer waits for room. */
  readonly #writers = new Set<Http2Exchange>();
  readonly #pings = new Map<number, PromiseWithResolvers<void>>();
  readonly #ended = Promise.withResolvers<unknown>();
  #lastPing = 0;
  #heard: number;
  #failure: unknown;
  #isOver = false;
  #writing: Promise<void> | undefined;
  /** Sends the GOAWAY frame; settles when it is written or the write failed. */
  #lastWords: Promise<void> | undefined;
  /** Callers that wait for room in the connection's buffer, or for another stream. */
  #waiting: (() => void)[] = [];

  constructor(conn: Conn, options: Http2ConnectionOptions) {
    const { streamWindow = 1 << 20 } = options;
    this.#conn = conn;
    this.#clock = options.clock;
    this.#heard = options.clock.now();
    this.#onRequest = options.onRequest;
    this.#session = new Http2Session({
      role: options.role,
      streamWindow,
      connectionWindow: options.connectionWindow ?? 4 * streamWindow,
      maxStreams: options.maxStreams ?? 1000,
      maxFields: options.maxFields ?? 64 * 1024,
    });
    this.flush();
    this.#read().then(() => this.#end(undefined), (error) => this.#end(error));
  }

  get peer(): string {
    return this.#conn.peer;
  }

  /**
   * Resolves with the reason when the connection ends; with undefined when the peer closed it normally. Never
   * rejects.
   */
  get ended(): Promise<unknown> {
    return this.#ended.promise;
  }

  /** Whether the connection accepts more streams, now or soon. */
  get isOpen(): boolean {
    return !this.#isOver && this.#session.isOpen;
  }

  get openStreams(): number {
    return this.#exchanges.size;
  }

  /** When the last byte arrived, by the clock. */
  get heard(): number {
    return this.#heard;
  }

  /** Opens a stream with a request; waits while the peer's stream limit is reached. */
  async request(
    fields: readonly HeaderField[],
    { signal, isEnd = false }: { signal: AbortSignal; isEnd?: boolean },
  ): Promise<Http2Exchange> {
    while (!this.#session.hasSettings || !this.#session.canOpen) {
      if (!this.isOpen) throw this.#gone();
      await this.#room(signal);
    }
    signal.throwIfAborted();
    const id = this.#session.open(fields, isEnd);
    const exchange = new Http2Exchange(id, this, { fields: undefined, hasEnded: isEnd });
    this.#exchanges.set(id, exchange);
    this.flush();
    return exchange;
  }

  /** Sends a ping and waits for its answer. */
  async ping({ signal, ms }: { signal: AbortSignal; ms: number }): Promise<void> {
    if (this.#isOver) throw this.#gone();
    const number = this.#lastPing = (this.#lastPing + 1) >>> 0;
    const late = () => new PosternError("timeout", `${this.peer} does not answer a ping`);
    await within({ clock: this.#clock, ms, signal, error: late }, (signal) => {
      // Do not wait for `ended`: its callbacks would pile up until the connection ends.
      const asked = Promise.withResolvers<void>();
      const ear = whenAborted(signal, () => asked.reject(signal.reason));
      this.#pings.set(number, asked);
      this.#session.ping(number);
      this.flush();
      return asked.promise.finally(() => {
        ear[Symbol.dispose]();
        this.#pings.delete(number);
      });
    });
  }

  /**
   * Pings the peer whenever it was silent for `every` ms, or for `later` ms after its first answer. Ends with
   * the connection or the signal. Drops a peer that sends nothing for `deadAfter` ms after a ping, and
   * rejects with that error.
   */
  async keepAlive(
    { every, later = every, deadAfter, signal }: {
      every: number;
      later?: number;
      deadAfter: number;
      signal: AbortSignal;
    },
  ): Promise<void> {
    const over = new AbortController();
    this.ended.then(() => over.abort(isEnded));
    const both = AbortSignal.any([signal, over.signal]);
    try {
      for (let most = every; !both.aborted;) {
        const silence = Math.max(0, this.#clock.now() - this.#heard);
        if (silence < most) {
          await pause(this.#clock, most - silence, { signal: both });
          continue;
        }
        await this.signOfLife({ ms: deadAfter, signal: both });
        most = later;
      }
    } catch (error) {
      if (both.aborted || this.#isOver) return;
      this.abort(error);
      throw error;
    }
  }

  /** Like `ping`, but accepts any byte as the answer: on a slow line, other data may precede the answer. */
  async signOfLife(options: { signal: AbortSignal; ms: number }): Promise<void> {
    const before = this.#heard;
    try {
      await this.ping(options);
    } catch (error) {
      if (options.signal.aborted || this.#isOver || this.#heard === before) throw error;
    }
  }

  /** Opens no more streams, waits for the open ones, and closes the connection. */
  async drain({ signal }: { signal: AbortSignal }): Promise<void> {
    if (!this.#isOver && this.#session.isOpen) {
      this.#session.goAway(http2Codes.noError);
      this.flush();
    }
    while (!this.#isOver && this.#exchanges.size > 0) await this.#room(signal);
    await this[Symbol.asyncDispose]();
  }

  /** Ends everything immediately; pending calls reject with the reason. */
  abort(reason: unknown = new PosternError("cancelled", "The connection was closed")): void {
    this.#end(reason, { isAtOnce: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver && this.#session.isOpen) this.#session.goAway(http2Codes.noError);
    this.flush();
    await this.#flushed(200);
    if (!this.#isOver) this.abort();
    await this.#ended.promise;
    await this.#conn[Symbol.asyncDispose]();
  }

  /** Waits up to `ms` for the last frames to be written. */
  async #flushed(ms: number): Promise<void> {
    const until = this.#lastWords ?? this.#writing;
    if (until) await pause(this.#clock, ms, { until });
  }

  // Called by the exchanges.

  get session(): Http2Session {
    return this.#session;
  }

  /** Whether writers should wait, because much is queued already. */
  get isFull(): boolean {
    return this.#session.pending > mostPending;
  }

  /** Writes the queue at the end of this turn, with everything added until then. */
  flush(): void {
    if (this.#writing || this.#isOver || this.#session.pending === 0) return;
    this.#writing = this.#write();
  }

  tellRoom(exchange: Http2Exchange): void {
    this.#writers.add(exchange);
  }

  forget(exchange: Http2Exchange): void {
    this.#exchanges.delete(exchange.id);
    this.#writers.delete(exchange);
    this.#wake();
  }

  #wakeWriters(): void {
    if (this.#writers.size === 0) return;
    const writers = [...this.#writers];
    this.#writers.clear();
    for (const exchange of writers) exchange.wakeWriter();
  }

  /** Resolves when there may be room again. */
  #room(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const ear = whenAborted(signal, () => reject(signal.reason));
    this.#waiting.push(resolve);
    return promise.finally(() => ear[Symbol.dispose]());
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  async #write(): Promise<void> {
    try {
      await this.#clock.turn();
      while (this.#session.pending > 0 && !this.#isOver) {
        const bytes = this.#session.takeOutput();
        // Waiting writers fill the next write during this one.
        this.#wakeWriters();
        await this.#conn.write(bytes);
        this.#session.sent(bytes);
      }
    } catch (error) {
      this.#end(error);
    } finally {
      this.#writing = undefined;
    }
  }

  async #read(): Promise<void> {
    const room = new ReadRoom(this.#conn);
    try {
      while (!this.#isOver) {
        const bytes = await room.read();
        if (bytes === null) return;
        this.#heard = this.#clock.now();
        try {
          for (const event of this.#session.receive(bytes, this.#heard)) this.#take(event);
        } finally {
          this.flush();
        }
        // Our responses must not pile up when the peer does not read them.
        while (this.#session.pending > mostAnswers && this.#writing) await this.#writing;
      }
    } finally {
      room.free();
    }
  }

  #take(event: Http2Event): void {
    switch (event.type) {
      case "fields":
        if (event.kind === "request") return this.#begin(event.stream, event.fields);
        return this.#exchanges.get(event.stream)?.takeFields(event.fields, event.kind);
      case "data": {
        const exchange = this.#exchanges.get(event.stream);
        if (exchange) return exchange.takeData(event.bytes);
        return this.#session.consumed(event.stream, event.bytes.length);
      }
      case "end":
        return this.#exchanges.get(event.stream)?.takeEnd();
      case "reset": {
        const what = event.because ?? http2CodeText(event.code);
        return this.#exchanges.get(event.stream)?.takeReset(event.code, what);
      }
      case "writable":
        if (event.stream !== undefined) return this.#exchanges.get(event.stream)?.wakeWriter();
        return this.#wakeWriters();
      case "pong":
        return this.#pings.get(event.number)?.resolve();
      case "goAway":
      case "settings":
        return this.#wake();
    }
  }

  #begin(id: number, fields: readonly HeaderField[]): void {
    const exchange = new Http2Exchange(id, this, { fields, hasEnded: false });
    this.#exchanges.set(id, exchange);
    if (this.#onRequest) this.#onRequest(exchange);
    else exchange.reset(undefined, http2Codes.refusedStream);
  }

  #end(reason: unknown, { isAtOnce = false } = {}): void {
    if (this.#isOver) return;
    this.#failure = reason;
    this.#isOver = true;
    if (isAtOnce) this.#conn.abort(reason);
    else this.#sayLast();
    const failure = this.#gone();
    for (const exchange of [...this.#exchanges.values()]) exchange.takeFailure(failure);
    this.#exchanges.clear();
    this.#writers.clear();
    for (const { reject } of this.#pings.values()) reject(failure);
    this.#pings.clear();
    this.#wake();
    this.#ended.resolve(reason);
  }

  /** Sends the peer an error before the connection closes; no caller waits for that. */
  #sayLast(): void {
    const drop = () => this.#conn.abort(this.#failure ?? isEnded);
    const timer = this.#clock.after(1000, drop);
    const last = this.#session.takeOutput();
    const said = Promise.resolve(this.#writing)
      .then(() => last.length > 0 ? this.#conn.write(last) : undefined);
    this.#lastWords = said.catch(() => {});
    said
      .then(() => this.#conn.closeWrite())
      // With unread data from the peer, the system would discard what we sent.
      .then(() => this.#discard())
      .then(drop, drop)
      .finally(() => timer[Symbol.dispose]());
  }

  async #discard(): Promise<void> {
    const into = new Uint8Array(4096);
    while (await this.#conn.read(into) !== null);
  }

  #gone(): PosternError {
    if (this.#failure instanceof PosternError) return this.#failure;
    return new PosternError("unreachable", `The connection to ${this.peer} has ended`, {
      ...this.#failure !== undefined && { cause: this.#failure },
    });
  }
}

/** Shared: creating an error for each of many short connections is a notable part of their cost. */
const isEnded = new DOMException("The connection has ended", "AbortError");
/** Fits, together with the last addition, into the largest pooled buffer. */
const mostPending = 160 * 1024;
const mostAnswers = 1 << 20;
