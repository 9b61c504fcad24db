import { type Clock, type Log, silentLog, whenAborted } from "../core/mod.ts";
import type { Endpoint, Target } from "../words/mod.ts";
import type { Dialer, World } from "../world/mod.ts";
import { errorInfo, type ExplanationInfo } from "../control/mod.ts";
import type { Domains, Route, RoutedPatterns } from "../routing/mod.ts";
import { sshOfPerson, type SshServices } from "../ssh/mod.ts";
import type { BuildDeps } from "../transports/mod.ts";
import { ClusterTables } from "./clusters/cluster_tables.ts";
import { learnedDirectory } from "./clusters/learned_directory.ts";
import { Surroundings } from "./clusters/surroundings.ts";
import type { LoadedConfig } from "./config_file.ts";
import { demandNoHop, type HopRequest } from "./dials/hop_loop.ts";
import { withoutLoops } from "./dials/loop_guard.ts";
import { dialTimeout, tryDial } from "./dials/try_dial.ts";
import { explanationOf, preparePath } from "./explanation.ts";
import { isAmong, listenAddresses } from "./own_addresses.ts";
import { placeIn } from "../dns/mod.ts";
import { sshHostsOf } from "./ssh_hosts.ts";
import { configuredRoute, makePlan, type Plan, transportOf } from "./plan.ts";

export interface TransportsOptions {
  /** Without it, nothing is logged. */
  readonly log?: Log;
  /**
   * How to prompt for passphrases: "none" never prompts; "terminal" prompts at the terminal; "any" (the
   * default) also allows the program in SSH_ASKPASS.
   */
  readonly asks?: "none" | "terminal" | "any" | undefined;
  /** The addresses of the listeners. No transport connects to them. */
  readonly endpoints?: () => readonly Endpoint[];
}

/**
 * Everything between a target and its connection: a plan, its transports, and the facts about their clusters.
 * It does not listen, so a command can build one to find a target's route and to connect.
 */
export class Transports implements AsyncDisposable {
  readonly deps: BuildDeps;
  readonly ssh: SshServices;
  /** The known facts about the clusters that rules name. */
  readonly tables: ClusterTables;
  readonly #clock: Clock;
  #plan: Plan;

  /** Builds all transports and connects to nothing. */
  constructor(
    world: World,
    config: LoadedConfig,
    { log = silentLog, asks = "any", endpoints = () => [] }: TransportsOptions = {},
  ) {
    const { clock, files, places, process, terminal } = world;
    this.#clock = clock;
    const isNamed = (address: string) => {
      const range = this.#plan.config.settings.dns?.loopback;
      return range !== undefined && placeIn(range, address) !== undefined;
    };
    const network = withoutLoops(world.network, endpoints, isNamed);
    this.ssh = sshOfPerson({
      network,
      clock,
      files,
      log,
      process,
      places,
      terminal: asks === "none" ? undefined : terminal,
      isUnattended: asks !== "any",
    }, config.settings.ssh);
    this.deps = {
      network,
      clock,
      files,
      process,
      log,
      ssh: this.ssh,
      isOwnListener: (target) =>
        isNamed(target.host) ||
        isAmong(target, [...listenAddresses(this.#plan.config.settings), ...endpoints()]),
      learned: learnedDirectory(places),
    };
    this.tables = new ClusterTables({
      clock,
      log,
      here: new Surroundings({ ...world, now: () => clock.now(), isNamed }),
      changed: (tables, domains) =>
        this.#plan = { ...this.#plan, router: this.#plan.router.withTables(tables, domains) },
    });
    this.#plan = this.#withTables(makePlan(config, this.deps));
  }

  get plan(): Plan {
    return this.#plan;
  }

  /** Builds the next plan without applying it. Unchanged transports keep their sessions. */
  next(config: LoadedConfig): Plan {
    return makePlan(config, this.deps, this.#plan);
  }

  /** Applies a plan of `next`. The caller disposes the transports that it drops. */
  use(plan: Plan): void {
    this.#plan = this.#withTables(plan);
    this.ssh.renew(plan.config.settings.ssh);
  }

  /** Dials an address from the configuration or a catalogue, as the rules route it. */
  readonly dial: Dialer = async (target, options) => {
    const plan = this.#plan;
    await preparePath(plan, target);
    return await transportOf(plan, configuredRoute(plan, target)).transport.dial(target, options);
  };

  /** Returns the route of a target, after the answers of clusters that could change it, and its plan. */
  async routed(target: Target, { signal }: { readonly signal: AbortSignal }): Promise<Routed> {
    let plan = this.#plan;
    const route = await this.tables.route(target, () => (plan = this.#plan).router, { signal });
    return { plan, route };
  }

  /** Explains the route of a target; with `dial`, also whether the target is reachable. */
  async explain(
    target: Target,
    { dial, signal }: { readonly dial: boolean; readonly signal: AbortSignal },
  ): Promise<ExplanationInfo> {
    signal.throwIfAborted();
    const clock = this.#clock;
    const { dial: limit } = this.#plan.limits;
    const begun = clock.now();
    const patience = new AbortController();
    using _stop = whenAborted(signal, () => patience.abort(signal.reason));
    using _deadline = clock.after(limit, () => patience.abort(dialTimeout(target, limit)));
    const { plan, route } = await this.routed(target, patience);
    signal.throwIfAborted();
    const explanation = explanationOf(plan, target, route);
    if (route.held) {
      const held = errorInfo(this.tables.refusal(target, route.held));
      return {
        ...explanation,
        held,
        ...(dial && { dial: { ms: clock.now() - begun, steps: [], error: held } }),
      };
    }
    if (!dial) return explanation;
    const { transport } = transportOf(plan, route);
    return { ...explanation, dial: await tryDial(transport, target, { clock, limit, signal }) };
  }

  /**
   * Throws if the path of a target uses one of these ssh hosts: their ProxyCommand requests the connection, so the path
   * would wait for itself.
   */
  async demandNoHop(routed: Routed, asked: HopRequest): Promise<void> {
    await demandNoHop(routed, asked);
  }

  /** Returns the ssh patterns of the targets that the plan sends through a transport. */
  async sshHosts(): Promise<RoutedPatterns> {
    return await sshHostsOf(this.#plan);
  }

  /** Returns the learned facts of the clusters without querying them; the plan uses them from then on. */
  async learned({ signal }: { readonly signal: AbortSignal }): Promise<Domains> {
    return await this.tables.domains({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tables[Symbol.asyncDispose]();
    for (const { transport } of this.#plan.transports.byName.values()) await transport[Symbol.asyncDispose]();
    await this.ssh[Symbol.asyncDispose]();
  }

  /** Adds the known facts about clusters to a plan. */
  #withTables(plan: Plan): Plan {
    const guards = plan.config.settings.unknown === "refuse";
    return { ...plan, router: this.tables.follow(plan.router, plan.transports, { guards }) };
  }
}

export interface Routed {
  readonly plan: Plan;
  readonly route: Route;
}
