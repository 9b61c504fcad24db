import { type Conn, joinBytes, type Messages } from "../../core/mod.ts";
import { isPosternError, PosternError } from "../../words/mod.ts";
import {
  encodeChunk,
  encodeLastChunk,
  encodeRequestHead,
  encodeResponseHead,
  type Framing,
  Http1Problem,
  isPersistent,
  type RequestHead,
  responseFraming,
  type ResponseHead,
} from "../../wire/mod.ts";
import { copyBody, readFinalHead } from "../../http/mod.ts";
import { responseHead } from "./head_room.ts";
import {
  framingFor,
  interimFields,
  passedTrailers,
  type Receiver,
  requestFields,
  responseFields,
  upgradeOf,
} from "./http_forwarding.ts";
import type { Origin } from "./http_origin.ts";
import { headLimits, type ListenerDeps } from "../listener.ts";

/** A request that was read and will be forwarded. */
export interface ForwardedRequest {
  readonly head: RequestHead;
  readonly framing: Framing;
  /** The value of the Host field. */
  readonly authority: string;
  /** The request target for the origin. */
  readonly path: string;
  /** Whether the client's connection may carry another request. */
  readonly keeps: boolean;
}

export interface ExchangeParts {
  readonly origin: Origin;
  readonly request: ForwardedRequest;
  readonly deps: ListenerDeps;
}

/** The outcome of an exchange. */
export type ExchangeEnd =
  | { readonly kind: "answered"; readonly keepsClient: boolean; readonly keepsOrigin: boolean }
  /** `reply` is the head of the 101 response, not sent yet. */
  | { readonly kind: "upgraded"; readonly reply: Uint8Array<ArrayBuffer> }
  /** No final response has started, so an error response is still possible. */
  | { readonly kind: "unanswered"; readonly error: unknown; readonly mayRepeat: boolean }
  /** A response has started and stays incomplete. */
  | { readonly kind: "broken"; readonly outcome: "client_gone" | "target_gone"; readonly error: unknown };

/** Idempotent methods, which may be sent twice (RFC 9110, section 9.2.2). */
const repeatable: readonly string[] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

/** A body below this size goes out with the head in one write. */
const smallBody = 16 * 1024;

/** How many bytes to read ahead from the client before its answer. */
const mostAhead = 16 * 1024;

/** One request to an origin and its response; both bodies stream, each with its own backpressure. */
export class Exchange {
  readonly #client: Conn;
  readonly #messages: Messages;
  readonly #origin: Origin;
  readonly #request: ForwardedRequest;
  readonly #deps: ListenerDeps;
  readonly #upgrade: string | undefined;
  /** Set once the client's body is completely read. */
  #isRead: boolean;
  #clientError: unknown;
  #originWriteError: unknown;
  #hasClientEnded = false;
  /** Set while writing to the client, which may be slow. */
  #isHandingOn = false;
  #isOver = false;
  #linger: Disposable | undefined;
  /** Resolves when nothing reads the client's body anymore; never rejects. */
  uploaded: Promise<void> = Promise.resolve();

  constructor(client: Conn, messages: Messages, { origin, request, deps }: ExchangeParts) {
    this.#client = client;
    this.#messages = messages;
    this.#origin = origin;
    this.#request = request;
    this.#deps = deps;
    this.#upgrade = upgradeOf(request.head, request.framing);
    this.#isRead = request.framing.kind === "none";
  }

