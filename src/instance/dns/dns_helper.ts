import { type Clock, Counter, type Log, type Metric } from "../../core/mod.ts";
import { describe, type Target } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { DnsInfo } from "../../control/mod.ts";
import { type DnsReply, type FakeRange, lookupRange } from "../../dns/mod.ts";
import type { ListenerLimits } from "../../listeners/mod.ts";
import { DnsNames } from "./dns_names.ts";
import { type DnsSocket, DnsSockets } from "./dns_sockets.ts";
import { dnsDomains } from "./dns_domains.ts";
import { FakeAddresses, fakeAddressFile, lookupFile } from "./fake_addresses.ts";
import { type Meaning, meaningOf } from "./meaning.ts";
import type { Plan, Settings } from "../../plan/mod.ts";

export interface DnsHelperDeps {
  readonly world: World;
  readonly log: Log;
  readonly id: string;
  readonly plan: () => Plan;
}

/** The sockets and addresses of a plan, before the instance uses them. */
export interface PreparedDns {
  readonly sockets: readonly DnsSocket[];
  readonly fakes: FakeAddresses | undefined;
}

/** Answers DNS for an instance and maps fake addresses to names. */
export class DnsHelper implements AsyncDisposable {
  readonly #deps: DnsHelperDeps;
  readonly #sockets: DnsSockets;
  readonly #counter = new Counter("postern_dns_queries_total", "DNS queries.", ["protocol", "outcome"]);
  readonly #failures: Failures;
  #fakes: FakeAddresses | undefined;
  #lookups: FakeAddresses | undefined;
  #openingLookups: Promise<FakeAddresses> | undefined;

  constructor(deps: DnsHelperDeps) {
    const { world: { network, clock }, log, plan } = deps;
    this.#deps = deps;
    this.#failures = new Failures(clock, log);
    const answers = new DnsNames(() => ({ plan: plan(), fakes: this.#fakes }));
    const told = (protocol: "udp" | "tcp", reply: DnsReply) => this.#tell(protocol, reply);
    this.#sockets = new DnsSockets({ network, clock, log, dns: { answers, clock, log, told } });
  }

  /** The addresses on which it answers. */
  get endpoints(): readonly { readonly host: string; readonly port: number }[] {
    return this.#sockets.bound.map(({ endpoint }) => endpoint);
  }

  /** Binds and opens everything these settings need, without using any of it yet. */
  async prepare(settings: Settings): Promise<PreparedDns> {
    // Clients may still use addresses from before a restart.
    await this.#recallLookups();
    const range = settings.dns?.fakeRange;
    const fakes = range && await this.#opened(range);
    try {
      return { fakes, sockets: await this.#sockets.bind(settings.listen?.dns ?? []) };
    } catch (error) {
      await this.#close(fakes);
      throw error;
    }
  }

  /** Releases prepared sockets and addresses. */
  async discard({ sockets, fakes }: PreparedDns): Promise<void> {
    await this.#sockets.discard(sockets);
    await this.#close(fakes);
  }

  /** Closes prepared addresses that will not be used, and gives their file back to the addresses in use. */
  async #close(fakes: FakeAddresses | undefined): Promise<void> {
    if (!fakes || fakes === this.#fakes) return;
    await fakes[Symbol.asyncDispose]();
    // The caller of the reload reports why it failed.
    await this.#fakes?.takeBack().catch((error) =>
      this.#deps.log.error("dns.addresses_lost", { reason: describe(error) })
    );
  }

  /** Replaces the current sockets and addresses with the prepared ones. */
  use({ sockets, fakes }: PreparedDns, limits: ListenerLimits): void {
    const before = this.#fakes;
    this.#fakes = fakes;
    this.#sockets.serve(sockets, limits);
    if (before && before !== fakes) this.#sockets.spawn(() => before[Symbol.asyncDispose]());
  }

  /** Maps the target of a request: a fake address stands for a name. */
  meaningOf(target: Target): Meaning {
    return meaningOf(target, { fakes: this.#fakes, lookups: this.#lookups });
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
    };
  }

  collect(): Metric[] {
    const metrics: Metric[] = [];
    if (this.#sockets.bound.length > 0) metrics.push(this.#counter.metric());
    if (this.#fakes) {
      metrics.push({
        kind: "gauge",
        name: "postern_dns_fake_addresses",
        help: "Names with an address in the fake range.",
        samples: [{ labels: {}, value: this.#fakes.size }],
      });
    }
    return metrics;
  }

  drain(): Promise<void> {
    return this.#sockets.drain();
  }

  drop(reason: unknown): void {
    this.#sockets.drop(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sockets[Symbol.asyncDispose]();
    await this.#fakes?.[Symbol.asyncDispose]();
    const lookups = await this.#openingLookups?.catch(() => undefined);
    await lookups?.[Symbol.asyncDispose]();
  }

  /** Reads the addresses that an earlier run gave to clients; without them, the instance still starts. */
  async #recallLookups(): Promise<void> {
    const { world, log, id } = this.#deps;
    const path = lookupFile(world, id);
    if (this.#lookups) return;
    try {
      if (await world.files.info(path)) await this.#openLookups();
    } catch (error) {
      log.error("dns.addresses_lost", { path, reason: describe(error) });
    }
  }

  async #openLookups(): Promise<FakeAddresses> {
    const { world, log, id } = this.#deps;
    const opening = this.#openingLookups ??= FakeAddresses.open(world, lookupFile(world, id), {
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

  async #opened(range: FakeRange): Promise<FakeAddresses> {
    if (this.#fakes?.range.text === range.text) return this.#fakes;
    const { world, log, id } = this.#deps;
    return await FakeAddresses.open(world, fakeAddressFile(world, id), { range, log });
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
