import {
  backoff,
  type Clock,
  type Conn,
  type Dial,
  type Log,
  pause,
  relay,
  Tasks,
  unlessAborted,
  whenAborted,
  within,
} from "../../core/mod.ts";
import { describe, isPosternError, PosternError } from "../../words/mod.ts";
import { GrpcStream, Http2Connection } from "../../mux/mod.ts";
import { isMarked, type PacketCount, PacketStream, posternMark } from "../packet_stream.ts";
import { PacketAnswerer } from "../packet_answerer.ts";
import { fieldValue, grpcRequest, grpcStatus, type HeaderField } from "../../wire/mod.ts";
import { konnectivityAgentPath } from "../packets.ts";

export interface AgentOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Connects to a server; a load balancer may choose which one. */
  readonly connect: (options: { signal: AbortSignal }) => Promise<Conn>;
  /** The `:authority` of requests. */
  readonly authority: string;
  readonly id: string;
  /** The agent's identifiers: `host=a&ipv4=10.0.0.1`. */
  readonly identifiers: string;
  /** Reads its token, once per connection. */
  readonly token?: () => Promise<string>;
  /** Returns the current number of servers from `told`, the number that servers report (default: `told`). */
  readonly count?: (told: number) => number;
  /** Never stops looking for more servers. */
  readonly looksForever?: boolean;
  /** In ms: send a ping after this time without data from a server. The built-in interval is the maximum. */
  readonly pulse?: number;
  readonly packets?: PacketCount;
  readonly dial: Dial;
  readonly halfCloseLinger: number;
  /** The maximum number of open connections per server. */
  readonly most: number;
  /** Delay between two attempts, in ms: the first and the longest. */
  readonly retry: { readonly first: number; readonly most: number };
  readonly random: () => number;
}

interface ServerLink {
  readonly serverId: string;
  readonly answerer: PacketAnswerer;
  readonly connection: Http2Connection;
  /** The ping interval and timeout. */
  readonly pulse: { readonly every: number; readonly deadAfter: number };
}

