import { eachAtOnce, type Log, within } from "../../core/mod.ts";
import { asPosternError, describe, isPosternError, parseIPv4, PosternError } from "../../words/mod.ts";
import { directoryOf, type World } from "../../world/mod.ts";
import type { HostsInfo } from "../../control/mod.ts";
import { type DnsAnswer, isDnsName } from "../../dns/mod.ts";
import { checkedId } from "../../instances/mod.ts";
import { type Plan, transportOf } from "../../plan/mod.ts";
import { portsAfterReload } from "./dns_names.ts";
import { type FakeAddresses, isHostName } from "./fake_addresses.ts";
import type { LoopbackListeners } from "./loopback_listeners.ts";

type LeftOutHost = HostsInfo["problems"][number];

export interface PinnedHostsDeps {
  readonly world: World;
  readonly log: Log;
  readonly id: string;
  readonly plan: () => Plan;
  /** The loopback addresses of the current configuration. */
  readonly addresses: () => FakeAddresses | undefined;
  readonly listeners: LoopbackListeners;
  /** Answers a question for the address of a name, and listens on it. */
  readonly ask: (name: string, options: { readonly signal: AbortSignal }) => DnsAnswer | Promise<DnsAnswer>;
}

/** The maximum number of names in a hosts file. */
const mostHosts = 10_000;
/** How many names to look up at once, and how long to wait for one in ms. */
const atOnce = 16;
const patience = 4000;
/** How long the list of a cluster's Services may take, in ms. */
const listPatience = 15_000;
/**
 * The names of a hosts file. A client of such a file sends no query, so the instance listens for these names
 * from its start, until other names are printed or the names are released.
 */
export class PinnedHosts {
  readonly #deps: PinnedHostsDeps;

  constructor(deps: PinnedHostsDeps) {
    this.#deps = deps;
  }

