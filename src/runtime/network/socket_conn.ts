import { type Conn, StreamedConn } from "../../core/mod.ts";
import { formatTarget } from "../../words/mod.ts";
import { socketError } from "./socket_error.ts";

/** Addresses that replace those reported by the system. */
export interface KnownAddresses {
  readonly peer?: string;
  readonly local?: string;
}

/**
 * Wraps a kernel socket as a connection. It never uses Deno's own `readable` and `writable`: those close the
 * whole socket when either one ends.
 */
export class SocketConn extends StreamedConn implements Conn {
  readonly isSocket = true;
  readonly forgetsFailedWrites = true;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly #socket: Deno.Conn;
  readonly #known: KnownAddresses;
  #reason: unknown;
  #isClosed = false;

  constructor(socket: Deno.Conn, known: KnownAddresses = {}) {
    super();
    this.#socket = socket;
    this.#known = known;
    if (!("setNoDelay" in socket)) return;
    try {
      (socket as Deno.TcpConn).setNoDelay(true);
    } catch {
      // macOS rejects options on a socket that its peer has reset; the first read reports the reset.
    }
  }

  get peer(): string {
    return this.#known.peer ?? denoAddressText(this.#socket.remoteAddr);
  }

  get local(): string {
    return this.#known.local ?? denoAddressText(this.#socket.localAddr);
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
    this.#close();
    this.tellAbort(reason);
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
    throw this.#reason ?? socketError(error, `the connection to ${this.peer}`);
  };
}

/** Formats an address: `127.0.0.1:80`, `[::1]:80` or `unix:PATH`. */
export function denoAddressText(address: Deno.Addr): string {
  // A dual-stack listener reports IPv4 clients as mapped IPv6 addresses.
  if ("hostname" in address) {
    return formatTarget({ host: address.hostname.replace(mapped, ""), port: address.port });
  }
  return "path" in address ? `unix:${address.path ?? ""}` : "unknown";
}

const mapped = /^::ffff:(?=[0-9.]+$)/;
