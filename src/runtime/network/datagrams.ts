import { createSocket, type Socket } from "node:dgram";
import type { Datagram, Datagrams } from "../../world/mod.ts";
import { listenError } from "./listen_error.ts";
import { socketError } from "./socket_error.ts";

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Binds a UDP socket; uses node's because Deno's are not stable yet. */
export async function bindDatagrams(endpoint: Address): Promise<Datagrams> {
  const { host, port } = endpoint;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  socket.once("error", reject);
  try {
    socket.bind(port, host, resolve);
    await promise;
  } catch (error) {
    socket.close();
    throw listenError(error, endpoint, "udp");
  }
  socket.off("error", reject);
  return new SocketDatagrams(socket);
}

/** How many datagrams may wait for the reader, and their bytes; a slow reader loses the newest, as in a kernel. */
const [mostWaiting, mostWaitingBytes] = [1024, 512 * 1024];

class SocketDatagrams implements Datagrams {
  readonly endpoint: Address;
  readonly #socket: Socket;
  readonly #queue: Datagram[] = [];
  #queuedBytes = 0;
  #waiting: PromiseWithResolvers<Datagram | undefined> | undefined;
  #isClosed = false;
  readonly #closed = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.#socket = socket;
    const { address, port } = socket.address();
    this.endpoint = { host: address, port };
    socket.on("message", (message, { address, port }) => {
      const bytes = new Uint8Array(message);
      this.#take({ bytes, from: { host: address, port } });
    });
    socket.on("error", (error) => {
      // An undeliverable datagram comes back as an error, but the socket still works.
      if (!isOfReceiver(error)) this.#take(socketError(error, "a socket for UDP"));
    });
  }

  receive(): Promise<Datagram | undefined> {
    const datagram = this.#queue.shift();
    this.#queuedBytes -= datagram?.bytes.length ?? 0;
    if (datagram || this.#isClosed) return Promise.resolve(datagram);
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  send(bytes: Uint8Array<ArrayBuffer>, { host, port }: Address): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#socket.send(bytes, port, host, (error) => {
      if (!error || this.#isClosed || isOfReceiver(error)) resolve();
      else reject(socketError(error, `${host} by UDP`));
    });
    return promise;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#socket.close(this.#closed.resolve);
    this.#waiting?.resolve(undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    // The port becomes free slightly later.
    return this.#closed.promise;
  }

  /** Passes a datagram or an error to the waiting reader. */
  #take(got: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (isDatagram(got)) {
      if (waiting) waiting.resolve(got);
      else if (
        this.#queue.length < mostWaiting && this.#queuedBytes + got.bytes.length <= mostWaitingBytes
      ) {
        this.#queue.push(got);
        this.#queuedBytes += got.bytes.length;
      }
    } else waiting?.reject(got);
  }
}

function isDatagram(value: unknown): value is Datagram {
  return typeof value === "object" && value !== null && "bytes" in value;
}

/** Whether an error only means that a receiver of our datagrams does not exist. */
function isOfReceiver(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return code === "ECONNREFUSED" || code === "ECONNRESET";
}
