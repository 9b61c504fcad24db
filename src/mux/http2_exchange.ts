import { type Bytes, Inbox, whenAborted } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type HeaderField, http2Codes, type Http2Session } from "../wire/mod.ts";

/** The parts of the connection that an exchange uses. */
export interface ExchangeHost {
  readonly session: Http2Session;
  readonly isFull: boolean;
  readonly peer: string;
  flush(): void;
  /** Wakes this exchange's writer when there may be room for more. */
  tellRoom(exchange: Http2Exchange): void;
  forget(exchange: Http2Exchange): void;
}

/**
 * One stream of an HTTP/2 connection: a request, its response, and data in both directions with separate
 * ends.
 */
export class Http2Exchange {
  readonly id: number;
  /** The request, on the server side. */
  readonly requestFields: readonly HeaderField[];
  readonly #host: ExchangeHost;
  readonly #inbox = new Inbox((count) => this.#used(count));
  readonly #answer = Promise.withResolvers<readonly HeaderField[]>();
  readonly #over = Promise.withResolvers<void>();
  #answerFields: readonly HeaderField[] | undefined;
  #trailers: readonly HeaderField[] = [];
  #wakeWriter: (() => void) | undefined;
  #hasEnded: boolean;
  #failure: unknown;
  #isForgotten = false;
  #isRefused = false;

  constructor(
    id: number,
    host: ExchangeHost,
    { fields, hasEnded }: { fields: readonly HeaderField[] | undefined; hasEnded: boolean },
  ) {
    this.id = id;
    this.#host = host;
    this.requestFields = fields ?? [];
    this.#hasEnded = hasEnded;
    // A caller that never awaits the answer gets the failure elsewhere.
    this.#answer.promise.catch(() => {});
  }

  get peer(): string {
    return this.#host.peer;
  }

  /** The header fields of the response, on the client side. */
  get answer(): Promise<readonly HeaderField[]> {
    return this.#answer.promise;
  }

  /** The header fields of the response, if they have arrived. */
  get answerFields(): readonly HeaderField[] | undefined {
    return this.#answerFields;
  }

  /** The fields after the data; complete after `read()` returned null. */
  get trailers(): readonly HeaderField[] {
    return this.#trailers;
  }

  /** Whether the stream has ended, normally or not. */
  get isOver(): boolean {
    return this.#isForgotten;
  }

  /** Whether the peer ended the stream without processing it, so that the request may be repeated. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Resolves when the stream ends, normally or not. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  respond(fields: readonly HeaderField[], { isEnd = false }: { isEnd?: boolean } = {}): void {
    this.#throwIfFailed();
    this.#host.session.sendFields(this.id, fields, isEnd);
    if (isEnd) this.#weEnd();
    this.#host.flush();
  }

  /** Fills the front of `into`; null at the peer's end. One reader at a time. */
  read(into: Bytes): Promise<number | null> {
    return this.#inbox.read(into);
  }

  /** The number of received bytes that were not read yet. */
  get waiting(): number {
    return this.#inbox.length;
  }

  /** Resolves when a read would not wait. */
  whenReadable(): Promise<void> {
    return this.#inbox.whenReadable();
  }

  /** Sends `before` and all of `bytes`, as fast as the peer accepts them. One writer at a time. */
  async write(
    bytes: Bytes,
    { isEnd = false, before = none }: { isEnd?: boolean; before?: Bytes } = {},
  ): Promise<void> {
    const all = before.length + bytes.length;
    let at = 0;
    while (true) {
      this.#throwIfFailed();
      if (this.#hasEnded) throw new PosternError("internal", "Cannot write after the end of a stream");
      if (!this.#host.isFull) {
        const rest = at < before.length ? bytes : bytes.subarray(at - before.length);
        at += this.#host.session.sendData(this.id, rest, isEnd, before.subarray(at));
        this.#host.flush();
        if (at === all) break;
      }
      await this.#room();
    }
    if (isEnd) this.#weEnd();
    // A large write waits until its data is sent.
    if (this.#host.isFull) await this.#room();
  }

  /** Ends our direction. */
  end(trailers?: readonly HeaderField[]): void {
    if (this.#hasEnded || this.#failure !== undefined) return;
    if (trailers) this.#host.session.sendFields(this.id, trailers, true);
    else this.#host.session.sendData(this.id, none, true);
    this.#weEnd();
    this.#host.flush();
  }

  /** Ends both directions immediately. */
  reset(reason?: unknown, code: number = http2Codes.cancel): void {
    if (this.#isForgotten) return;
    this.#host.session.reset(this.id, code);
    this.#host.flush();
    this.takeFailure(reason ?? new PosternError("cancelled", "The stream was ended"));
  }

  /** Ends both directions when the signal aborts. */
  resetWhen(signal: AbortSignal): Disposable {
    return whenAborted(signal, () => this.reset(signal.reason));
  }

  // Called by the connection.

  takeFields(fields: readonly HeaderField[], kind: "response" | "trailers"): void {
    if (kind === "response") {
      this.#answerFields = fields;
      this.#answer.resolve(fields);
    } else this.#trailers = fields;
  }

  takeData(bytes: Bytes): void {
    this.#inbox.put(bytes);
  }

  takeEnd(): void {
    this.#inbox.end();
    this.#answer.reject(new PosternError("protocol", `${this.peer} ended a stream without a response`));
    this.#forgetIfDone();
  }

  takeReset(code: number, what: string): void {
    // A server may send its whole response and then reject the rest of our data; the response is valid (RFC
    // 9113, section 8.1).
    const isDone = code === http2Codes.noError && this.#inbox.hasEnded;
    this.#isRefused = code === http2Codes.refusedStream;
    const why = new PosternError(
      this.#isRefused ? "unreachable" : "protocol",
      `${this.peer} ended the stream: ${what}`,
      {
        ...!isDone && { detail: "reset" as const },
      },
    );
    this.#fail(why, { isReadWhole: isDone });
  }

  takeFailure(why: unknown): void {
    this.#fail(why, { isReadWhole: false });
  }

  wakeWriter(): void {
    const wake = this.#wakeWriter;
    this.#wakeWriter = undefined;
    wake?.();
  }

  #fail(why: unknown, { isReadWhole }: { readonly isReadWhole: boolean }): void {
    if (this.#isForgotten) return;
    this.#failure ??= why;
    this.#answer.reject(why);
    if (!isReadWhole) this.#inbox.fail(why);
    this.wakeWriter();
    this.#forget();
  }

  #room(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakeWriter = resolve;
    this.#host.tellRoom(this);
    return promise;
  }

  #weEnd(): void {
    this.#hasEnded = true;
    // The connection no longer wakes the writer of a removed stream.
    this.wakeWriter();
    this.#forgetIfDone();
  }

  #forgetIfDone(): void {
    if (this.#hasEnded && this.#inbox.hasEnded) this.#forget();
  }

  #forget(): void {
    if (this.#isForgotten) return;
    // Unread data must not reduce the window of the other streams.
    this.#used(this.#inbox.length);
    this.#isForgotten = true;
    this.#host.forget(this);
    this.#over.resolve();
  }

  #used(count: number): void {
    if (this.#isForgotten) return;
    this.#host.session.consumed(this.id, count);
    this.#host.flush();
  }

  #throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

const none: Bytes = new Uint8Array(0);
