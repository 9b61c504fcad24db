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
  /** What it was opened with. */
  readonly certificates: string;
}

/** Dials through a server's gRPC frontend: one connection to it for all, a stream for each dial. */
export class GrpcFrontend implements AsyncDisposable {
  readonly #reach: FrontendReach;
  readonly #clock: Clock;
  #session: Session | undefined;
  /** All that are open, also those that new dials do not use any more. */
  readonly #connections = new Set<Http2Connection>();
  readonly #stop = new AbortController();
  /** Those that are being asked for a sign of life. */
  readonly #asked = new Map<Http2Connection, Promise<boolean>>();

  constructor(reach: FrontendReach, { clock }: { clock: Clock }) {
    this.#reach = reach;
    this.#clock = clock;
  }

  /** Connections to the server, and streams on them. */
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
      // A server that is about to go turns away what it did not look at.
      if (!first.isRefused || options.signal.aborted) throw error;
      return await this.#dialOn(await this.#exchange(options), target, options);
    }
  }

  async #dialOn(exchange: Http2Exchange, target: Target, { signal }: DialOptions): Promise<Conn> {
    const grpc = new GrpcStream(exchange);
    const dialer = new PacketDialer(new PacketStream(grpc), { clock: this.#clock, isShared: false });
    const ended = dialer.run().then((failure) => {
      // Where the server has ended it, our half is still open.
      exchange.end();
      return failure ?? statusFailure(grpc, this.#reach.label);
    });
    try {
      const tunnel = await dialer.dial(target, { signal });
      // The stream is of this one connection only.
      tunnel.onClosed = () => exchange.end();
      return tunnel;
    } catch (error) {
      if (dialer.isOver) throw await ended.then((why) => why ?? error);
      // Who resets streams that are hardly there passes for an attacker, so one that was answered ends in order.
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
      // It ended between two dials: that is seen only when it is used.
      if (first.isOpen) throw error;
      const second = await this.#connection({ signal, onStep });
      return await second.request(fields, { signal });
    }
  }

  /** The connection that new dials share. */
  async #connection(options: DialOptions): Promise<Http2Connection> {
    const certificates = await this.#reach.certificates();
    const session = this.#session;
    if (session?.certificates === certificates) {
      const connection = await unlessAborted(session.opening, options.signal).catch(() => undefined);
      if (connection?.isOpen && await this.#answers(connection)) return connection;
      options.signal.throwIfAborted();
    }
    // Others may have begun a new one meanwhile.
    if (this.#session === session || !this.#session) {
      if (session) this.#leave(session);
      this.#session = { opening: this.#open(options), certificates };
      // Whoever waits for it hears of its failure.
      this.#session.opening.catch(() => {});
    }
    return await unlessAborted(this.#session.opening, options.signal);
  }

  /** New dials use another one: this one ends with what goes over it, or when nothing comes from it any more. */
  #leave({ opening }: Session): void {
    const { signal } = this.#stop;
    opening.then((connection) =>
      Promise.all([
        connection.drain({ signal }),
        connection.keepAlive({ every: freshFor, later: seldom, deadAfter: deadLimit, signal }),
      ])
    ).catch(() => {});
  }

  /** A connection that was silent for a while may be gone without a word, or only slow. Asked once for all who dial. */
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

  /** It is for all who wait, so no single one of them ends it. */
  async #open({ onStep }: DialOptions): Promise<Http2Connection> {
    const late = () => new PosternError("timeout", `Cannot reach ${this.#reach.label}: it does not answer`);
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

/** Why a server ended a stream, where it says so. */
async function statusFailure(grpc: GrpcStream, peer: string): Promise<PosternError | undefined> {
  const status = await grpc.status().catch(() => undefined);
  return status && status.code !== grpcCodes.ok ? grpcError(status, peer) : undefined;
}

/** For how long a connection that was heard of is believed to be there, in ms. */
const freshFor = 5000;
const pingLimit = 3000;
/** For how long one that new dials have left may say nothing at all, in ms. */
const deadLimit = 20_000;
/** A server of Go takes pings within five minutes of each other for an attack, and drops whoever sends four, in ms. */
const seldom = 310_000;
const openLimit = 10_000;
/** So large that only the windows of streams count: some that are not read must not keep all others waiting. */
const connectionWindow = 1 << 30;
