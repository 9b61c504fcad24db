import { type Clock, type Conn, type DialOptions, unlessAborted, within } from "../../core/mod.ts";
import { PosternError, type Target } from "../../words/mod.ts";
import { grpcError, GrpcStream, Http2Connection, type Http2Exchange } from "../../mux/mod.ts";
import { PacketDialer } from "../packet_dialer.ts";
import { PacketStream, posternMark } from "../packet_stream.ts";
import { grpcCodes, grpcRequest } from "../../wire/mod.ts";
import { konnectivityProxyPath } from "../packets.ts";
import type { FrontendReach } from "./reach_frontend.ts";

interface Session {
  readonly opening: Promise<Http2Connection>;
  /** The certificates used to open it. */
  readonly certificates: string;
}

/** Dials through a server's gRPC frontend: all dials share one connection, and each has its own stream. */
export class GrpcFrontend implements AsyncDisposable {
  readonly #reach: FrontendReach;
  readonly #clock: Clock;
  #session: Session | undefined;
  /** All open connections, including those that new dials no longer use. */
  readonly #connections = new Set<Http2Connection>();
  readonly #stop = new AbortController();
  /** The connections with a ping in flight. */
  readonly #asked = new Map<Http2Connection, Promise<boolean>>();

  constructor(reach: FrontendReach, { clock }: { clock: Clock }) {
    this.#reach = reach;
    this.#clock = clock;
  }

  /** The numbers of connections to the server and of their streams. */
  get counts(): { sessions: number; streams: number } {
    let streams = 0;
    for (const connection of this.#connections) streams += connection.openStreams;
    return { sessions: this.#connections.size, streams };
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    const first = await this.#exchange(options);
    try {
      return await this.#dialOn(first, target, options);
    } catch (error) {
      // A server that shuts down rejects streams it has not processed.
      if (!first.isRefused || options.signal.aborted) throw error;
      return await this.#dialOn(await this.#exchange(options), target, options);
    }
  }

  async #dialOn(exchange: Http2Exchange, target: Target, { signal }: DialOptions): Promise<Conn> {
    const grpc = new GrpcStream(exchange);
    const dialer = new PacketDialer(new PacketStream(grpc), { clock: this.#clock, isShared: false });
    const ended = dialer.run().then((failure) => {
      // After the server's end, our half is still open.
      exchange.end();
      return failure ?? statusFailure(grpc, this.#reach.label);
    });
    try {
      const tunnel = await dialer.dial(target, { signal });
      // The stream carries only this connection.
      tunnel.onClosed = () => exchange.end();
      return tunnel;
    } catch (error) {
      if (dialer.isOver) throw await ended.then((why) => why ?? error);
      // Servers treat quick resets as an attack, so end an answered stream normally.
      if (signal.aborted) exchange.reset();
      else exchange.end();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new PosternError("cancelled", "The transport was closed"));
    await this.#session?.opening.catch(() => {});
    this.#session = undefined;
    await Promise.all([...this.#connections].map((connection) => connection[Symbol.asyncDispose]()));
  }

  async #exchange({ signal, onStep }: DialOptions): Promise<Http2Exchange> {
    const fields = grpcRequest({
      path: konnectivityProxyPath,
      authority: this.#reach.authority,
      scheme: this.#reach.isSecure ? "https" : "http",
      metadata: [posternMark],
    });
    const first = await this.#connection({ signal, onStep });
    onStep?.(`reached ${this.#reach.label}`);
    try {
      return await first.request(fields, { signal });
    } catch (error) {
      signal.throwIfAborted();
      // The connection ended between two dials; only its use reveals that.
      if (first.isOpen) throw error;
      const second = await this.#connection({ signal, onStep });
      return await second.request(fields, { signal });
    }
  }

  /** Returns the connection that new dials share. */
  async #connection(options: DialOptions): Promise<Http2Connection> {
    const certificates = await this.#reach.certificates();
    const session = this.#session;
    if (session?.certificates === certificates) {
      const connection = await unlessAborted(session.opening, options.signal).catch(() => undefined);
      if (connection?.isOpen && await this.#answers(connection)) return connection;
      options.signal.throwIfAborted();
    }
    // Another dial may have opened a new connection in the meantime.
    if (this.#session === session || !this.#session) {
      if (session) this.#leave(session);
      this.#session = { opening: this.#open(options), certificates };
      // The dials that await it report its failure.
      this.#session.opening.catch(() => {});
    }
    return await unlessAborted(this.#session.opening, options.signal);
  }

  /** Retires a connection: it closes when its streams end or the server stops responding. */
  #leave({ opening }: Session): void {
    const { signal } = this.#stop;
    opening.then((connection) =>
      Promise.all([
        connection.drain({ signal }),
        connection.keepAlive({ every: freshFor, later: seldom, deadAfter: deadLimit, signal }),
      ])
    ).catch(() => {});
  }

  /** Checks a silent connection with a ping, shared by all dials: the server may be gone or only slow. */
  async #answers(connection: Http2Connection): Promise<boolean> {
    if (this.#clock.now() - connection.heard < freshFor) return true;
    let asked = this.#asked.get(connection);
    if (!asked) {
      asked = connection.signOfLife({ signal: this.#stop.signal, ms: pingLimit })
        .then(() => true, () => false)
        .finally(() => this.#asked.delete(connection));
      this.#asked.set(connection, asked);
    }
    return await asked;
  }

  /** Opens the shared connection, so that a single canceled dial does not stop it. */
  async #open({ onStep }: DialOptions): Promise<Http2Connection> {
    const late = () => new PosternError("timeout", `Cannot reach ${this.#reach.label}: timeout`);
    const conn = await within(
      { clock: this.#clock, ms: openLimit, signal: this.#stop.signal, error: late },
      (signal) => this.#reach.connect(["h2"], { signal, onStep }),
    );
    const connection = new Http2Connection(conn, { role: "client", clock: this.#clock, connectionWindow });
    this.#connections.add(connection);
    connection.ended.then(async () => {
      this.#connections.delete(connection);
      await connection[Symbol.asyncDispose]();
    });
    return connection;
  }
}

/** The server's reason for ending a stream, if it sent one. */
async function statusFailure(grpc: GrpcStream, peer: string): Promise<PosternError | undefined> {
  const status = await grpc.status().catch(() => undefined);
  return status && status.code !== grpcCodes.ok ? grpcError(status, peer) : undefined;
}

/** How long a connection counts as alive after the last data, in ms. */
const freshFor = 5000;
const pingLimit = 3000;
/** How long a retired connection may be silent, in ms. */
const deadLimit = 20_000;
/** In ms. Go servers treat pings less than five minutes apart as an attack and drop the client after four. */
const seldom = 310_000;
const openLimit = 10_000;
/** Large enough that only stream windows limit data: unread streams must not block the others. */
const connectionWindow = 1 << 30;
