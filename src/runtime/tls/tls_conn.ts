import type { TLSSocket } from "node:tls";
import type { Conn } from "../../core/mod.ts";
import type { BelowTls } from "./below_tls.ts";
import { FlowingConn } from "../network/flowing_conn.ts";

export interface TlsConnParts {
  readonly socket: TLSSocket;
  readonly below: BelowTls;
  /** The connection that `below` wraps. */
  readonly conn: Conn;
  /** Translates the stream's errors into ours. */
  readonly failure: (error: unknown) => unknown;
}

/**
 * Wraps a TLS stream of node as a connection that waits for the one below it, with backpressure from its
 * reader.
 */
export class TlsConn extends FlowingConn {
  readonly #below: BelowTls;
  readonly #conn: Conn;

  constructor({ socket, below, conn, failure }: TlsConnParts) {
    super(socket, {
      peer: conn.peer,
      ...(conn.local === undefined ? {} : { local: conn.local }),
      // From TLS 1.3 on, close_notify ends one direction (RFC 8446, section 6.1); before, it ends both (RFC
      // 5246, 7.2.1).
      carriesHalfClose: socket.getProtocol() === "TLSv1.3",
      failure,
      onFull: () => below.hold(),
      onRoom: () => below.release(),
    });
    this.#below = below;
    this.#conn = conn;
  }

  override async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await super.write(bytes);
    await this.#flush();
  }

  override async closeWrite(): Promise<void> {
    await super.closeWrite();
    await this.#flush();
  }

  override abort(reason?: unknown): void {
    const isFirst = !this.isAborted;
    super.abort(reason);
    if (isFirst) this.#conn.abort(this.error);
    this.#below.release();
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    const ended = super[Symbol.asyncDispose]();
    this.#below.release();
    // Unread data must not delay the end.
    await this.#conn[Symbol.asyncDispose]();
    await ended;
  }

  async #flush(): Promise<void> {
    try {
      await this.#below.written;
    } catch (error) {
      throw this.error ?? error;
    }
  }
}
