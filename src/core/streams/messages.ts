import type { Conn } from "./conn.ts";
import { ContinuedConn } from "./continued_conn.ts";
import { PosternError } from "../../words/mod.ts";

/**
 * Returns a decoded message and its size; undefined when bytes are missing. Throws `protocol` for malformed
 * bytes.
 */
export type Decode<T> = (bytes: Uint8Array<ArrayBuffer>) => { value: T; used: number } | undefined;

export interface MessagesOptions {
  /** The maximum size of a message (default: 64 KiB). */
  readonly limit?: number;
  /** The first size of the buffer, in bytes. */
  readonly initial?: number;
}

const nothing = new Uint8Array();
const usual = 512;
/** The maximum size of the buffer for a body, which needs no complete message. */
const mostRead = 64 * 1024;
/** A pool of first buffers: most requests fit into one, and none outlives its request. */
const spare: Uint8Array<ArrayBuffer>[] = [];
const mostSpare = 256;

/** Reads complete messages from a connection and keeps extra bytes for the next reader. */
export class Messages {
  readonly #conn: Conn;
  #limit: number;
  #buffer: Uint8Array<ArrayBuffer>;
  #start = 0;
  #end = 0;
  #ended = false;
  readonly #smallest: number;
  /** The buffer size for the read after one that filled the buffer; grows with each such read. */
  #largest: number;
  #wasFilled = false;
  #filling: Promise<boolean> | undefined;

  constructor(conn: Conn, { limit = mostRead, initial = usual }: MessagesOptions = {}) {
    this.#conn = conn;
    this.#limit = limit;
    this.#buffer = (initial === usual ? spare.pop() : undefined) ?? new Uint8Array(initial);
    this.#smallest = this.#largest = initial;
  }

  /** The bytes that have arrived but are not used yet. */
  get pending(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** Whether the peer has ended its direction. */
  get isEnded(): boolean {
    return this.#ended;
  }

  /**
   * Returns the next message; undefined when the peer ended before its first byte. `limit` replaces that of the
   * constructor from now on.
   */
  async read<T>(decode: Decode<T>, { limit = this.#limit }: { limit?: number } = {}): Promise<T | undefined> {
    this.#limit = limit;
    while (true) {
      if (this.#end > this.#start) {
        const decoded = decode(this.pending);
        if (decoded) {
          this.#start += decoded.used;
          return decoded.value;
        }
      }
      if (!await this.fill()) {
        if (this.#end === this.#start) return undefined;
        throw new PosternError(
          "protocol",
          "Cannot read a message: the peer closed the connection in the middle of it",
        );
      }
    }
  }

  /** Whether a read is running, whose bytes will arrive here. */
  get isReading(): boolean {
    return this.#filling !== undefined;
  }

  /** Waits for more bytes; false at the peer's end. Concurrent calls share one read. */
  fill(): Promise<boolean> {
    return this.#filling ??= this.#readMore();
  }

  async #readMore(): Promise<boolean> {
    // The peer's end and a full buffer are final, so later calls get the same promise.
    if (this.#ended) return false;
    if (this.#start === this.#end) {
      this.#start = this.#end = 0;
      this.#fitBuffer();
    }
    if (this.#end === this.#buffer.length) this.#makeRoom();
    let count: number | null;
    try {
      count = await this.#conn.read(this.#buffer.subarray(this.#end));
    } finally {
      this.#filling = undefined;
    }
    if (count === null) {
      this.#ended = true;
      return false;
    }
    this.#end += count;
    this.#wasFilled = this.#end === this.#buffer.length;
    return true;
  }

  /** Returns up to `most` received bytes, valid until the next call. */
  take(most: number): Uint8Array<ArrayBuffer> {
    const bytes = this.#buffer.subarray(this.#start, Math.min(this.#end, this.#start + most));
    this.#start += bytes.length;
    return bytes;
  }

  /** Puts taken bytes back in front. No read may run. */
  putBack(bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.length === 0) return;
    const { pending } = this;
    const buffer = new Uint8Array(bytes.length + pending.length);
    buffer.set(bytes);
    buffer.set(pending, bytes.length);
    this.#buffer = buffer;
    this.#start = 0;
    this.#end = buffer.length;
  }

  /** Returns the remaining bytes and ends this reader; no read of it may run. */
  rest(): Uint8Array<ArrayBuffer> {
    const bytes = this.#end > this.#start ? this.pending : nothing;
    const isFree = bytes === nothing && this.#filling === undefined && this.#buffer.length === usual;
    if (isFree && spare.length < mostSpare) spare.push(this.#buffer);
    // Without this, the buffer would stay allocated during the whole relay.
    this.#buffer = nothing;
    this.#start = this.#end = 0;
    return bytes;
  }

  /**
   * Returns the connection for the next reader: it delivers the remaining bytes, and those of a running read,
   * first.
   */
  goOn(): Conn {
    if (this.pending.length > 0 || this.isReading) return new ContinuedConn(this.#conn, this);
    this.rest();
    return this.#conn;
  }

  /**
   * Adapts the buffer as `relay` does: large for a body that fills its reads, small for a read that may wait
   * long.
   */
  #fitBuffer(): void {
    if (this.#wasFilled) {
      this.#largest = Math.min(this.#limit, mostRead, Math.max(this.#largest, this.#buffer.length * 8));
      // It is larger after a message of more than `mostRead`.
      if (this.#buffer.length !== this.#largest) this.#buffer = new Uint8Array(this.#largest);
    } else if (this.#buffer.length > this.#smallest) {
      this.#buffer = new Uint8Array(this.#smallest);
    }
  }

  #makeRoom(): void {
    const used = this.#end - this.#start;
    if (this.#start > 0 && used * 2 <= this.#buffer.length) {
      this.#buffer.copyWithin(0, this.#start, this.#end);
    } else {
      if (used >= this.#limit) {
        throw new PosternError("protocol", `Cannot read a message of more than ${this.#limit} bytes`);
      }
      const larger = new Uint8Array(Math.min(this.#limit, Math.max(used, this.#buffer.length) * 2));
      larger.set(this.pending);
      this.#buffer = larger;
    }
    this.#start = 0;
    this.#end = used;
  }
}
