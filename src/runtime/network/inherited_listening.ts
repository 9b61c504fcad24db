// deno-lint-ignore rooms/imports -- only node's servers accept a descriptor; the result is a Conn
import type { Server, Socket } from "node:net";
import type { Conn } from "../../core/mod.ts";
import { type Endpoint, formatTarget, PosternError } from "../../words/mod.ts";
import type { Listening } from "../../world/mod.ts";
import { NodeSocketConn } from "./node_socket_conn.ts";
import { SpareDescriptors, tooManyFiles } from "./spare_descriptors.ts";
import { systemClock } from "../system_clock.ts";

/** What a node server listens on: a descriptor, or an address in tests. */
export type NodeListenOptions = { readonly fd: number } | { readonly host: string; readonly port: number };

/**
 * How often to make the server listen again, in ms: while a client waits but no descriptor is free, while
 * there are clients, and otherwise.
 */
const lookEvery = { full: 5, busy: 1000, idle: 10_000 };

/** The longest client queue that node allows; systemd's own sockets have a longer one. */
const backlog = 511;

/**
 * Takes over a listening TCP socket that another program has opened; uses node's sockets because Deno's
 * cannot.
 */
export async function inheritListening(
  options: NodeListenOptions,
  spare = new SpareDescriptors(),
): Promise<Listening> {
  // deno-lint-ignore rooms/imports -- see above
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
    throw notTaken(new Error("it is not a TCP socket"), options);
  }
  return new InheritedListening(server, { host: address.address, port: address.port }, spare);
}

function notTaken(error: unknown, options: NodeListenOptions): PosternError {
  const what = "fd" in options ? `the inherited socket (descriptor ${options.fd})` : "a socket";
  const isInvalid = (error as { code?: unknown }).code === "EINVAL";
  // Deno before 2.8 cannot listen on descriptors, and reports the same error for a descriptor that is not a
  // socket.
  const isOld = isInvalid && /^2\.[0-7]\./.test(Deno.version.deno);
  const why = isOld
    ? `a program compiled with Deno ${Deno.version.deno} does not support that`
    : isInvalid
    ? "it is not a listening TCP socket"
    : error instanceof Error
    ? error.message
    : String(error);
  return new PosternError("config", `Cannot take over ${what}: ${why}`, {
    cause: error,
    exit: 1,
    hint: isOld
      ? "use a newer postern, or keep the service running: postern service-install --always"
      : "pass a TCP stream socket: ListenStream=127.0.0.1:12000",
  });
}

/**
 * Queues the clients of a node server until `accept`. When node runs out of descriptors, its server stops
 * silently (Deno 2.9.6), so this makes it listen again periodically.
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
    // This error looks like running out of descriptors; the next attempt shows the difference.
    server.on("error", () => {});
    this.#lookLater();
  }

  accept(): Promise<Conn | undefined> {
    const conn = this.#queue.shift();
    if (conn || this.#isClosed) return Promise.resolve(conn);
    this.#waiting ??= Promise.withResolvers();
    // There may be free descriptors now; otherwise the next attempt fails again.
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
    // Ignore a client that disconnected before we accepted it.
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

  /** Makes the server listen again; harmless if it still listens. Node has no public method for this. */
  #listenAgain(): void {
    const { _handle: handle } = this.#server as {
      _handle?: { listen?: (backlog: number) => unknown } | null;
    };
    handle?.listen?.(backlog);
  }
}