  /** Listens for these names (default: all known ones) instead of those printed before, and stores them. */
  async print(
    names: readonly string[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<HostsInfo> {
    const addresses = this.#addresses();
    const problems: LeftOutHost[] = [];
    const wanted = names.length > 0 ? names : await this.#known(addresses, problems, signal);
    if (wanted.length > mostHosts) throw tooMany(wanted.length);
    const found = await this.#found(wanted, problems, signal);
    const hosts = found.sort((one, other) => one.name < other.name ? -1 : 1);
    // A name may be an alias: the address belongs to the name behind it.
    const pinned = new Map(hosts.map(({ address, ports }) => [addresses.nameOf(address) ?? "", ports]));
    await this.#keep(pinned);
    this.#deps.listeners.unpin((name) => pinned.has(name));
    return { range: addresses.range.text, hosts, problems };
  }

  /** Lets the listeners of all printed names close again. */
  async release(): Promise<HostsInfo> {
    const { range } = this.#addresses();
    await this.#keep(new Map());
    this.#deps.listeners.unpin(() => false);
    return { range: range.text, hosts: [], problems: [] };
  }

  /**
   * Listens for the stored names that have another route than direct: after a start, or after a reload that
   * brings a rule back. It asks no cluster, because no client needs one yet; the next query of a name brings its
   * current ports.
   */
  async restore(): Promise<void> {
    const { world: { files }, log, listeners, plan } = this.#deps;
    const addresses = this.#deps.addresses();
    if (!addresses) return;
    let text: string | undefined;
    try {
      text = await files.readTextIfThere(this.#path, { limit: mostHosts * 1000 });
    } catch (error) {
      // The instance works without the names; a client of the file sees a refused connection.
      log.warn("dns.hosts_lost", { path: this.#path, reason: describe(error) });
    }
    for (const line of (text ?? "").split("\n").slice(0, mostHosts)) {
      const [, name = "", stored = ""] = /^(\S{1,253}) ([0-9,]+)$/.exec(line) ?? [];
      const now = isDnsName(name) ? portsAfterReload(name, plan()) : [];
      const ports = now === "kept" ? stored.split(",").map(Number).filter(isPort) : now;
      if (ports.length === 0 || listeners.pin(name)) continue;
      try {
        const address = await addresses.addressOf(name);
        if (this.#deps.addresses() !== addresses) return;
        listeners.open(name, { address, ports });
        listeners.pin(name);
      } catch (error) {
        if (isPosternError(error, "cancelled")) return;
        log.warn("dns.host_missing", { name, reason: describe(error) });
      }
    }
  }

  get #path(): string {
    const { world: { places }, id } = this.#deps;
    return `${places.state}/dns/${checkedId(id)}.hosts`;
  }

  #addresses(): FakeAddresses {
    const addresses = this.#deps.addresses();
    if (addresses) return addresses;
    throw new PosternError("config", "Cannot list hosts: the instance assigns no loopback addresses", {
      hint: "set dns.loopback, for example to 127.64.0.0/12, and listen.dns",
    });
  }

  async #keep(hosts: ReadonlyMap<string, readonly number[]>): Promise<void> {
    const { files } = this.#deps.world;
    await files.privateDirectory(directoryOf(this.#path));
    const lines = [...hosts].map(([name, ports]) => `${name} ${ports.join()}\n`);
    await files.replace(this.#path, lines.join(""));
  }

  /** The Services of the clusters, the names of rules for one host, and the names that were looked up. */
  async #known(addresses: FakeAddresses, problems: LeftOutHost[], signal: AbortSignal): Promise<string[]> {
    const plan = this.#deps.plan();
    const names = new Set(addresses.names);
    for (const { pattern } of plan.config.rules) {
      if (pattern.kind === "name" && (pattern.scope === "exact" || pattern.port !== undefined)) {
        names.add(pattern.name);
      }
    }
    for (const [transport, { transport: { names: far } }] of plan.transports.byName) {
      if (!far?.all) continue;
      const leadsThere = (host: string) =>
        transportOf(plan, plan.router.route({ host, port: 0 })).name === transport;
      try {
        const all = await this.#within(
          `the Services of ${transport}`,
          listPatience,
          signal,
          (signal) => far.all?.({ signal }) ?? Promise.resolve([]),
        );
        for (const spellings of all) {
          const name = spellings.find(leadsThere);
          if (name !== undefined) names.add(name);
        }
      } catch (error) {
        signal.throwIfAborted();
        problems.push({ name: transport, reason: asPosternError(error).message });
      }
    }
    return [...names].sort();
  }

  /** Listens for the names; the others are problems. */
  async #found(
    names: readonly string[],
    problems: LeftOutHost[],
    signal: AbortSignal,
  ): Promise<HostsInfo["hosts"][number][]> {
    const hosts: HostsInfo["hosts"][number][] = [];
    await eachAtOnce(names, atOnce, async (name) => {
      try {
        hosts.push(await this.#pinned(name, signal));
      } catch (error) {
        signal.throwIfAborted();
        problems.push({ name, reason: asPosternError(error).message });
      }
    });
    return hosts;
  }

  async #pinned(name: string, signal: AbortSignal): Promise<HostsInfo["hosts"][number]> {
    const { ask, listeners } = this.#deps;
    if (!isDnsName(name) || !isHostName(name)) throw noAddress(name);
    const answer = await this.#within(
      `"${name}"`,
      patience,
      signal,
      async (signal) => await ask(name, { signal }),
    );
    const records = answer.kind === "records" ? answer.records : [];
    for (const record of records) {
      if (record.type !== "A" || !parseIPv4(record.address)) continue;
      const owner = this.#addresses().nameOf(record.address);
      const ports = owner === undefined ? undefined : listeners.pin(owner);
      if (ports) return { address: record.address, name, ports };
    }
    throw noAddress(name);
  }

  async #within<T>(
    what: string,
    ms: number,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#deps.world;
    const error = () => new PosternError("timeout", `Cannot resolve ${what}: no answer in time`);
    return await within({ clock, ms, signal, error }, work);
  }
}

function isPort(port: number): boolean {
  return port > 0 && port < 65_536;
}

function noAddress(name: string): PosternError {
  return new PosternError(
    "name_not_found",
    `Cannot give "${
      name.slice(0, 253)
    }" a loopback address: no rule routes the name, or its ports are unknown`,
  );
}

function tooMany(count: number): PosternError {
  return new PosternError("usage", `Cannot list ${count} hosts: the maximum is ${mostHosts}`, {
    hint: "name the hosts: postern hosts db.shop.svc",
  });
}
