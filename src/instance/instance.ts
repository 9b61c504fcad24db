import { describe, type Endpoint, formatTarget, PosternError, type Target } from "../words/mod.ts";
import { type Dialed, type DialRequest, type Log, type Metric, Tasks } from "../core/mod.ts";
import type { Listening, Network, World } from "../world/mod.ts";
import type { ExplanationInfo, InstancePhase, ReloadReport, Status } from "../control/mod.ts";
import type { Pages } from "../listeners/mod.ts";
import type { BuildDeps } from "../transports/mod.ts";
import { sshOfPerson, type SshServices } from "../ssh/mod.ts";
import type { Domains } from "../routing/mod.ts";
import { ClusterTables } from "./clusters/cluster_tables.ts";
import { learnedDirectory } from "./clusters/learned_directory.ts";
import {
  changesBetween,
  isAmong,
  listenAddresses,
  listenOf,
  type LoadedConfig,
  makePlan,
  noProxy,
  type Plan,
  readUsers,
} from "../plan/mod.ts";
import { ConnectionTable } from "./dials/connection_table.ts";
import { DnsHelper } from "./dns/dns_helper.ts";
import type { DnsWish } from "../resolver/mod.ts";
import { Dials } from "./dials/dials.ts";
import { InstanceMetrics } from "./instance_metrics.ts";
import { demandRights, needsOfPlan } from "./care/plan_needs.ts";
import { InstanceWatch } from "./watching/instance_watch.ts";
import { ListenerSet } from "./listening/listener_set.ts";
import { LogTail } from "./watching/log_tail.ts";
import { withoutLoops } from "./dials/loop_guard.ts";
import { dnsChanges, listenerChanges } from "./listening/listener_changes.ts";
import { reachableAt, type ToldListener } from "./environment/proxy_environment.ts";
import { RetiredTransports } from "./care/retired_transports.ts";
import { Surroundings } from "./clusters/surroundings.ts";
import { demandUsable, TransportCare } from "./care/transport_care.ts";

export interface InstanceOptions {
  readonly version: string;
  readonly id: string;
  readonly log: Log;
  readonly pages: (instance: Instance) => Pages;
  /** Sockets that whoever started us opened; the door closes them. */
  readonly handedOver?: readonly Listening[];
  /**
   * Who is asked for passphrases and the like: nobody, whoever sits at the terminal (the default), or else whoever
   * sees the window of SSH_ASKPASS, which a door that runs unseen opens only when it is told to.
   */
  readonly asks?: "nobody" | "terminal" | "anybody";
}

