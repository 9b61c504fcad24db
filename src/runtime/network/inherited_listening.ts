// deno-lint-ignore rooms/imports -- only node's servers take a descriptor; what comes of it is a Conn
import type { Server, Socket } from "node:net";
import type { Conn } from "../../core/mod.ts";
import { type Endpoint, formatTarget, PosternError } from "../../words/mod.ts";
import type { Listening } from "../../world/mod.ts";
import { NodeSocketConn } from "./node_socket_conn.ts";
import { SpareDescriptors, tooManyFiles } from "./spare_descriptors.ts";
import { systemClock } from "../system_clock.ts";

/** What node's servers listen on: a descriptor, or for the tests of its connections an address. */
export type NodeListenOptions = { readonly fd: number } | { readonly host: string; readonly port: number };

/**
 * How often to look whether the system still hands clients over, in ms: while a client is awaited without a descriptor
 * for it, while there are clients, and else.
 */
const lookEvery = { full: 5, busy: 1000, idle: 10_000 };

/** What systemd gives its own sockets is more: this is the longest queue of clients that node asks for. */
const backlog = 511;

/** Takes over a listening TCP socket that another program has opened, with node's sockets because Deno's cannot. */
export async function inheritListening(
  options: NodeListenOptions,
  spare = new SpareDescriptors(),
): Promise<Listening> {
  // deno-lint-ignore rooms/imports -- as above
  const { createServer } = await import("node:net");
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  const listening = Promise.withResolvers<void>();
  server.once("listening", listening.resolve).once("error", listening.reject);
  try {
    server.listen("fd" in options ? { fd: options.fd } : { ...options });
    await listening.promise;
  } catch (error) {
    throw notTaken(error, options);
  }
  const address = server.address();
  if (address === null || typeof address === "string") {
    server.close();
    throw notTaken(new Error("it is no TCP socket"), options);
  }
  return new InheritedListening(server, { host: address.address, port: address.port }, spare);
}

function notTaken(error: unknown, options: NodeListenOptions): PosternError {
  const what = "fd" in options ? `the socket that was handed over as descriptor ${options.fd}` : "a socket";
  const isInvalid = (error as { code?: unknown }).code === "EINVAL";
  // Deno before 2.8 may not listen on descriptors, and has the same error for a descriptor that is no socket.
  const isOld = isInvalid && /^2\.[0-7]\./.test(Deno.version.deno);
  const why = isOld
    ? `a program made with Deno ${Deno.version.deno} cannot do that`
    : isInvalid
    ? "it is no listening TCP socket"
    : error instanceof Error
    ? error.message
    : String(error);
  return new PosternError("config", `Cannot take over ${what}: ${why}`, {
    cause: error,
    exit: 1,
    hint: isOld
      ? "take a newer postern, or run the service always: postern service-install --always"
      : "give a stream socket of TCP: ListenStream=127.0.0.1:12000",
  });
}

/**
 * Node's server pushes clients, where `accept` takes them: they wait here in between. It stops for good when it is
 * out of descriptors and tells nobody (Deno 2.9.6), so it is told to listen again every now and then.
 */
class InheritedListening implements Listening {
  readonly endpoint: Endpoint;
  readonly #server: Server;
  readonly #spare: SpareDescriptors;
  readonly #queue: Conn[] = [];
  #waiting: PromiseWithResolvers<Conn | undefined> | undefined;
  #clients = 0;
  #isClosed = false;
  #isFull = false;
  #timer: Disposable | undefined;
  #isSoon = false;

  constructor(server: Server, endpoint: Endpoint, spare: SpareDescriptors) {
    this.#server = server;
    this.endpoint = endpoint;
    this.#spare = spare;
    spare.hold();
    server.on("connection", (socket) => this.#took(socket));
    // It cannot be told apart from being out of descriptors, and the next look says more.
    server.on("error", () => {});
    this.#lookLater();
  }

  accept(): Promise<Conn | undefined> {
    const conn = this.#queue.shift();
    if (conn || this.#isClosed) return Promise.resolve(conn);
    this.#waiting ??= Promise.withResolvers();
    // There may be room now; where there is none, the next look says so.
    if (this.#isFull) {
      this.#listenAgain();
      this.#lookLater();
    }
    return this.#waiting.promise;
  }

  spendSpare(): boolean {
    return this.#spare.spend();
  }

  keepSpare(): boolean {
    return this.#spare.keep();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    this.#server.close();
    for (const conn of this.#queue.splice(0)) conn.abort();
    this.#waiting?.resolve(undefined);
    this.#spare.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  #took(socket: Socket): void {
    const { remoteAddress: host, remotePort: port } = socket;
    // A client that was gone before we took it is nobody's fault.
    if (this.#isClosed || host === undefined || port === undefined) {
      return void socket.on("error", () => {}).destroy();
    }
    this.#clients++;
    socket.once("close", () => this.#clients--);
    const conn = new NodeSocketConn(socket, formatTarget({ host, port }));
    if (this.#waiting) this.#waiting.resolve(conn);
    else this.#queue.push(conn);
    this.#waiting = undefined;
    if (!this.#isSoon) this.#lookLater();
  }

  #lookLater(): void {
    this.#timer?.[Symbol.dispose]();
    this.#isSoon = this.#clients > 0 || this.#isFull;
    const isAwaited = this.#isFull && this.#waiting !== undefined;
    const every = isAwaited ? lookEvery.full : this.#isSoon ? lookEvery.busy : lookEvery.idle;
    this.#timer = systemClock.after(every, () => this.#look());
  }

  #look(): void {
    this.#isFull = !this.#spare.hasRoom();
    this.#listenAgain();
    this.#lookLater();
    if (!this.#isFull) return;
    this.#waiting?.reject(tooManyFiles("a client's connection"));
    this.#waiting = undefined;
  }

  /** Harmless where it listens still. There is no public way. */
  #listenAgain(): void {
    const { _handle: handle } = this.#server as {
      _handle?: { listen?: (backlog: number) => unknown } | null;
    };
    handle?.listen?.(backlog);
  }
}
