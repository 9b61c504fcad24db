import { Duplex } from "node:stream";
import { asError, bufferSizes, type Conn, giveBuffer, takeAtMost } from "../../core/mod.ts";

/**
 * Wraps a connection as the Duplex for node's TLS. Deno's TLS ignores the speed of the stream below. It
 * reports bytes as written that it has only encrypted. It ends the stream after both directions have ended,
 * although bytes are still being sent, and it loses bytes when paused. So this class waits for room before it
 * reads, reports when bytes are written, and writes all of them before it ends, unless the connection is
 * dropped.
 */
export class BelowTls {
  readonly stream: Duplex;
  #room: PromiseWithResolvers<void> | undefined;
  #written: Promise<void> = Promise.resolve();

  constructor(conn: Conn) {
    const { small, medium, large } = bufferSizes;
    // The buffer of a waiting read: most of thousands of connections are idle.
    const waiting = new Uint8Array(small);
    let size: number = small;
    /** Copies what was read: TLS keeps the buffer, and the data is nearly always shorter than the buffer. */
    const read = async () => {
      await this.#room?.promise;
      const into = size === small ? waiting : takeAtMost(size);
      try {
        const count = await conn.read(into);
        // A full buffer suggests more data: larger reads mean fewer reads and fewer rounds of TLS.
        size = count === into.length ? (size === small ? medium : large) : small;
        return count === null ? null : into.slice(0, count);
      } finally {
        if (into !== waiting) giveBuffer(into);
      }
    };
    const end = async () => {
      await this.#written.catch(() => {});
      await conn[Symbol.asyncDispose]();
    };
    this.stream = new Duplex({
      allowHalfOpen: true,
      read() {
        read().then((bytes) => this.push(bytes), (error) => this.destroy(asError(error)));
      },
      write: ({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>, _encoding, done) => {
        // A plain Uint8Array: `slice` of a node Buffer returns a view instead of a copy.
        this.#written = conn.write(new Uint8Array(buffer, byteOffset, byteLength));
        this.#written.then(() => done(), (error) => done(asError(error)));
      },
      final(done) {
        conn.closeWrite().then(() => done(), (error) => done(asError(error)));
      },
      destroy(error, done) {
        if (error) conn.abort(error);
        end().then(() => done(error), () => done(error));
      },
    });
  }

  /** Resolves when all bytes from TLS so far are written; rejects with the connection's error. */
  get written(): Promise<void> {
    return this.#written;
  }

  /** Stops reading until there is room. */
  hold(): void {
    this.#room ??= Promise.withResolvers();
  }

  release(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
