import type { Conn } from "../../src/core/mod.ts";
import type {
  Datagram,
  Datagrams,
  Listening,
  Network,
  SecureOptions,
  ServeSecureOptions,
} from "../../src/world/mod.ts";
import { type Endpoint, formatTarget, PosternError } from "../../src/words/mod.ts";
import { type MemoryConn, memoryPair } from "./memory_conn.ts";

/** The fault of an address: an error, or no answer. */
export type Fault = PosternError | "silent";

/** A network in memory with listeners, a resolver and faults. */
export class MemoryNetwork implements Network {
  /** The resolver's answers by name. */
  readonly names = new Map<string, readonly string[]>();
  /** The resolver's names by address. */
  readonly namesOf = new Map<string, string>();
  /** Addresses (`192.0.2.1` or `192.0.2.1:80`) with faults. */
  readonly faults = new Map<string, Fault>();
  /** Every dialed address, in order. */
  readonly connects: string[] = [];
  /** Every name looked up, in order. */
  readonly lookups: string[] = [];
  /** The options of `secure` calls, in order. */
  readonly secured: SecureOptions[] = [];
  /** The client's ends of all connections. */
  readonly conns: MemoryConn[] = [];
  /** The address of each connection. */
  readonly #addresses = new Map<MemoryConn, string>();
  /** The inherited sockets, by descriptor. */
  readonly handedOver = new Map<number, Endpoint>();
  /** The machine's own addresses. */
  own: readonly string[] = ["lo 127.0.0.1"];
  /** Stands in for TLS; undefined refuses TLS. */
  tls: ((conn: Conn, options: SecureOptions) => Promise<Conn>) | undefined;
  /** Gives both ends of a connection the addresses of a loopback connection. */
  isPlaced = false;
  readonly #listeners = new Map<string, MemoryListening>();
  readonly #datagrams = new Map<string, MemoryDatagrams>();
  readonly #isSocket: boolean;
  #nextPort = 49152;

  constructor({ isSocket = false } = {}) {
    this.#isSocket = isSocket;
  }

  /** The number of connections that the client has not closed. */
  get open(): number {
    return this.conns.filter((conn) => !conn.isClosed).length;
  }

  /** The number of open UDP sockets. */
  get openDatagrams(): number {
    return this.#datagrams.size;
  }

