import type { Bytes } from "./bytes.ts";
import type { Conn } from "./streams/conn.ts";
import { PosternError } from "../words/mod.ts";

export interface GatheredOutputOptions {
  readonly onFailure: (error: unknown) => void;
  /** Makes what is written of what was gathered: it begins behind `headRoom` bytes that are free for a head. */
  readonly seal?: (bytes: Bytes) => Bytes;
  readonly headRoom?: number;
}

/**
 * Gathers what a session says in one turn into one write. While a write is on its way, the next one fills; whoever
 * says much asks for `room` first.
 */
export class GatheredOutput {
  readonly #conn: Conn;
  readonly #options: GatheredOutputOptions;
  /** Where what is gathered begins. */
  readonly #begin: number;
  #filling: Bytes = new Uint8Array(smallest);
  #spare: Bytes = new Uint8Array(smallest);
  #used: number;
  /** Pieces that stand beside what is gathered. */
  #beside: Bytes[] = [];
  #writing: Promise<void> | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  constructor(conn: Conn, options: GatheredOutputOptions) {
    this.#conn = conn;
    this.#options = options;
    this.#begin = this.#used = options.headRoom ?? 0;
  }

  /** Whether something was said that the connection has not taken yet. */
  get isBusy(): boolean {
    return this.#writing !== undefined || this.#used > this.#begin;
  }

  /** Copies bytes into the next write. */
  add(bytes: Uint8Array): void {
    this.gather(bytes);
    this.writeSoon();
  }

  /** Copies bytes into the next write, whenever that is. */
  gather(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const end = this.#used + bytes.length;
    if (end > mostHeld) return this.#giveUp();
    if (end > this.#filling.length) this.#grow(end);
    this.#filling.set(bytes, this.#used);
    this.#used = end;
  }

  /** Writes what was gathered. */
  writeSoon(): void {
    if (this.#used > this.#begin) this.#writing ??= this.#write();
  }

  /** Writes a piece by itself, as it is, before what was gathered. So many of them wait at most. */
  addBeside(piece: Bytes, { most }: { most: number }): void {
    if (this.#isClosed || this.#beside.length >= most) return;
    this.#beside.push(piece);
    this.#writing ??= this.#write();
  }

  /** Undefined while less than a large write waits; else resolves when it is on its way. */
  room(): Promise<void> | undefined {
    if (this.#used < much || this.#isClosed) return undefined;
    return (this.#room ??= Promise.withResolvers<void>()).promise;
  }

  /** Resolves when all that was added is written or lost. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  /** Forgets what waits; nothing is written any more. */
  close(): void {
    this.#isClosed = true;
    this.#used = this.#begin;
    this.#beside = [];
    this.#makeRoom();
  }

  async #write(): Promise<void> {
    // What follows one read comes over a few promises, and belongs into the same write.
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
    const piece = this.#beside.shift();
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

  /** Told a little later: whoever adds is in the middle of a message. */
  #giveUp(): void {
    this.close();
    const error = new PosternError(
      "protocol",
      "Cannot go on: the other side asks, and takes nothing of the answers",
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
/** Clients wait for room long before; what comes beyond it are answers that the other side makes us give. */
const mostHeld = 16 * 1024 * 1024;
const turns = 6;
