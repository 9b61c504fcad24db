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

/** One address: its UDP and its TCP half. */
export interface DnsSocket {
  /** As the settings name it: a socket stays while it is the same. */
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

/** How often a port is asked for that is free for both UDP and TCP. */
const mostTries = 10;

/** The DNS ports of a door. A reload binds new ones before it closes any. */
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

  /** Binds what is wanted and not yet bound; when one cannot be had, none is. */
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

  /** Lets go of sockets that will not be served after all. */
  async discard(sockets: readonly DnsSocket[]): Promise<void> {
    for (const socket of sockets) if (!this.#bound.includes(socket)) await close(socket);
  }

  /** Serves these from now on, and closes the others. */
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

  /** Runs something that the end of the sockets waits for. */
  spawn(task: () => Promise<void>): void {
    this.#serving.spawn(task);
  }

  /** Takes no more questions; resolves when the last answer is given. */
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

  /** Both families of `localhost`, where there are both. */
  async #bindAll({ text, sockets }: ListenerSettings["address"], index: number): Promise<DnsSocket[]> {
    const bound: DnsSocket[] = [];
    try {
      for (const { endpoint, mayBeMissing } of sockets) {
        if ("path" in endpoint) {
          throw new PosternError("config", `Cannot answer DNS on ${text}: it is no port`);
        }
        // Free ports may be asked for more than once.
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
        // The free port that the system gave for TCP is taken for UDP.
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
      dial: () => Promise.reject(new PosternError("not_allowed", "A DNS port is no proxy")),
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

/** DNS over TCP is the exception. */
const mostClients = 256;

async function close({ datagrams, listening }: DnsSocket): Promise<void> {
  listening.close();
  await datagrams[Symbol.asyncDispose]();
}
