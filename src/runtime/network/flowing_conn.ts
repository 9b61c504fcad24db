import type { Duplex } from "node:stream";
import { DuplexConn, type DuplexConnOptions } from "../../core/mod.ts";

export interface FlowingConnOptions extends Omit<DuplexConnOptions, "isRead"> {
  /** Called when `mostWaiting` bytes wait for the reader: the source should pause. */
  readonly onFull?: () => void;
  /** Called when there is room again. */
  readonly onRoom?: () => void;
}

/** How many bytes may wait for a reader: at this number `onFull` is called, below it `onRoom`. */
const mostWaiting = 256 * 1024;
const fewWaiting = mostWaiting / 2;

/**
 * Wraps a node stream and reads it in flowing mode; received bytes wait here for the reader. That is faster
 * than reading the stream, and the bytes stay available even when the stream fails.
 */
export class FlowingConn extends DuplexConn {
  readonly #options: FlowingConnOptions;
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #waiting = 0;
  #isFull = false;
  #hasEnded = false;
  #wake: (() => void) | undefined;

  constructor(stream: Duplex, options: FlowingConnOptions) {
    super(stream, { ...options, isRead: false });
    this.#options = options;
    const wake = () => this.#wake?.();
    stream.on("data", (chunk: Uint8Array<ArrayBuffer>) => {
      this.#chunks.push(chunk);
      this.#waiting += chunk.length;
      if (this.#waiting >= mostWaiting && !this.#isFull) {
        this.#isFull = true;
        options.onFull?.();
      }
      wake();
    });
    stream.on("end", () => {
      this.#hasEnded = true;
      wake();
    });
    stream.on("error", wake);
    stream.on("close", wake);
  }

  override async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    while (true) {
      if (this.isAborted) throw this.error;
      const count = this.#fill(into);
      if (count > 0) return count;
      if (this.#hasEnded) return null;
      if (this.error !== undefined) throw this.error;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  async whenReadable(): Promise<void> {
    while (this.#chunks.length === 0 && !this.#hasEnded && !this.isAborted && this.error === undefined) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  #fill(into: Uint8Array<ArrayBuffer>): number {
    let filled = 0;
    while (filled < into.length) {
      const [chunk] = this.#chunks;
      if (!chunk) break;
      const count = Math.min(into.length - filled, chunk.length);
      into.set(count === chunk.length ? chunk : chunk.subarray(0, count), filled);
      if (count === chunk.length) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(count);
      filled += count;
    }
    this.#waiting -= filled;
    if (this.#isFull && this.#waiting < fewWaiting) {
      this.#isFull = false;
      this.#options.onRoom?.();
    }
    return filled;
  }
}
