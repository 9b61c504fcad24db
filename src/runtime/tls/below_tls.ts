import { Duplex } from "node:stream";
import { asError, bufferSizes, type Conn, giveBuffer, takeAtMost } from "../../core/mod.ts";

/**
 * A connection as the Duplex that node's TLS wants. Deno's TLS takes no notice of how fast it is: it says that bytes
 * are written which it has only encrypted, it ends the stream below when both ends have come and bytes are still on
 * their way, and it loses bytes when it is paused. So this waits for room before it reads, tells when what was given
 * to it is written, and writes all of it before it ends, unless the connection is dropped.
 */
export class BelowTls {
  readonly stream: Duplex;
  #room: PromiseWithResolvers<void> | undefined;
  #written: Promise<void> = Promise.resolve();

  constructor(conn: Conn) {
    const { small, medium, large } = bufferSizes;
    // What a read waits with: of thousands of connections most are at rest.
    const waiting = new Uint8Array(small);
    let size: number = small;
    /** What TLS is given is its own, and nearly always less than there was room for: it gets a copy of that much. */
    const read = async () => {
      await this.#room?.promise;
      const into = size === small ? waiting : takeAtMost(size);
      try {
        const count = await conn.read(into);
        // Who fills a buffer has more to say: fewer reads, and fewer rounds of TLS, for the same bytes.
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
        // Not the node Buffer itself: its `slice` is a view, where that of an array is a copy.
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

  /** Resolves when all that TLS has given so far is written; fails as the connection did. */
  get written(): Promise<void> {
    return this.#written;
  }

  /** Reads no more, until there is room. */
  hold(): void {
    this.#room ??= Promise.withResolvers();
  }

  release(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
