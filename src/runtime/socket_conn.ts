import { type Conn, formatTarget, readableOf, writableOf } from "../core/mod.ts";
import { socketError } from "./socket_error.ts";

/**
 * A kernel socket as a connection. It never touches Deno's own `readable` and `writable`:
 * those close the whole socket when either one ends.
 */
export class SocketConn implements Conn {
  readonly isSocket = true;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly #socket: Deno.Conn;
  #reason: unknown;
  #isClosed = false;
  #readable: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  #writable: WritableStream<Uint8Array<ArrayBuffer>> | undefined;

  constructor(socket: Deno.Conn) {
    this.#socket = socket;
    if ("setNoDelay" in socket) (socket as Deno.TcpConn).setNoDelay(true);
  }

  get peer(): string {
    return addressText(this.#socket.remoteAddr);
  }

  get local(): string {
    return addressText(this.#socket.localAddr);
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    return this.#socket.read(into).catch(this.#fail);
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    try {
      let written = await this.#socket.write(bytes);
      while (written < bytes.length) written += await this.#socket.write(bytes.subarray(written));
    } catch (error) {
      this.#fail(error);
    }
  }

  closeWrite(): Promise<void> {
    return this.#socket.closeWrite().catch(this.#fail);
  }

  abort(reason: unknown = new DOMException("The connection was dropped", "AbortError")): void {
    this.#reason ??= reason;
    const tell = this.onAbort;
    this.onAbort = undefined;
    this.#close();
    tell?.(reason);
  }

  get readable(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#readable ??= readableOf(this);
  }

  get writable(): WritableStream<Uint8Array<ArrayBuffer>> {
    return this.#writable ??= writableOf(this);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    return Promise.resolve();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }

  readonly #fail = (error: unknown): never => {
    throw this.#reason ?? socketError(error, `the connection with ${this.peer}`);
  };
}

/** `127.0.0.1:80`, `[::1]:80` or `unix:PATH`. */
export function addressText(address: Deno.Addr): string {
  if ("hostname" in address) return formatTarget({ host: address.hostname, port: address.port });
  return "path" in address ? `unix:${address.path ?? ""}` : "unknown";
}
