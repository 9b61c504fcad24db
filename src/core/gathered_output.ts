import type { Bytes } from "./bytes.ts";
import type { Conn } from "./streams/conn.ts";
import { PosternError } from "../words/mod.ts";

export interface GatheredOutputOptions {
  readonly onFailure: (error: unknown) => void;
  /** Encodes the gathered bytes for the write; the first `headRoom` bytes are reserved for a header. */
  readonly seal?: (bytes: Bytes) => Bytes;
  readonly headRoom?: number;
}

/**
 * Gathers the output of one turn into one write. The next write fills while one is running. Call `room`
 * before adding much.
 */
export class GatheredOutput {
  readonly #conn: Conn;
  readonly #options: GatheredOutputOptions;
  /** The offset of the gathered bytes. */
  readonly #begin: number;
  #filling: Bytes = new Uint8Array(smallest);
  #spare: Bytes = new Uint8Array(smallest);
  #used: number;
  /** Separate pieces to write before the gathered bytes. */
  #separate: Bytes[] = [];
  #writing: Promise<void> | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  constructor(conn: Conn, options: GatheredOutputOptions) {
    this.#conn = conn;
    this.#options = options;
    this.#begin = this.#used = options.headRoom ?? 0;
  }

  /** Whether some output was not written yet. */
  get isBusy(): boolean {
    return this.#writing !== undefined || this.#used > this.#begin;
  }

  /** Copies bytes into the next write, and schedules it. */
  add(bytes: Uint8Array): void {
    this.gather(bytes);
    this.writeSoon();
  }

  /** Copies bytes into the next write, without scheduling it. */
  gather(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const end = this.#used + bytes.length;
    if (end > mostHeld) return this.#giveUp();
    if (end > this.#filling.length) this.#grow(end);
    this.#filling.set(bytes, this.#used);
    this.#used = end;
  }

  writeSoon(): void {
    if (this.#used > this.#begin) this.#writing ??= this.#write();
  }

  /** Writes a separate piece before the gathered bytes; at most `most` pieces may wait. */
  addSeparate(piece: Bytes, { most }: { most: number }): void {
    if (this.#isClosed || this.#separate.length >= most) return;
    this.#separate.push(piece);
    this.#writing ??= this.#write();
  }

  /** Undefined while less than a large write waits; otherwise resolves when it is being written. */
  room(): Promise<void> | undefined {
    if (this.#used < much || this.#isClosed) return undefined;
    return (this.#room ??= Promise.withResolvers<void>()).promise;
  }

  /** Resolves when everything added is written or lost. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  /** Drops waiting output; nothing is written afterwards. */
  close(): void {
    this.#isClosed = true;
    this.#used = this.#begin;
    this.#separate = [];
    this.#makeRoom();
  }

  async #write(): Promise<void> {
    // The reactions to one read take a few promise turns; gather them into the same write.
    for (let turn = 0; turn < turns; turn++) await undefined;
    try {
      while (true) {
        const next = this.#next();
        if (!next) break;
        await this.#conn.write(next);
      }
    } catch (error) {
      this.#options.onFailure(error);
    }
    this.#writing = undefined;
  }

  #next(): Bytes | undefined {
    const piece = this.#separate.shift();
    if (piece) return piece;
    if (this.#used === this.#begin) return undefined;
    const bytes = this.#filling.subarray(0, this.#used);
    const next = this.#spare;
    this.#spare = this.#filling;
    this.#filling = next;
    this.#used = this.#begin;
    this.#makeRoom();
    const { seal } = this.#options;
    return seal ? seal(bytes) : bytes;
  }

  /** Reports the error later: the caller may be in the middle of a message. */
  #giveUp(): void {
    this.close();
    const error = new PosternError(
      "protocol",
      "Cannot answer: the peer sends requests but does not read our responses",
    );
    queueMicrotask(() => this.#options.onFailure(error));
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #grow(size: number): void {
    const larger = new Uint8Array(Math.max(size, this.#filling.length * 4));
    larger.set(this.#filling.subarray(0, this.#used));
    this.#filling = larger;
  }
}

const smallest = 4 * 1024;
const much = 256 * 1024;
/** Clients wait for room long before this; only responses that the peer provokes exceed it. */
const mostHeld = 16 * 1024 * 1024;
const turns = 6;