/** A Konnectivity agent: stays connected to every server and opens the connections that they request. */
export class KonnectivityAgent {
  readonly #options: AgentOptions;
  readonly #links = new Map<string, ServerLink>();
  /** The number of servers that the servers report. */
  #known = 1;
  #isDraining = false;
  #hasJoined = false;
  /** The number of consecutive servers that dropped it right after it joined. */
  #drops = 0;
  /** Wakes `run()`. */
  #wake: () => void = () => {};

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  /** The ids of the connected servers. */
  get servers(): readonly string[] {
    return [...this.#links.keys()];
  }

  /** The number of servers it wants to connect to. */
  get wanted(): number {
    return Math.max(1, this.#options.count?.(this.#known) ?? this.#known);
  }

  get isReady(): boolean {
    return this.#links.size > 0;
  }

  /** The number of open connections to targets. */
  get connections(): number {
    let sum = 0;
    for (const { answerer } of this.#links.values()) sum += answerer.size;
    return sum;
  }

  /** Keeps connections to all servers until the signal aborts. */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    const { clock, log, retry, random, count, looksForever = false } = this.#options;
    await using tasks = new Tasks(signal, (error) => log.error("agent.failed", { reason: describe(error) }));
    let failures = 0;
    const wait = () => backoff(failures, { ...retry, factor: 1.5 });
    while (!signal.aborted) {
      try {
        if (!this.#isDraining && (looksForever || this.#links.size < this.wanted)) {
          const link = await this.#join({ signal });
          const isTaken = this.#drops < manyDrops;
          if (!link || isTaken) failures = 0;
          if (link) tasks.spawn((signal) => this.#serve(link, { signal }));
          if (link && isTaken) continue;
        } else {
          await this.#rest(count && retry.first, signal);
          continue;
        }
      } catch (error) {
        if (signal.aborted) break;
        // A configuration error before the first success is permanent.
        if (!this.#hasJoined && isPosternError(error, "config")) throw error;
        log.warn("server.unreachable", { reason: describe(error), retry_ms: Math.round(wait()) });
      }
      await pause(clock, wait() * (1 + 0.1 * random()), { signal }).catch(() => {});
      failures++;
    }
    signal.throwIfAborted();
  }

  /** Tells every server to send no more dials, and waits until all connections have ended. */
  async drain({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#isDraining = true;
    const links = [...this.#links.values()];
    await Promise.all(links.map(({ answerer }) => answerer.stream.send({ type: "drain" }).catch(() => {})));
    // A server without other agents may still dial through a draining one.
    while (this.connections > 0) {
      const idle = links.map(({ answerer }) => answerer.idle);
      await unlessAborted(Promise.all(idle), signal);
    }
  }

  /** Waits until something changes, or until the number of servers may have changed. */
  async #rest(ms: number | undefined, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    using _timer = ms === undefined ? undefined : this.#options.clock.after(ms, resolve);
    using _stop = whenAborted(signal, resolve);
    await promise;
  }

  /** Connects to a server. Returns undefined when it is already connected, or when the agent drains. */
  async #join({ signal }: { signal: AbortSignal }): Promise<ServerLink | undefined> {
    const { clock, log, authority, most, packets, pulse = usualPulse.every } = this.#options;
    const conn = await this.#options.connect({ signal });
    const connection = new Http2Connection(conn, { role: "client", clock });
    try {
      const fields = grpcRequest({
        path: konnectivityAgentPath,
        authority,
        scheme: "https",
        metadata: await this.#metadata(),
      });
      const late = () => new PosternError("timeout", `Cannot join ${connection.peer}: timeout`);
      const { exchange, answer } = await within(
        { clock, ms: answerLimit, signal, error: late },
        async (signal) => {
          const exchange = await connection.request(fields, { signal });
          return { exchange, answer: await unlessAborted(exchange.answer, signal) };
        },
      );
      const { id: serverId, count } = readServer(answer, connection.peer);
      this.#known = count;
      if (this.#isDraining || this.#links.has(serverId)) {
        await connection[Symbol.asyncDispose]();
        return undefined;
      }
      const answerer = new PacketAnswerer(new PacketStream(new GrpcStream(exchange), packets), {
        clock,
        isShared: true,
        most,
        onError: (error) => log.error("connection.failed", { reason: describe(error) }),
        answer: (target, { signal }) => this.#answer(target, { signal, client: serverId }),
      });
      const every = Math.min(pulse, usualPulse.every);
      const link = {
        serverId,
        answerer,
        connection,
        pulse: isMarked(answer) ? { ...usualPulse, every } : slowPulse,
      };
      this.#links.set(serverId, link);
      this.#hasJoined = true;
      log.info("server.joined", { server: serverId, peer: connection.peer, servers: count });
      return link;
    } catch (error) {
      connection.abort(error);
      await connection[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #serve(
    { serverId, answerer, connection, pulse }: ServerLink,
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    const { log, clock, retry } = this.#options;
    const began = clock.now();
    using _stop = whenAborted(signal, () => connection.abort(signal.reason));
    try {
      // The end of the connection reports the failure.
      const watching = connection.keepAlive({ ...pulse, signal }).catch(() => {});
      await answerer.run({ signal });
      connection.abort();
      await watching;
      log.info("server.left", { server: serverId });
    } catch (error) {
      if (signal.aborted) log.info("server.left", { server: serverId });
      else log.warn("server.lost", { server: serverId, reason: describe(error) });
    } finally {
      this.#links.delete(serverId);
      this.#drops = clock.now() - began < retry.first ? this.#drops + 1 : 0;
      connection.abort();
      await connection[Symbol.asyncDispose]();
      this.#wake();
    }
  }

  async #answer(
    target: { readonly host: string; readonly port: number },
    { signal, client }: { signal: AbortSignal; client: string },
  ): Promise<(asker: Conn) => Promise<void>> {
    const { clock, dial, halfCloseLinger } = this.#options;
    const dialed = await dial({ target, client, protocol: "konnectivity" }, { signal });
    return async (asker) => {
      const { conn, tally } = dialed;
      const { outcome, error } = await relay(asker, conn, { clock, tally, halfCloseLinger });
      dialed.finish(outcome, error);
    };
  }

  async #metadata(): Promise<HeaderField[]> {
    const { id, identifiers, token } = this.#options;
    const metadata: HeaderField[] = [["agentid", id]];
    if (identifiers !== "") metadata.push(["agentidentifiers", identifiers]);
    if (token) metadata.push(["authorization", `Bearer ${(await token()).trim()}`]);
    return [...metadata, posternMark];
  }
}

/** Reads the server's id. A server without one is not a Konnectivity server or rejects this agent. */
function readServer(answer: readonly HeaderField[], peer: string): { id: string; count: number } {
  const id = fieldValue(answer, "serverid");
  if (id !== undefined) {
    const count = Number(fieldValue(answer, "servercount") ?? "1");
    return { id, count: Number.isInteger(count) && count > 0 && count <= 1000 ? count : 1 };
  }
  const status = grpcStatus(answer);
  const why = status && status.code !== 0 ? `: ${status.message || `status ${status.code}`}` : "";
  throw new PosternError("auth", `Cannot join ${peer}: its response has no server id${why}`, {
    hint: "check this agent's certificate or token, and that the port is the server's agent port",
  });
}

/** A single drop may come from a server that shuts down; after this many, wait before the next attempt. */
const manyDrops = 2;
/** In ms: how long a server may take to send its id; the agent joins no other server in that time. */
const answerLimit = 10_000;
/** In ms: detects a dead server within ten seconds. */
const usualPulse = { every: 3000, deadAfter: 4000 };
/** In ms. Upstream servers treat pings less than 30 s apart as an attack and drop the agent after four. */
const slowPulse = { every: 35_000, deadAfter: 10_000 };
