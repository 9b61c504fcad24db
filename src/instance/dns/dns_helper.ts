import { type Clock, Counter, type Dial, type Log, type Metric } from "../../core/mod.ts";
import {
  describe,
  type Endpoint,
  formatTarget,
  normalHost,
  PosternError,
  type Target,
} from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { DnsInfo, HostsInfo } from "../../control/mod.ts";
import { type DnsReply, type FakeRange, lookupRange } from "../../dns/mod.ts";
import type { ListenerLimits } from "../../listeners/mod.ts";
import { DnsNames, type Look, type LoopbackAddresses, portsAfterReload } from "./dns_names.ts";
import { type DnsSocket, DnsSockets } from "./dns_sockets.ts";
import { dnsDomains } from "./dns_domains.ts";
import { addressFile, FakeAddresses } from "./fake_addresses.ts";
import { LoopbackListeners } from "./loopback_listeners.ts";
import { type Meaning, meaningOf } from "./meaning.ts";
import { PinnedHosts } from "./pinned_hosts.ts";
import { PortRefusals } from "./port_refusals.ts";
import type { Plan, Settings } from "../../plan/mod.ts";

export interface DnsHelperDeps {
  readonly world: World;
  readonly log: Log;
  readonly id: string;
  readonly plan: () => Plan;
  readonly look: Look;
  /** Dials for the clients of loopback addresses. */
  readonly dial: Dial;
  /** The other listeners of the instance. */
  readonly listeners: () => Iterable<Endpoint>;
}

/** The sockets and addresses of a plan, before the instance uses them. */
export interface PreparedDns {
  readonly sockets: readonly DnsSocket[];
  readonly fakes: FakeAddresses | undefined;
  readonly loopback: FakeAddresses | undefined;
  readonly settings: Settings["dns"];
}

/** Answers DNS for an instance, maps addresses to names, and listens on the loopback addresses of names. */
export class DnsHelper implements AsyncDisposable {
  readonly #deps: DnsHelperDeps;
  readonly #sockets: DnsSockets;
  readonly #counter = new Counter("postern_dns_queries_total", "DNS queries.", ["protocol", "outcome"]);
  readonly #failures: Failures;
  readonly #listeners: LoopbackListeners;
  readonly #refusals: PortRefusals;
  readonly #hosts: PinnedHosts;
  readonly #portless = new Set<string>();
  #fakes: FakeAddresses | undefined;
  #lookups: FakeAddresses | undefined;
  #openingLookups: Promise<FakeAddresses> | undefined;
  #loopback: FakeAddresses | undefined;