  /** Counts open connections to some addresses. */
  openTo(isCounted: (address: string) => boolean): number {
    return this.conns.filter((conn) => !conn.isClosed && isCounted(this.#addresses.get(conn) ?? "")).length;
  }

  addresses(): readonly string[] {
    return this.own;
  }

  async connect(endpoint: Endpoint, { signal }: { signal: AbortSignal }): Promise<Conn> {
    signal.throwIfAborted();
    const key = keyOf(endpoint);
    this.connects.push(key);
    const fault = this.faults.get(key) ?? ("host" in endpoint ? this.faults.get(endpoint.host) : undefined);
    if (fault === "silent") await aborted(signal);
    if (fault instanceof PosternError) throw fault;
    const listening = this.#listeners.get(key);
    // A connect never completes in the same turn.
    await Promise.resolve();
    signal.throwIfAborted();
    if (!listening) {
      throw new PosternError("refused", `Cannot reach ${key}`, { reason: "connection refused" });
    }
    const [near, far] = memoryPair({ isSocket: this.#isSocket });
    if (this.isPlaced && "host" in endpoint) {
      const [place, own] = [key, formatTarget({ host: endpoint.host, port: this.#nextPort++ })];
      Object.defineProperties(near, { peer: { value: place }, local: { value: own } });
      Object.defineProperties(far, { peer: { value: own }, local: { value: place } });
    }
    this.conns.push(near);
    this.#addresses.set(near, key);
    listening.offer(far);
    return near;
  }

  listen(endpoint: Endpoint): Listening {
    const bound = "port" in endpoint && endpoint.port === 0
      ? { host: endpoint.host, port: this.#nextPort++ }
      : endpoint;
    const key = keyOf(bound);
    if (this.#listeners.has(key)) {
      throw new PosternError("config", `Cannot listen on ${key}: address in use`, {
        detail: "in_use",
        exit: 1,
      });
    }
    const listening = new MemoryListening(bound, () => this.#listeners.delete(key));
    this.#listeners.set(key, listening);
    return listening;
  }

  datagrams(endpoint: Address): Promise<MemoryDatagrams> {
    const bound = endpoint.port === 0 ? { host: endpoint.host, port: this.#nextPort++ } : endpoint;
    const key = keyOf(bound);
    if (this.#datagrams.has(key)) {
      const error = new PosternError("config", `Cannot listen on ${key} for UDP: address in use`, {
        detail: "in_use",
        exit: 1,
      });
      return Promise.reject(error);
    }
    const datagrams = new MemoryDatagrams(bound, {
      deliver: (datagram, to) => this.#datagrams.get(keyOf(to))?.take(datagram),
      onClose: () => this.#datagrams.delete(key),
    });
    this.#datagrams.set(key, datagrams);
    return Promise.resolve(datagrams);
  }

  inherit(descriptor: number): Promise<Listening> {
    const endpoint = this.handedOver.get(descriptor);
    if (endpoint) return Promise.resolve(this.listen(endpoint));
    return Promise.reject(
      new PosternError("config", `Cannot take over descriptor ${descriptor}`, { exit: 1 }),
    );
  }

  async lookup(name: string, { signal }: { signal: AbortSignal }): Promise<readonly string[]> {
    this.lookups.push(name);
    await Promise.resolve();
    signal.throwIfAborted();
    const addresses = this.names.get(name);
    if (!addresses) {
      throw new PosternError("name_not_found", `Cannot find "${name}"`, { reason: "no such name" });
    }
    return addresses;
  }

  nameOf(address: string): Promise<string> {
    const name = this.namesOf.get(address);
    if (name !== undefined) return Promise.resolve(name);
    return Promise.reject(new PosternError("name_not_found", `Cannot find the name of ${address}`));
  }

  async secure(
    conn: Conn,
    { signal, ...options }: SecureOptions & { signal: AbortSignal },
  ): Promise<Conn> {
    signal.throwIfAborted();
    this.secured.push(options);
    if (!this.tls) throw new PosternError("protocol", "Cannot speak TLS in a memory network");
    return await this.tls(conn, options);
  }

  /** Encrypts nothing, because the network is in memory. */
  async secureAsServer(conn: Conn, { signal }: ServeSecureOptions & { signal: AbortSignal }): Promise<Conn> {
    await Promise.resolve();
    signal.throwIfAborted();
    return conn;
  }
}

class MemoryListening implements Listening {
  readonly endpoint: Endpoint;
  readonly #onClose: () => void;
  readonly #queue: Conn[] = [];
  #waiting: ((conn: Conn | undefined) => void) | undefined;
  #isClosed = false;

  constructor(endpoint: Endpoint, onClose: () => void) {
    this.endpoint = endpoint;
    this.#onClose = onClose;
  }

  offer(conn: Conn): void {
    if (this.#waiting) this.#waiting(conn);
    else this.#queue.push(conn);
    this.#waiting = undefined;
  }

  accept(): Promise<Conn | undefined> {
    const conn = this.#queue.shift();
    if (conn || this.#isClosed) return Promise.resolve(conn);
    return new Promise((resolve) => this.#waiting = resolve);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose();
    this.#waiting?.(undefined);
    for (const conn of this.#queue.splice(0)) conn.abort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** A UDP socket of a memory network; datagrams without a receiver are lost. */
export class MemoryDatagrams implements Datagrams {
  readonly endpoint: Address;
  readonly #deliver: (datagram: Datagram, to: Address) => void;
  readonly #onClose: () => void;
  readonly #queue: Datagram[] = [];
  #waiting: ((datagram: Datagram | undefined) => void) | undefined;
  #isClosed = false;

  constructor(
    endpoint: Address,
    { deliver, onClose }: { deliver: (datagram: Datagram, to: Address) => void; onClose: () => void },
  ) {
    this.endpoint = endpoint;
    this.#deliver = deliver;
    this.#onClose = onClose;
  }

  take(datagram: Datagram): void {
    if (this.#waiting) this.#waiting(datagram);
    else this.#queue.push(datagram);
    this.#waiting = undefined;
  }

  receive(): Promise<Datagram | undefined> {
    const datagram = this.#queue.shift();
    if (datagram || this.#isClosed) return Promise.resolve(datagram);
    return new Promise((resolve) => this.#waiting = resolve);
  }

  send(bytes: Uint8Array<ArrayBuffer>, to: Address): Promise<void> {
    if (!this.#isClosed) this.#deliver({ bytes: bytes.slice(), from: this.endpoint }, to);
    return Promise.resolve();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose();
    this.#waiting?.(undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}

function keyOf(endpoint: Endpoint): string {
  return "path" in endpoint ? endpoint.path : formatTarget(endpoint);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