  async run(): Promise<ExchangeEnd> {
    // No read may be pending on a dropped client, so `onAbort` reports it.
    if ("onAbort" in this.#client) this.#client.onAbort = (reason) => this.#loseClient(reason);
    this.uploaded = this.#upload().then(() => void this.#watchClient());
    try {
      return await this.#answer();
    } finally {
      this.#isOver = true;
      if ("onAbort" in this.#client) this.#client.onAbort = undefined;
      this.#linger?.[Symbol.dispose]();
    }
  }

  async #answer(): Promise<ExchangeEnd> {
    let head: ResponseHead;
    let framing: Framing;
    try {
      const { authority: from, head: { method } } = this.#request;
      head = await readFinalHead(this.#origin.messages, {
        from,
        onInterim: this.#passInterim,
        decoder: () => responseHead(headLimits(this.#deps.limits)),
      });
      this.#demandPassable(head);
      framing = responseFraming(head, method);
    } catch (error) {
      return this.#unanswered(error);
    }
    if (head.status === 101) {
      return {
        kind: "upgraded",
        reply: encodeResponseHead({ ...head, version: "1.1", fields: interimFields(head) }),
      };
    }
    return await this.#passOn(head, framing);
  }

  #unanswered(failure: unknown): ExchangeEnd {
    const { isEnded, pending } = this.#origin.messages;
    const hasOnlyClosed = isEnded && pending.length === 0 && !(failure instanceof Http1Problem);
    // The failed write explains more than the closed connection.
    const error = (hasOnlyClosed ? this.#originWriteError : undefined) ?? failure;
    return { kind: "unanswered", error: this.#clientError ?? error, mayRepeat: this.#mayRepeat(error) };
  }

  /**
   * Whether the origin closed an idle connection just as this request was sent, so that it may be repeated.
   */
  #mayRepeat(error: unknown): boolean {
    const { head, framing } = this.#request;
    if (!this.#origin.isReused || this.#clientError !== undefined || error instanceof Http1Problem) {
      return false;
    }
    // A request that we canceled must not be repeated.
    if (isPosternError(error, "cancelled")) return false;
    return framing.kind === "none" && repeatable.includes(head.method);
  }

  async #upload(): Promise<void> {
    const { head, framing, path: target, authority } = this.#request;
    const isChunked = framing.kind === "chunked";
    let left = framing.kind === "length" ? framing.length : Infinity;
    try {
      const fields = requestFields(head, { authority, framing, upgrade: this.#upgrade });
      await this.#send(encodeRequestHead({ method: head.method, target, fields }));
      if (framing.kind === "none") return;
      const trailers = await copyBody(this.#messages, framing, (bytes) => {
        left -= bytes.length;
        if (left === 0) this.#isRead = true;
        return this.#send(isChunked ? encodeChunk(bytes) : bytes);
      });
      this.#isRead = true;
      if (isChunked) await this.#send(encodeLastChunk(passedTrailers(trailers)));
    } catch (error) {
      // The origin must not mistake half a request for a complete one.
      this.#clientError =
        error instanceof PosternError && !(error instanceof Http1Problem) && error.code === "protocol"
          ? new Http1Problem(400, error.message, { cause: error })
          : error;
      this.#origin.finish("client_gone", error);
    }
  }

  /**
   * Reads ahead so that a client that leaves does not keep the origin busy. After an upgrade, the relay
   * continues the pending read.
   */
  async #watchClient(): Promise<void> {
    const messages = this.#messages;
    try {
      while (!this.#isOver && this.#clientError === undefined && messages.pending.length < mostAhead) {
        if (await messages.fill()) continue;
        this.#hasClientEnded = true;
        return this.#limitSilence();
      }
    } catch (error) {
      if (!this.#isOver) this.#loseClient(error);
    }
  }

  /**
   * A client that closed its side may have left or may wait for the answer. It gets the answer while the
   * target keeps sending.
   */
  #limitSilence(): void {
    this.#linger?.[Symbol.dispose]();
    if (!this.#hasClientEnded || this.#isHandingOn || this.#isOver) return;
    const { deadlines, limits } = this.#deps;
    this.#linger = deadlines.add(limits.halfCloseLinger, () => {
      this.#loseClient(
        new PosternError("timeout", "The client closed its side and the target sent nothing more"),
      );
    });
  }

  #loseClient(error: unknown): void {
    this.#clientError = error;
    this.#origin.finish("client_gone", error);
  }

  /** An origin that stops reading may have answered already, so the rest of the body is read and dropped. */
  async #send(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#originWriteError !== undefined) return;
    try {
      await this.#origin.write(bytes);
    } catch (error) {
      this.#originWriteError = error;
    }
  }

  readonly #passInterim = async (head: ResponseHead): Promise<void> => {
    if (this.#request.head.version === "1.0") return;
    await this.#toClient(encodeResponseHead({ ...head, version: "1.1", fields: interimFields(head) }));
  };

  #demandPassable({ status }: ResponseHead): void {
    if (status === 101 && this.#upgrade === undefined) {
      throw this.#impassable("it switches to a protocol that was not requested");
    }
    if (status === 407) {
      throw this.#impassable("it has status 407, which only a proxy may send", {
        hint: "set the upstream proxy's password in the transport, not in the client",
      });
    }
  }

  #impassable(reason: string, options: { readonly hint?: string } = {}): Http1Problem {
    const { authority } = this.#request;
    return new Http1Problem(502, `Cannot forward the response of ${authority}`, { reason, ...options });
  }

  async #passOn(head: ResponseHead, framing: Framing): Promise<ExchangeEnd> {
    const { method, version } = this.#request.head;
    let outcome: "client_gone" | "target_gone" = "target_gone";
    /** The head until it is sent. */
    let first: Uint8Array<ArrayBuffer> | undefined;
    try {
      // The request body is still arriving, so the response announces the close.
      let receiver: Receiver = { method, version, keeps: this.#request.keeps && this.#isRead };
      const toClient = framingFor(receiver, framing);
      if (toClient.kind === "close") receiver = { ...receiver, keeps: false };
      const fields = responseFields(head, receiver, toClient);
      first = encodeResponseHead({ ...head, version: "1.1", fields });
      const write = async (bytes: Uint8Array<ArrayBuffer>) => {
        const whole = first && bytes.length <= smallBody ? joinBytes([first, bytes]) : bytes;
        outcome = "client_gone";
        if (first && whole === bytes) await this.#toClient(first);
        first = undefined;
        await this.#toClient(whole);
        outcome = "target_gone";
      };
      const isChunked = toClient.kind === "chunked";
      if (framing.kind === "none" || this.#origin.messages.pending.length === 0) await write(none);
      const trailers = await copyBody(
        this.#origin.messages,
        framing,
        (bytes) => write(isChunked ? encodeChunk(bytes) : bytes),
        { from: this.#request.authority },
      );
      if (isChunked) await write(encodeLastChunk(passedTrailers(trailers)));
      else if (first) await write(none);
      const keepsOrigin = framing.kind !== "close" && isPersistent(head) &&
        this.#originWriteError === undefined;
      return { kind: "answered", keepsClient: receiver.keeps, keepsOrigin };
    } catch (error) {
      if (first && outcome === "target_gone") {
        return { kind: "unanswered", error: this.#clientError ?? error, mayRepeat: false };
      }
      if (this.#clientError === undefined) return { kind: "broken", outcome, error };
      return { kind: "broken", outcome: "client_gone", error: this.#clientError };
    }
  }

  async #toClient(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (bytes.length === 0) return;
    this.#isHandingOn = true;
    this.#linger?.[Symbol.dispose]();
    await this.#client.write(bytes);
    this.#isHandingOn = false;
    this.#origin.dialed.tally.down += bytes.length;
    if (this.#hasClientEnded) this.#limitSilence();
  }
}

const none = new Uint8Array();
