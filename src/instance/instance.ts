import { describe, type Endpoint, formatTarget, PosternError, type Target } from "../words/mod.ts";
import { type Clock, type Dialed, type DialRequest, type Log, type Metric, Tasks } from "../core/mod.ts";
import type { Listening, World } from "../world/mod.ts";
import type { ExplanationInfo, HostsInfo, InstancePhase, ReloadReport, Status } from "../control/mod.ts";
import type { ForwardSettings, Pages } from "../listeners/mod.ts";
import type { DnsDelegation } from "../resolver/mod.ts";
import {
  addedTransports,
  changesBetween,
  type ConfigReading,
  listenOf,
  type LoadedConfig,
  type Plan,
  readUsers,
  Transports,
} from "../plan/mod.ts";
import { demandRights, needsOfPlan } from "./care/plan_needs.ts";
import { RetiredTransports } from "./care/retired_transports.ts";
import { demandUsable, TransportCare } from "./care/transport_care.ts";
import { ConnectionTable } from "./dials/connection_table.ts";
import { Dials } from "./dials/dials.ts";
import { ListenerNames } from "./dns/client_names.ts";
import { DnsHelper } from "./dns/dns_helper.ts";
import { explainMeant } from "./dns/meaning.ts";
import { type EnvironmentListener, reachableAt } from "./environment/proxy_environment.ts";
import { InstanceMetrics } from "./instance_metrics.ts";
import { statusOf } from "./instance_status.ts";
import { leaving, Lifecycle } from "./lifecycle.ts";
import { withForward } from "./listening/forward_at.ts";
import type { LentForwards } from "./listening/lent_forwards.ts";
import { dnsChanges, listenerChanges } from "./listening/listener_changes.ts";
import { ListenerSet } from "./listening/listener_set.ts";
import { UdpRelays } from "./udp/udp_relays.ts";
import { InstanceWatch } from "./watching/instance_watch.ts";
import { LogTail } from "./watching/log_tail.ts";

export interface InstanceOptions {
  readonly version: string;
  readonly id: string;
  readonly log: Log;
  readonly pages: (instance: Instance) => Pages;
  /** Sockets from the service manager; the instance closes them. */
  readonly handedOver?: readonly Listening[];
  /**
   * How to ask the user for credentials. The default is "terminal": a background instance opens no browser
   * window.
   */
  readonly asks?: "none" | "terminal" | "any";
}

/** Reads a configuration and applies it. When `apply` fails, everything stays as before. */
export type ReloadWork = (
  apply: (reading: ConfigReading) => Promise<ReloadReport>,
) => Promise<ReloadReport>;

/** One running instance: its listeners, transports and connections. */
export class Instance implements AsyncDisposable {
  readonly connections: ConnectionTable;
  readonly metrics = new InstanceMetrics();
  /** Writes to the log of the options and keeps the last lines. */
  readonly log: Log;
  /** Reports what happens to all watchers. */
  readonly watch: InstanceWatch;
  readonly transports: Transports;
  readonly startedAt: Date;
  readonly #world: World;
  readonly #options: InstanceOptions;
  readonly #listeners: ListenerSet;
  readonly #dials: Dials;
  readonly #udp: UdpRelays;
  readonly #lifecycle = new Lifecycle();
  /** Why the last reload failed. */
  #problem: string | undefined;
  readonly #retired: RetiredTransports;
  readonly #tasks: Tasks;
  readonly #care: TransportCare;
  readonly #dns: DnsHelper;
  #dropping: Disposable | undefined;

