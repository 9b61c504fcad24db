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
import { fieldValue, grpcRequest, grpcStatus, type HeaderField, konnectivity } from "../../wire/mod.ts";

export interface AgentOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Connects to a server, whichever a balancer chooses. */
  readonly connect: (options: { signal: AbortSignal }) => Promise<Conn>;
  /** The name that requests give the server. */
  readonly authority: string;
  readonly id: string;
  /** What it says of itself: `host=a&ipv4=10.0.0.1`. */
  readonly identifiers: string;
  /** Its token, read anew for each connection. */
  readonly token?: () => Promise<string>;
  /** How many servers there are, which changes by itself; it is given what they say. Their word counts when absent. */
  readonly count?: (told: number) => number;
  /** Looks for more servers for ever, whatever their number is. */
  readonly looksForever?: boolean;
  /** How long, in ms, a server may be silent before it is asked for a sign of life; never longer than is usual here. */
  readonly pulse?: number;
  readonly packets?: PacketCount;
  readonly dial: Dial;
  readonly halfCloseLinger: number;
  /** How many connections one server may have it make at once. */
  readonly most: number;
  /** How long, in ms, between two tries: the first time, and at most. */
  readonly retry: { readonly first: number; readonly most: number };
  readonly random: () => number;
}

/** A connection to one server. */
interface ServerLink {
  readonly serverId: string;
  readonly answerer: PacketAnswerer;
  readonly connection: Http2Connection;
  /** How often it is asked for a sign of life. */
  readonly pulse: { readonly every: number; readonly deadAfter: number };
}

/** The agent of Konnectivity: keeps a connection to every server and makes the connections that they ask for. */
export class KonnectivityAgent {
  readonly #options: AgentOptions;
  readonly #links = new Map<string, ServerLink>();
  /** What servers say of their number. */
  #known = 1;
  #isDraining = false;
  #hasJoined = false;
  /** Servers in a row that dropped it as soon as it had joined them. */
  #drops = 0;
  /** Ends a rest of `run()`. */
  #wake: () => void = () => {};

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  /** The servers it is connected to. */
  get servers(): readonly string[] {
    return [...this.#links.keys()];
  }

  /** How many servers it looks for. */
  get wanted(): number {
    return Math.max(1, this.#options.count?.(this.#known) ?? this.#known);
  }

  get isReady(): boolean {
    return this.#links.size > 0;
  }

  /** Connections that it has made and that are open. */
  get connections(): number {
    let sum = 0;
    for (const { answerer } of this.#links.values()) sum += answerer.size;
    return sum;
  }

  /** Keeps connections to all servers until the signal ends. */
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
        // What is wrong here from the beginning does not mend itself.
        if (!this.#hasJoined && isPosternError(error, "config")) throw error;
        log.warn("server.unreachable", { reason: describe(error), retry_ms: Math.round(wait()) });
      }
      await pause(clock, wait() * (1 + 0.1 * random()), { signal }).catch(() => {});
      failures++;
    }
    signal.throwIfAborted();
  }

  /** Asks every server for no more, and waits until all connections have ended. */
  async drain({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#isDraining = true;
    const links = [...this.#links.values()];
    await Promise.all(links.map(({ answerer }) => answerer.stream.send({ type: "drain" }).catch(() => {})));
    // A server that has no other agent may ask one that drains.
    while (this.connections > 0) {
      const idle = links.map(({ answerer }) => answerer.idle);
      await unlessAborted(Promise.all(idle), signal);
    }
  }

  /** Until something changes, or the number of servers may have. */
  async #rest(ms: number | undefined, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    using _timer = ms === undefined ? undefined : this.#options.clock.after(ms, resolve);
    using _stop = whenAborted(signal, resolve);
    await promise;
  }

  /** Connects to a server; undefined when it is one that we are connected to, or none is wanted any more. */
  async #join({ signal }: { signal: AbortSignal }): Promise<ServerLink | undefined> {
    const { clock, log, authority, most, packets, pulse = usualPulse.every } = this.#options;
    const conn = await this.#options.connect({ signal });
    const connection = new Http2Connection(conn, { role: "client", clock });
    try {
      const fields = grpcRequest({
        path: konnectivity.agentPath,
        authority,
        scheme: "https",
        metadata: await this.#metadata(),
      });
      const late = () => new PosternError("timeout", `Cannot join ${connection.peer}: it does not answer`);
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
      // That it failed is told by its end.
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

/** Who the server says that it is; without that it is none, or refuses us. */
function readServer(answer: readonly HeaderField[], peer: string): { id: string; count: number } {
  const id = fieldValue(answer, "serverid");
  if (id !== undefined) {
    const count = Number(fieldValue(answer, "servercount") ?? "1");
    return { id, count: Number.isInteger(count) && count > 0 && count <= 1000 ? count : 1 };
  }
  const status = grpcStatus(answer);
  const why = status && status.code !== 0 ? `: ${status.message || `status ${status.code}`}` : "";
  throw new PosternError("auth", `Cannot join ${peer}: it does not say which server it is${why}`, {
    hint: "check this agent's certificate or token, and that the port is the one for agents",
  });
}

/** The first drop may be that of a server that goes; after so many the next try waits. */
const manyDrops = 2;
/** How long, in ms, a server that was reached may take to say who it is: nothing else is asked of it until then. */
const answerLimit = 10_000;
/** In ms: what is dead is known within ten seconds. */
const usualPulse = { every: 3000, deadAfter: 4000 };
/** A server of Kubernetes takes pings within 30 s of each other for an attack, and drops whoever sends four. */
const slowPulse = { every: 35_000, deadAfter: 10_000 };
