import { bufferSizes, type Bytes, giveBuffer, takeAtMost, takeBuffer } from "../core/mod.ts";
import { type ErrorCode, PosternError } from "../words/mod.ts";
import {
  grpcCodes,
  type GrpcStatus,
  grpcStatus,
  grpcTrailers,
  type HeaderField,
  messageHeadSize,
  readMessageHead,
  writeMessageHead,
} from "../wire/mod.ts";
import type { Http2Exchange } from "./http2_exchange.ts";

/** The messages of one gRPC call, for client and server. */
export class GrpcStream {
  readonly exchange: Http2Exchange;
  readonly #mostBytes: number;
  /** `none` between two messages. */
  #buffer: Bytes = none;
  #start = 0;
  #end = 0;

  /** `mostBytes` limits the size of a received message. */
  constructor(exchange: Http2Exchange, { mostBytes = 4 << 20 }: { mostBytes?: number } = {}) {
    this.exchange = exchange;
    this.#mostBytes = mostBytes;
  }

  /**
   * Sends one message. The first five bytes of `frame` are reserved for its header; `rest` follows `frame`.
   */
  send(frame: Bytes, rest: Bytes = none): Promise<void> {
    writeMessageHead(frame, rest.length);
    return this.exchange.write(rest, { before: frame });
  }

  /**
   * Returns the next message, valid until the next call; undefined at the peer's end. Rejects with `protocol`
   * for a message that is too large or compressed.
   */
  async receive(): Promise<Bytes | undefined> {
    if (!await this.#fill(messageHeadSize)) {
      if (this.#end > this.#start) {
        throw new PosternError("protocol", `${this.exchange.peer} ended within a message`);
      }
      return undefined;
    }
    const { isPlain, length } = readMessageHead(this.#buffer, this.#start);
    if (!isPlain) throw new PosternError("protocol", `${this.exchange.peer} sent a compressed message`);
    if (length > this.#mostBytes) {
      throw new PosternError("protocol", `${this.exchange.peer} sent a message of ${length} bytes`, {
        detail: "too_large",
      });
    }
    if (!await this.#fill(messageHeadSize + length)) {
      throw new PosternError("protocol", `${this.exchange.peer} ended within a message`);
    }
    const message = this.#buffer.subarray(
      this.#start + messageHeadSize,
      this.#start + messageHeadSize + length,
    );
    this.#start += messageHeadSize + length;
    return message;
  }

  /** Returns how the peer ended the call, after `receive()` returned undefined. */
  async status(): Promise<GrpcStatus> {
    const status = grpcStatus(this.exchange.trailers) ?? grpcStatus(await this.exchange.answer);
    return status ?? { code: grpcCodes.unknown, message: "the call ended without a status" };
  }

  /** Ends a call on the server side. */
  end(status: GrpcStatus = { code: grpcCodes.ok, message: "" }): void {
    this.exchange.end(grpcTrailers(status));
  }

  /** Waits for `count` bytes; false at the end. */
  async #fill(count: number): Promise<boolean> {
    while (this.#end - this.#start < count) {
      if (this.#end === this.#start) {
        this.#free();
        await this.exchange.whenReadable();
      }
      this.#makeRoom(count);
      const read = await this.exchange.read(this.#buffer.subarray(this.#end));
      if (read === null) {
        if (this.#end === this.#start) this.#free();
        return false;
      }
      this.#end += read;
    }
    return true;
  }

  #makeRoom(count: number): void {
    const held = this.#end - this.#start;
    const needed = Math.max(count, held + 1);
    if (this.#start + needed <= this.#buffer.length && this.#end < this.#buffer.length) return;
    // Read everything that has arrived, up to a limit.
    const wanted = Math.max(needed, Math.min(held + this.exchange.waiting, bufferSizes.large));
    const size = Object.values(bufferSizes).find((size) => size >= wanted) ?? needed * 2;
    const next = needed <= bufferSizes.medium ? takeAtMost(size) : takeBuffer(size);
    next.set(this.#buffer.subarray(this.#start, this.#end));
    giveBuffer(this.#buffer);
    this.#buffer = next;
    this.#start = 0;
    this.#end = held;
  }

  #free(): void {
    giveBuffer(this.#buffer);
    this.#buffer = none;
    this.#start = this.#end = 0;
  }
}

const none: Bytes = new Uint8Array(0);

/** The response headers that start a gRPC call's messages. */
export function grpcAnswer(metadata: readonly HeaderField[] = []): HeaderField[] {
  return [[":status", "200"], ["content-type", "application/grpc"], ...metadata];
}

/** The response headers that end a call before any message. */
export function grpcRefusal(status: GrpcStatus): HeaderField[] {
  return [...grpcAnswer(), ...grpcTrailers(status)];
}

/** Turns a status into an error. */
export function grpcError({ code, message }: GrpcStatus, peer: string): PosternError {
  return new PosternError(
    errorCodes.get(code) ?? "protocol",
    `${peer} ended the call: ${message || `status ${code}`}`,
    {
      ...code === grpcCodes.resourceExhausted && { detail: "too_large" as const },
    },
  );
}

const errorCodes = new Map<number, ErrorCode>([
  [grpcCodes.unavailable, "unreachable"],
  [grpcCodes.deadlineExceeded, "timeout"],
  [grpcCodes.unauthenticated, "auth"],
  [grpcCodes.permissionDenied, "auth"],
]);