/** One running door: its sockets, its plan, and the connections that go through it. */
export class Instance implements AsyncDisposable {
  readonly connections: ConnectionTable;
  readonly metrics = new InstanceMetrics();
  /** Logs to where its options say, and remembers the last lines. */
  readonly log: Log;
  /** Who watches it is told what happens. */
  readonly watch: InstanceWatch;
  readonly startedAt: Date;
  readonly #world: World;
  readonly #network: Network;
  readonly #options: InstanceOptions;
  readonly #listeners: ListenerSet;
  readonly #dials: Dials;
  #plan: Plan;
  #phase: InstancePhase = "starting";
  #problem: string | undefined;
  #reloading: Promise<unknown> = Promise.resolve();
  readonly #retired: RetiredTransports;
  readonly #ssh: SshServices;
  readonly #tasks: Tasks;
  readonly #care: TransportCare;
  readonly #tables: ClusterTables;
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
    this.#network = withoutLoops(world.network, () => this.endpoints);
    this.#ssh = sshOfPerson({
      network: this.#network,
      clock,
      files: world.files,
      log,
      process: world.process,
      places: world.places,
      terminal: options.asks === "nobody" ? undefined : world.terminal,
      isUnattended: options.asks !== "anybody",
    }, config.settings.ssh);
    this.#tasks = new Tasks(undefined, (error) => log.error("door.task_failed", { reason: describe(error) }));
    this.#care = new TransportCare({ clock, network: world.network, log });
    this.#tables = new ClusterTables({
      clock,
      log,
      here: new Surroundings({ ...world, now: () => clock.now() }),
      changed: (tables, domains) =>
        this.#plan = { ...this.#plan, router: this.#plan.router.withTables(tables, domains) },
    });
    this.#plan = this.#withTables(makePlan(config, this.buildDeps));
    this.#dns = new DnsHelper({ world, log, id: options.id, plan: () => this.#plan });
    this.#dials = new Dials({
      clock,
      connections,
      dns: this.#dns,
      tables: this.#tables,
      plan: () => this.#plan,
      hasOpened: () => this.#phase !== "starting",
    });
    this.#listeners = new ListenerSet({
      network: world.network,
      files: world.files,
      ...(options.handedOver && { handedOver: options.handedOver }),
      clock,
      log,
      pages: options.pages(this),
      dialFor: (listener) => this.#dials.dialFor(listener),
      usersOf: (listener, settings) => readUsers(world.files, listener, settings),
    });
  }

  get plan(): Plan {
    return this.#plan;
  }

  /** What its transports are built from. */
  get buildDeps(): BuildDeps {
    const { clock, files, process } = this.#world;
    const isOwnListener = (target: Target) =>
      isAmong(target, [...listenAddresses(this.#plan.config.settings), ...this.endpoints]);
    return {
      network: this.#network,
      clock,
      files,
      process,
      log: this.log,
      ssh: this.#ssh,
      isOwnListener,
      noProxy,
      learned: learnedDirectory(this.#world.places),
    };
  }

  get phase(): InstancePhase {
    return this.#phase;
  }

  get endpoints(): readonly Endpoint[] {
    return this.#listeners.bound.filter(({ kind }) => kind !== "admin").map(({ endpoint }) => endpoint);
  }

  /** Where it answers DNS. */
  get dnsEndpoints(): DnsHelper["endpoints"] {
    return this.#dns.endpoints;
  }

  /** What the system may be told to ask it for. */
  get dnsWish(): DnsWish | undefined {
    const info = this.#dns.info();
    const [server] = info?.addresses ?? [];
    return info && server && info.domains.length > 0 ? { server, domains: info.domains } : undefined;
  }

  get listeners(): ListenerSet["bound"] {
    return this.#listeners.bound;
  }

  /** The door that programs are told of: the first one that speaks HTTP, else the first one on a TCP port. */
  told(): ToldListener | undefined {
    const listeners = this.#listeners.bound.flatMap(({ kind, endpoint, users }) =>
      kind !== "admin" && "port" in endpoint ? [{ kind, endpoint, users }] : []
    );
    const chosen = listeners.find(({ kind }) => kind !== "socks") ?? listeners[0];
    if (!chosen) return undefined;
    const [user] = chosen.users;
    const { endpoint, kind } = chosen;
    return { address: reachableAt(endpoint), kind, ...(user && { user }) };
  }

  /** Binds. After it the door takes clients; a reload that is asked for meanwhile comes after it too. */
  open(): Promise<void> {
    const opened = this.#open();
    this.#reloading = opened.catch(() => {});
    return opened;
  }

  async #open(): Promise<void> {
    await demandUsable(this.#plan.transports, this.#plan.config.ofOptions);
    if (this.#phase === "draining") throw closing();
    await this.#listen(this.#plan.config.settings, this.#plan.limits);
    this.#phase = "ready";
    // Nobody has to wait for that: a dial that needs it does.
    this.#tasks.spawn(async () => void await this.#care.tend(this.#plan.transports));
  }

  /** The ssh configuration as it was read for the transports, where there is one. */
  get sshContents(): SshServices["contents"] {
    return this.#ssh.contents;
  }

  /** Resolves when the transports have read what they need besides the configuration. */
  prepared(): Promise<void> {
    return this.#care.prepared();
  }

  /** Swaps to another configuration. On failure everything is as before, and `status` shows why. */
  reload(load: () => Promise<LoadedConfig>): Promise<ReloadReport> {
    const done = this.#reloading.then(() => this.#reload(load));
    this.#reloading = done.catch(() => {});
    return done;
  }

  /** Gives up, for good, every right that this plan does not use. No reload comes between. */
  narrow(): Promise<void> {
    const done = this.#reloading.then(async () => {
      const needs = { ...await needsOfPlan(this.#plan), resolver: false };
      this.#world.process.keepOnly(needs);
      this.log.debug("rights.kept", { ssh: needs.ssh, plugins: needs.plugins.toString() });
    });
    this.#reloading = done.catch(() => {});
    return done;
  }

  async #reload(load: () => Promise<LoadedConfig>): Promise<ReloadReport> {
    if (this.#phase === "draining") throw closing();
    const { log } = this;
    const before = this.#plan;
    let plan: Plan | undefined;
    try {
      const config = await load();
      plan = makePlan(config, this.buildDeps, before);
      await demandRights(this.#world.process, plan, before);
      const [listening, answering] = [this.#listeners.bound, this.dnsEndpoints];
      await this.#listen(config.settings, plan.limits);
      this.#plan = plan = this.#withTables(plan);
      this.#problem = undefined;
      const changes = [
        ...changesBetween(before, plan),
        ...listenerChanges(listening, this.#listeners.bound),
        ...dnsChanges(answering, this.dnsEndpoints),
      ];
      this.#retired.add(plan.transports.dropped);
      this.#ssh.renew(config.settings.ssh);
      // Whoever hears that it is done may count on what the files beside the configuration say.
      const unusable = await this.#care.tend(plan.transports);
      this.metrics.reloads.add(1, "done");
      log.info("config.reloaded", { changes: changes.length, rules: config.rules.length });
      for (const warning of config.warnings) log.warn("config.warning", { warning });
      return { changed: changes.length > 0, changes, warnings: [...config.warnings, ...unusable] };
    } catch (error) {
      const known = new Set(before.transports.byName.values());
      this.#retired.add([...plan?.transports.byName.values() ?? []].filter((built) => !known.has(built)));
      // What meets the end of the door is no mistake in its configuration.
      if (this.phase === "draining") throw closing(error);
      this.#problem = describe(error);
      this.metrics.reloads.add(1, "failed");
      log.error("config.refused", { reason: this.#problem });
      throw error;
    }
  }

  /** Binds all that the settings name, or nothing new. */
  async #listen(settings: LoadedConfig["settings"], limits: Plan["limits"]): Promise<void> {
    const dns = await this.#dns.prepare(settings);
    try {
      await this.#listeners.apply(listenOf(settings), limits);
      // A door that began to close meanwhile must not open again.
      if (this.#phase === "draining") throw closing();
    } catch (error) {
      await this.#dns.discard(dns);
      throw error;
    }
    this.#dns.use(dns, limits);
  }

  /** Takes no more clients, lets the live connections end within the limit, and drops what is left. */
  async drain(limit = this.#plan.limits.drain): Promise<void> {
    this.#phase = "draining";
    const { log } = this;
    // Who watches would keep it open.
    this.watch[Symbol.dispose]();
    log.info("door.draining", { connections: this.connections.counts.open });
    using _late = this.#world.clock.after(limit, () => {
      log.warn("door.drain_ended", { connections: this.connections.counts.open });
      this.dropAll(new PosternError("cancelled", "The door was closed"));
    });
    await Promise.all([this.#listeners.drain(), this.#dns.drain()]);
  }

  /** Ends all connections now; clients that have none get a moment for what they are being told. */
  dropAll(reason: PosternError): void {
    this.connections.closeAll(reason);
    this.#dns.drop(reason);
    this.#dropping ??= this.#world.clock.after(lastMoment, () => this.#listeners.drop(reason));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#phase = "draining";
    this.watch[Symbol.dispose]();
    this.#dropping?.[Symbol.dispose]();
    this.#care[Symbol.dispose]();
    await this.#tables[Symbol.asyncDispose]();
    await this.#listeners[Symbol.asyncDispose]();
    await this.#dns[Symbol.asyncDispose]();
    this.#dials[Symbol.dispose]();
    this.connections.closeAll(new PosternError("cancelled", "The door was closed"));
    for (const { transport } of this.#plan.transports.byName.values()) await transport[Symbol.asyncDispose]();
    await this.#retired[Symbol.asyncDispose]();
    await this.#ssh[Symbol.asyncDispose]();
    await this.#tasks[Symbol.asyncDispose]();
  }

  /** What a client asks for, routed, dialled in time, recorded. */
  dial(request: DialRequest, options: { signal: AbortSignal }): Promise<Dialed> {
    return this.#dials.dial(request, options);
  }

  /** What a target means: a door that is not opened looks into the file of one that was. */
  meaningOf(target: Target): ReturnType<Dials["meaningOf"]> {
    return this.#dials.meaningOf(target);
  }

  /** Where a target would go, and with `dial` whether it can be reached. */
  async explain(target: Target, options: { dial: boolean; signal: AbortSignal }): Promise<ExplanationInfo> {
    await this.prepared();
    return await this.#dials.explain(target, options);
  }

  /** What was learned of the clusters that its rules lead to, without asking them. */
  async learned({ signal }: { signal: AbortSignal }): Promise<Domains> {
    return await this.#tables.domains({ signal });
  }

  status(): Status {
    const { version, id } = this.#options;
    const { config, loadedAt } = this.#plan;
    const { catalogues } = config;
    const dns = this.#dns.info();
    const moved = this.metrics.total;
    for (const { tally } of this.connections.live) {
      moved.up += tally.up;
      moved.down += tally.down;
    }
    return {
      version,
      id,
      pid: this.#world.process.pid,
      startedAt: this.startedAt.toISOString(),
      state: this.#phase,
      listeners: [
        ...this.#listeners.bound.map(({ kind, address, hasAuth }) => ({ kind, address, auth: hasAuth })),
        ...this.#dns.endpoints.map((endpoint) => ({
          kind: "dns",
          address: formatTarget(endpoint),
          auth: false,
        })),
      ],
      transports: [...this.#plan.transports.byName.values()].map((built) => {
        const table = this.#tables.state(built.name);
        return { ...this.#dials.state(built), ...(table && { table }) };
      }),
      config: {
        ...(config.path !== undefined && { path: config.path }),
        loadedAt: loadedAt.toISOString(),
        ...(this.#problem !== undefined && { problem: this.#problem }),
      },
      ...(catalogues.length > 0 && { catalogues }),
      ...(dns && { dns }),
      connections: this.connections.counts,
      bytes: moved,
      memory: { resident: this.#world.process.memory() },
    };
  }

  collect(): Metric[] {
    return [
      ...this.metrics.collect(this.connections.live, this.#world.process.memory()),
      ...this.#dns.collect(),
    ];
  }

  /** The plan with what is known of the clusters that its rules ask. */
  #withTables(plan: Plan): Plan {
    const guards = plan.config.settings.unknown === "refuse";
    return { ...plan, router: this.#tables.follow(plan.router, plan.transports, { guards }) };
  }
}

/** What whoever has a door reload that closes is told: as good as if it were closed. */
function closing(cause?: unknown): PosternError {
  return new PosternError("refused", "Cannot reload: the door is closing", {
    cause,
    exit: 3,
    detail: "closing",
    hint: "start one with: postern proxy",
  });
}

/** How long a client that is dropped may take to read its last answer, in ms. */
const lastMoment = 1000;