  /** Builds everything and starts nothing. */
  constructor(world: World, config: LoadedConfig, options: InstanceOptions) {
    const { clock } = world;
    const tail = new LogTail(options.log, clock);
    const log = this.log = tail.log;
    this.#world = world;
    this.#options = options;
    this.startedAt = clock.date();
    const connections = this.connections = new ConnectionTable({ clock, log, metrics: this.metrics });
    this.watch = new InstanceWatch({ clock, connections, tail, status: () => this.status() });
    this.#retired = new RetiredTransports(this.connections, log);
    this.#tasks = new Tasks(
      undefined,
      (error) => log.error("instance.task_failed", { reason: describe(error) }),
    );
    this.#care = new TransportCare({ clock, network: world.network, log });
    this.transports = new Transports(world, config, {
      log,
      asks: options.asks ?? "terminal",
      endpoints: () => this.endpoints,
    });
    this.#dns = new DnsHelper({
      world,
      log,
      id: options.id,
      plan: () => this.plan,
      look: (target, options) => this.transports.routed(target, options),
      dial: (request, options) => this.#dials.dial(request, options),
      listeners: () => this.#listeners.bound.map(({ endpoint }) => endpoint),
    });
    this.#dials = new Dials({ world, clock, connections, dns: this.#dns, transports: this.transports });
    this.#udp = new UdpRelays({
      clock,
      log,
      connections,
      dials: this.#dials,
      dns: this.#dns,
      transports: this.transports,
    });
    const names = { clock, network: world.network, dns: this.#dns, transports: this.transports };
    this.#listeners = new ListenerSet({
      network: world.network,
      files: world.files,
      handedOver: options.handedOver,
      clock,
      log,
      pages: options.pages(this),
      dialOf: (listener) => this.#dials.dialOf(listener),
      namesOf: (listener) => new ListenerNames(listener, names),
      datagramsOf: (listener) => this.#udp.relayOf(listener),
      generation: () => this.plan.generation,
      usersOf: (listener, settings) => readUsers(world.files, listener, settings),
    });
  }

  get clock(): Clock {
    return this.#world.clock;
  }

  get plan(): Plan {
    return this.transports.plan;
  }

  get phase(): InstancePhase {
    return this.#lifecycle.phase;
  }

  get endpoints(): readonly Endpoint[] {
    return this.#listeners.bound.filter(({ kind }) => kind !== "admin").map(({ endpoint }) => endpoint);
  }

  /** Listener and DNS addresses: the lines of the ready file. */
  get addresses(): readonly string[] {
    const bound = this.#listeners.bound.filter(({ ofCommand }) => !ofCommand);
    const forwards = bound.filter(({ kind }) => kind === "forward");
    const proxies = bound.filter(({ kind }) => kind !== "admin" && kind !== "forward");
    return [
      ...proxies.map(({ address }) => address),
      ...forwards.map(({ address }) => `forward:${address}`),
      ...this.dnsEndpoints.map((endpoint) => `dns:${formatTarget(endpoint)}`),
    ];
  }

  /** The addresses on which it answers DNS. */
  get dnsEndpoints(): DnsHelper["endpoints"] {
    return this.#dns.endpoints;
  }

  /** The server and domains that the system resolver may use. */
  get dnsDelegation(): DnsDelegation | undefined {
    const info = this.#dns.info();
    const [server] = info?.addresses ?? [];
    return info && server && info.domains.length > 0 ? { server, domains: info.domains } : undefined;
  }

  get listeners(): ListenerSet["bound"] {
    return this.#listeners.bound;
  }

  /** The listener for proxy settings: the first with HTTP, else the first with a TCP port. */
  told(): EnvironmentListener | undefined {
    const listeners = this.#listeners.bound.flatMap(({ kind, endpoint, users }) =>
      kind !== "admin" && kind !== "forward" && "port" in endpoint ? [{ kind, endpoint, users }] : []
    );
    const chosen = listeners.find(({ kind }) => kind !== "socks") ?? listeners[0];
    if (!chosen) return undefined;
    const [user] = chosen.users;
    const { endpoint, kind } = chosen;
    return { address: reachableAt(endpoint), kind, user };
  }

  /** Binds the listeners; the instance then accepts clients. */
  open(): Promise<void> {
    return this.#lifecycle.open(async () => {
      await demandUsable(this.plan.transports, this.plan.config.ofOptions);
      await this.#listen(this.plan);
      this.#dns.follow();
      // Opening does not wait for the transports; a dial does.
      this.#tasks.spawn(async () => void await this.#care.tend(this.plan.transports));
    });
  }

  /** Resolves when the transports have read their files. */
  prepared(): Promise<void> {
    return this.#care.prepared();
  }

  /** Queues a reload. Calls with the same `source` share one reload until it starts. */
  reload(work: ReloadWork, source: object = work): Promise<ReloadReport> {
    return this.#lifecycle.reload(() => work((reading) => this.#apply(reading)), source);
  }

  async #apply(reading: ConfigReading): Promise<ReloadReport> {
    const { changes, warnings } = await this.#swap(reading);
    // The answer to a reload names unusable transports, so they read their files first.
    const unusable = await this.#care.tend(this.plan.transports);
    this.metrics.reloads.add(1, "done");
    this.log.info("config.reloaded", { changes: changes.length, rules: this.plan.config.rules.length });
    for (const warning of warnings) this.log.warn("config.warning", { warning });
    return { changed: changes.length > 0, changes, warnings: [...warnings, ...unusable] };
  }

  /** Builds the next plan, binds its listeners and switches to it. */
  async #swap(
    reading: ConfigReading,
  ): Promise<{ readonly changes: string[]; readonly warnings: readonly string[] }> {
    const before = this.plan;
    let built: Plan | undefined;
    try {
      if ("error" in reading) throw reading.error;
      const next = built = this.transports.next(reading.config);
      await demandRights(this.#world.process, next, before);
      const [listening, answering] = [this.#listeners.bound, this.dnsEndpoints];
      await this.#listen(next);
      this.transports.use(next);
      this.#dns.follow();
      this.#retired.add(next.transports.dropped);
      this.#problem = undefined;
      const changes = [
        ...changesBetween(before, next),
        ...listenerChanges(listening, this.#listeners.bound),
        ...dnsChanges(answering, this.dnsEndpoints),
      ];
      return { changes, warnings: reading.config.warnings };
    } catch (error) {
      if (built) this.#retired.add(addedTransports(before, built));
      // A reload that fails because the instance stops says nothing about the configuration.
      if (this.#lifecycle.isLeaving) throw leaving(error);
      this.#problem = describe(error);
      this.metrics.reloads.add(1, "failed");
      this.log.error("config.refused", { reason: this.#problem });
      throw error;
    }
  }

  /** Binds all listeners of a plan; on failure binds none. */
  async #listen({ config: { settings }, limits }: Plan): Promise<void> {
    const dns = await this.#dns.prepare(settings);
    try {
      await this.#listeners.apply(listenOf(settings), limits);
      // An instance that started to close meanwhile must not listen again.
      this.#lifecycle.demandStays();
    } catch (error) {
      await this.#dns.discard(dns);
      throw error;
    }
    this.#dns.use(dns, limits);
  }

  /** Opens forwards for a command, until their end. No reload runs meanwhile. */
  lend(forwards: readonly ForwardSettings[]): Promise<LentForwards> {
    return this.#lifecycle.inTurn(async () => {
      this.#lifecycle.demandStays();
      return await this.#listeners.lend(forwards, this.plan.limits);
    });
  }

  endLent(id: number): Promise<void> {
    return this.#listeners.endLent(id);
  }

  /** Permanently drops every right that this plan does not use. No reload runs meanwhile. */
  narrow(): Promise<void> {
    return this.#lifecycle.inTurn(async () => {
      const needs = { ...await needsOfPlan(this.plan), resolver: false };
      this.#world.process.keepOnly(needs);
      this.log.debug("rights.kept", { ssh: needs.ssh, plugins: needs.plugins.toString() });
    });
  }

  /** Stops accepting clients, waits up to `limit` for live connections, then drops the rest. */
  async drain(limit = this.plan.limits.drain): Promise<void> {
    this.#lifecycle.drain();
    const { log } = this;
    // A watcher would keep its listener open.
    this.watch[Symbol.dispose]();
    log.info("instance.draining", { connections: this.connections.counts.open });
    using _late = this.#world.clock.after(limit, () => {
      log.warn("instance.drain_ended", { connections: this.connections.counts.open });
      this.dropAll(new PosternError("cancelled", "The instance stopped"));
    });
    await Promise.all([this.#listeners.drain(), this.#dns.drain(), this.connections.idle()]);
  }

  /** Closes all connections now. Clients without a connection get a moment to read their last answer. */
  dropAll(reason: PosternError): void {
    this.connections.closeAll(reason);
    this.#dns.drop(reason);
    this.#dropping ??= this.#world.clock.after(lastMoment, () => this.#listeners.drop(reason));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lifecycle.close();
    this.watch[Symbol.dispose]();
    this.#dropping?.[Symbol.dispose]();
    this.#care[Symbol.dispose]();
    await this.#listeners[Symbol.asyncDispose]();
    await this.#dns[Symbol.asyncDispose]();
    this.#dials[Symbol.dispose]();
    this.connections.closeAll(new PosternError("cancelled", "The instance stopped"));
    await this.#retired[Symbol.asyncDispose]();
    await this.transports[Symbol.asyncDispose]();
    await this.#tasks[Symbol.asyncDispose]();
  }

  /** Routes, dials and records a request, within the dial timeout. */
  dial(request: DialRequest, options: { signal: AbortSignal }): Promise<Dialed> {
    return this.#dials.dial(request, options);
  }

  /** Dials for a client that is not connected to a listener, which would stop accepting. */
  dialUnlessLeaving(request: DialRequest, options: { signal: AbortSignal }): Promise<Dialed> {
    if (!this.#lifecycle.isLeaving) return this.dial(request, options);
    const { id } = this.#options;
    return Promise.reject(
      new PosternError(
        "unreachable",
        `Cannot reach ${formatTarget(request.target)}: instance "${id}" is stopping`,
        { hint: "start it again: postern proxy" },
      ),
    );
  }

  /** Explains the route of a target; with `dial`, also whether it can be reached. */
  async explain(target: Target, options: { dial: boolean; signal: AbortSignal }): Promise<ExplanationInfo> {
    await this.prepared();
    const meaning = this.#dns.meaningOf(target);
    const explanation = await explainMeant(this.transports, meaning, options);
    const loopback = this.#dns.loopbackOf(meaning.target);
    return withForward(
      { ...explanation, ...(loopback !== undefined && { loopback }) },
      target,
      this.#listeners.bound,
    );
  }

  /** Listens for the names of a hosts file (default: all known ones) instead of those requested before. */
  hosts(names: readonly string[] | "none", options: { signal: AbortSignal }): Promise<HostsInfo> {
    return this.#dns.hosts(names, options);
  }

  status(): Status {
    return statusOf({
      version: this.#options.version,
      id: this.#options.id,
      process: this.#world.process,
      startedAt: this.startedAt,
      state: this.phase,
      problem: this.#problem,
      listeners: this.#listeners.bound,
      transports: this.transports,
      dials: this.#dials,
      dns: this.#dns,
      udp: this.#udp.info(),
      connections: this.connections,
      metrics: this.metrics,
    });
  }

  collect(): Metric[] {
    return [
      ...this.metrics.collect(this.connections.live, this.#world.process.memory()),
      ...this.#dns.collect(),
      ...this.#udp.collect(),
    ];
  }
}

/** How long a dropped client may read its last answer, in ms. */
const lastMoment = 1000;