  constructor(deps: DnsHelperDeps) {
    const { world, log, plan, look, dial, listeners } = deps;
    const { network, clock } = world;
    this.#deps = deps;
    this.#failures = new Failures(clock, log);
    const spawn = (task: () => Promise<void>) => this.#sockets.spawn(task);
    const refusals = this.#refusals = new PortRefusals({ world, log, own: listeners, spawn });
    this.#listeners = new LoopbackListeners({
      network,
      clock,
      log,
      dial,
      refused: (refusal) => refusals.tell(refusal),
      used: (address) => void this.#loopback?.nameOf(address),
    });
    const answers = new DnsNames(() => ({
      plan: plan(),
      fakes: this.#fakes,
      loopback: this.#loopback && this.#addresses(this.#loopback),
    }), look);
    this.#hosts = new PinnedHosts({
      ...deps,
      addresses: () => this.#loopback,
      listeners: this.#listeners,
      ask: (name, options) => answers.answer({ name, type: "A" }, options),
    });
    const told = (protocol: "udp" | "tcp", reply: DnsReply) => this.#tell(protocol, reply);
    this.#sockets = new DnsSockets({ network, clock, log, dns: { answers, clock, log, told } });
  }

  /** The addresses on which it answers. */
  get endpoints(): readonly { readonly host: string; readonly port: number }[] {
    return this.#sockets.bound.map(({ endpoint }) => endpoint);
  }

  /** Binds and opens everything these settings need, without using any of it yet. */
  async prepare({ dns, listen }: Settings): Promise<PreparedDns> {
    // Clients may still use addresses from before a restart.
    await this.#recallLookups();
    const { world, id } = this.#deps;
    const fakes = await this.#opened(dns?.fakeRange, this.#fakes, addressFile(world, id, "addresses"));
    let loopback: FakeAddresses | undefined;
    try {
      loopback = await this.#opened(dns?.loopback, this.#loopback, addressFile(world, id, "loopback"));
      return { fakes, loopback, settings: dns, sockets: await this.#sockets.bind(listen?.dns ?? []) };
    } catch (error) {
      await this.#close(fakes, this.#fakes);
      await this.#close(loopback, this.#loopback);
      throw error;
    }
  }

  /** Releases prepared sockets and addresses. */
  async discard({ sockets, fakes, loopback }: PreparedDns): Promise<void> {
    await this.#sockets.discard(sockets);
    await this.#close(fakes, this.#fakes);
    await this.#close(loopback, this.#loopback);
  }

  /** Closes prepared addresses that will not be used, and gives their file back to the addresses in use. */
  async #close(prepared: FakeAddresses | undefined, current: FakeAddresses | undefined): Promise<void> {
    if (!prepared || prepared === current) return;
    await prepared[Symbol.asyncDispose]();
    // The caller of the reload reports why it failed.
    await current?.takeBack().catch((error) =>
      this.#deps.log.error("dns.addresses_lost", { reason: describe(error) })
    );
  }

  /** Replaces the current sockets and addresses with the prepared ones. */
  use({ sockets, fakes, loopback, settings }: PreparedDns, limits: ListenerLimits): void {
    const replaced = [[this.#fakes, fakes], [this.#loopback, loopback]] as const;
    const isOther = this.#loopback !== loopback;
    this.#fakes = fakes;
    this.#loopback = loopback;
    this.#sockets.serve(sockets, limits);
    if (settings) this.#listeners.configure(limits, { most: settings.maxListeners, idle: settings.idle });
    if (isOther) this.#listeners.retain(() => false);
    if (isOther && loopback) {
      this.#deps.log.info("dns.loopback", {
        range: loopback.range.text,
        access: "any local user can connect to the names",
      });
    }
    for (const [before, now] of replaced) {
      if (before && before !== now) this.#sockets.spawn(() => before[Symbol.asyncDispose]());
    }
  }

  /**
   * Applies the current plan: closes the listeners of names with another route, changes the ports of others, and
   * listens for the names of a hosts file.
   */
  follow(): void {
    this.#refusals.forget();
    this.#portless.clear();
    const plan = this.#deps.plan();
    this.#listeners.change((name) => portsAfterReload(name, plan));
    this.#sockets.spawn(() => this.#hosts.restore());
  }

  /** Maps the target of a request: a fake address stands for a name. */
  meaningOf(target: Target): Meaning {
    return meaningOf(target, { fakes: this.#fakes, loopback: this.#loopback, lookups: this.#lookups });
  }

  /** The loopback address on which the instance listens for a target now. */
  loopbackOf({ host, port }: Target): string | undefined {
    const address = this.#listeners.addressOf(normalHost(host), port);
    return address === undefined ? undefined : formatTarget({ host: address, port });
  }

  /** The address that stands for a name in lower case. */
  async standIn(name: string): Promise<string> {
    return await (this.#fakes ?? await this.#openLookups()).addressOf(name);
  }

  /** The DNS part of `postern status`; undefined when the instance does not answer DNS. */
  info(): DnsInfo | undefined {
    if (this.endpoints.length === 0) return undefined;
    return {
      addresses: this.endpoints,
      domains: dnsDomains(this.#deps.plan()),
      ...(this.#fakes && { fakeAddresses: this.#fakes.size }),
      ...(this.#loopback && {
        loopback: {
          range: this.#loopback.range.text,
          names: this.#listeners.names,
          listeners: this.#listeners.size,
        },
      }),
    };
  }

  /** Listens for the names of a hosts file (default: all known ones), or for none. */
  async hosts(names: readonly string[] | "none", options: { signal: AbortSignal }): Promise<HostsInfo> {
    return names === "none" ? await this.#hosts.release() : await this.#hosts.print(names, options);
  }

  collect(): Metric[] {
    const metrics: Metric[] = [];
    if (this.#sockets.bound.length > 0) metrics.push(this.#counter.metric());
    const gauge = (name: string, help: string, value: number) =>
      metrics.push({ kind: "gauge", name, help, samples: [{ labels: {}, value }] });
    if (this.#fakes) {
      gauge("postern_dns_fake_addresses", "Names with an address in the fake range.", this.#fakes.size);
    }
    if (this.#loopback) {
      const { names, size } = this.#listeners;
      gauge("postern_dns_loopback_names", "Names with listeners on a loopback address.", names);
      gauge("postern_dns_loopback_listeners", "Listeners on loopback addresses of names.", size);
    }
    return metrics;
  }

  async drain(): Promise<void> {
    await Promise.all([this.#sockets.drain(), this.#listeners.drain()]);
  }

  drop(reason: unknown): void {
    this.#sockets.drop(reason);
    this.#listeners.drop(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sockets[Symbol.asyncDispose]();
    await this.#listeners[Symbol.asyncDispose]();
    await this.#fakes?.[Symbol.asyncDispose]();
    await this.#loopback?.[Symbol.asyncDispose]();
    const lookups = await this.#openingLookups?.catch(() => undefined);
    await lookups?.[Symbol.asyncDispose]();
  }

  /** Reads the addresses that an earlier run gave to clients; without them, the instance still starts. */
  async #recallLookups(): Promise<void> {
    const { world, log, id } = this.#deps;
    const path = addressFile(world, id, "lookups");
    if (this.#lookups) return;
    try {
      if (await world.files.info(path)) await this.#openLookups();
    } catch (error) {
      log.error("dns.addresses_lost", { path, reason: describe(error) });
    }
  }

  async #openLookups(): Promise<FakeAddresses> {
    const { world, log, id } = this.#deps;
    const opening = this.#openingLookups ??= FakeAddresses.open(world, addressFile(world, id, "lookups"), {
      range: lookupRange,
      log,
    });
    try {
      return this.#lookups = await opening;
    } catch (error) {
      this.#openingLookups = undefined;
      throw error;
    }
  }

  async #opened(
    range: FakeRange | undefined,
    current: FakeAddresses | undefined,
    path: string,
  ): Promise<FakeAddresses | undefined> {
    if (!range || current?.range.text === range.text) return range && current;
    const { world, log } = this.#deps;
    return await FakeAddresses.open(world, path, { range, log });
  }

  #addresses(addresses: FakeAddresses): LoopbackAddresses {
    return {
      nameOf: (address) => addresses.nameOf(address),
      open: async (name, ports) => {
        const address = await addresses.addressOf(name);
        // A reload may have replaced the range meanwhile.
        if (addresses !== this.#loopback) throw replaced(name);
        this.#listeners.open(name, { address, ports });
        return address;
      },
      portless: (name) => {
        if (this.#portless.has(name) || this.#portless.size >= mostPortless) return;
        this.#portless.add(name);
        this.#deps.log.warn("dns.no_ports", {
          name,
          reason: "postern does not know the ports of the name",
          hint: "set dns.ports, or name the port in a rule",
        });
      },
    };
  }

  #tell(protocol: "udp" | "tcp", { outcome, asked, error }: DnsReply): void {
    this.#counter.add(1, protocol, outcome);
    const { log } = this.#deps;
    if (outcome === "failed") this.#failures.tell(asked?.name ?? "", error);
    if (log.writes("debug")) {
      log.debug("dns.asked", { protocol, outcome, name: asked?.name, type: asked?.type });
    }
  }
}

/** The maximum number of names without ports to log. */
const mostPortless = 100;

function replaced(name: string): PosternError {
  return new PosternError("cancelled", `Cannot resolve "${name}": the configuration changes`);
}

/** Logs failed answers at most once a second, because clients repeat their queries. */
class Failures {
  readonly #clock: Clock;
  readonly #log: Log;
  #toldAt = -Infinity;
  #count = 0;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  tell(name: string, error: unknown): void {
    this.#count++;
    const now = this.#clock.now();
    if (now - this.#toldAt < 1000) return;
    this.#toldAt = now;
    this.#log.warn("dns.no_answer", { name, count: this.#count, reason: describe(error) });
    this.#count = 0;
  }
}
