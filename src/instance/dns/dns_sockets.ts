import { type Clock, Deadlines, type Log, Tasks } from "../../core/mod.ts";
import type { Datagrams, Listening, Network } from "../../world/mod.ts";
import { describe, formatTarget, PosternError } from "../../words/mod.ts";
import { type DnsDeps, serveDnsDatagrams, serveDnsStream } from "../../dns/mod.ts";
import {
  type ListenerDeps,
  type ListenerLimits,
  type ListenerSettings,
  serveListener,
} from "../../listeners/mod.ts";

interface Address {
  readonly host: string;
  readonly port: number;
}

/** One address with its UDP and TCP sockets. */
export interface DnsSocket {
  /** The address in the settings; a reload keeps the socket while it is the same. */
  readonly key: string;
  readonly endpoint: Address;
  readonly datagrams: Datagrams;
  readonly listening: Listening;
}

export interface DnsSocketsDeps {
  readonly network: Pick<Network, "listen" | "datagrams">;
  readonly clock: Clock;
  readonly log: Log;
  readonly dns: DnsDeps;
}

/** How many free ports to try until one is free for both UDP and TCP. */
const mostTries = 10;

/** The DNS ports of an instance. A reload binds new ports before it closes any. */
export class DnsSockets implements AsyncDisposable {
  readonly #deps: DnsSocketsDeps;
  readonly #deadlines: Deadlines;
  readonly #serving: Tasks;
  #bound: readonly DnsSocket[] = [];

  constructor(deps: DnsSocketsDeps) {
    this.#deps = deps;
    this.#deadlines = new Deadlines(deps.clock);
    this.#serving = new Tasks(
      undefined,
      (error) => deps.log.error("dns.failed", { reason: describe(error) }),
    );
  }

  get bound(): readonly DnsSocket[] {
    return this.#bound;
  }

  /** Binds the wanted addresses that are not bound yet; if one fails, closes the new ones. */
  async bind(wanted: readonly ListenerSettings[]): Promise<readonly DnsSocket[]> {
    const sockets: DnsSocket[] = [];
    try {
      for (const [index, { address }] of wanted.entries()) {
        sockets.push(...await this.#bindAll(address, index));
      }
      return sockets;
    } catch (error) {
      await this.discard(sockets);
      throw error;
    }
  }

  /** Closes sockets that will not be served. */
  async discard(sockets: readonly DnsSocket[]): Promise<void> {
    for (const socket of sockets) if (!this.#bound.includes(socket)) await close(socket);
  }

  /** Serves these sockets and closes all others. */
  serve(sockets: readonly DnsSocket[], limits: ListenerLimits): void {
    const before = this.#bound;
    this.#bound = sockets;
    for (const socket of sockets) if (!before.includes(socket)) this.#serve(socket, limits);
    for (const socket of before) {
      if (sockets.includes(socket)) continue;
      this.#deps.log.info("listener.closed", { kind: "dns", address: formatTarget(socket.endpoint) });
      this.#serving.spawn(() => close(socket));
    }
  }

  /** Runs a task that disposal waits for. */
  spawn(task: () => Promise<void>): void {
    this.#serving.spawn(task);
  }

  /** Accepts no more queries; resolves after the last answer. */
  async drain(): Promise<void> {
    await this.#close();
    await this.#serving.idle();
  }

  drop(reason: unknown): void {
    this.#serving.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    await this.#serving[Symbol.asyncDispose]();
    this.#deadlines[Symbol.dispose]();
  }

  async #close(): Promise<void> {
    const sockets = this.#bound;
    this.#bound = [];
    for (const socket of sockets) await close(socket);
  }

  /** Binds both address families of `localhost` where the machine has both. */
  async #bindAll({ text, sockets }: ListenerSettings["address"], index: number): Promise<DnsSocket[]> {
    const bound: DnsSocket[] = [];
    try {
      for (const { endpoint, mayBeMissing } of sockets) {
        if ("path" in endpoint) {
          throw new PosternError(
            "config",
            `Cannot answer DNS on ${text}: DNS needs a port, not a socket file`,
          );
        }
        // The settings may contain port 0 several times.
        const key = `${formatTarget(endpoint)}#${endpoint.port === 0 ? index : ""}`;
        const known = this.#bound.find((one) => one.key === key);
        try {
          bound.push(known ?? await this.#bindOne(key, endpoint));
        } catch (error) {
          if (!mayBeMissing || !(error instanceof PosternError) || error.detail !== "network") throw error;
        }
      }
      return bound;
    } catch (error) {
      await this.discard(bound);
      throw error;
    }
  }

  async #bindOne(key: string, endpoint: Address): Promise<DnsSocket> {
    const { network } = this.#deps;
    for (let tries = 1;; tries++) {
      const listening = network.listen(endpoint);
      try {
        const port = "port" in listening.endpoint ? listening.endpoint.port : endpoint.port;
        const own = { host: endpoint.host, port };
        return { key, endpoint: own, listening, datagrams: await network.datagrams(own) };
      } catch (error) {
        listening.close();
        // The system chose a free TCP port whose UDP port is in use.
        const isTaken = error instanceof PosternError && error.detail === "in_use";
        if (!isTaken || endpoint.port !== 0 || tries >= mostTries) throw error;
      }
    }
  }

  #serve({ endpoint, listening, datagrams }: DnsSocket, limits: ListenerLimits): void {
    const { clock, log, dns } = this.#deps;
    log.info("listener.ready", { kind: "dns", address: formatTarget(endpoint) });
    const deps: ListenerDeps = {
      clock,
      log,
      deadlines: this.#deadlines,
      limits: { ...limits, connections: Math.min(limits.connections, mostClients) },
      dial: () =>
        Promise.reject(new PosternError("not_allowed", "Cannot connect: a DNS listener is not a proxy")),
    };
    this.#serving.spawn((signal) => serveDnsDatagrams(datagrams, dns, { signal }));
    this.#serving.spawn((signal) =>
      serveListener(
        listening,
        (client, messages, deps, options) =>
          serveDnsStream(client, messages, deps, { ...options, dnsDeps: dns }),
        deps,
        { signal },
      )
    );
  }
}

/** Most clients use UDP, so few TCP connections are enough. */
const mostClients = 256;

async function close({ datagrams, listening }: DnsSocket): Promise<void> {
  listening.close();
  await datagrams[Symbol.asyncDispose]();
}
