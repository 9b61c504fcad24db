// deno-lint-ignore rooms/imports -- of a socket that somebody else has opened only node's have the descriptor
import type { Socket } from "node:net";
import { DuplexConn, formatTarget } from "../core/mod.ts";
import { socketError } from "./socket_error.ts";

/** How many bytes may wait for a reader before the socket is paused, and below which it goes on. */
const mostWaiting = 256 * 1024;
const fewWaiting = mostWaiting / 2;

/**
 * A socket of node's as a connection that `relay` moves with its own buffers. Bytes are taken as they come, in the
 * flowing mode: reading the stream was a third slower.
 */
export class NodeSocketConn extends DuplexConn {
  readonly isSocket = true;
  readonly #socket: Socket;
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #waiting = 0;
  #hasEnded = false;
  #wake: (() => void) | undefined;

  constructor(socket: Socket, peer: string) {
    const { localAddress: host, localPort: port } = socket;
    super(socket, {
      peer,
      ...(host !== undefined && port !== undefined && { local: formatTarget({ host, port }) }),
      failure: (error) => socketError(error, `the connection with ${peer}`),
      isRead: false,
    });
    this.#socket = socket;
    const wake = () => this.#wake?.();
    socket.on("data", (chunk: Uint8Array<ArrayBuffer>) => {
      this.#chunks.push(chunk);
      this.#waiting += chunk.length;
      if (this.#waiting >= mostWaiting) socket.pause();
      wake();
    });
    socket.on("end", () => {
      this.#hasEnded = true;
      wake();
    });
    socket.on("close", wake);
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
    if (this.#waiting < fewWaiting && this.#socket.isPaused()) this.#socket.resume();
    return filled;
  }
}
