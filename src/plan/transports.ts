import { type Clock, type Log, silentLog, whenAborted } from "../core/mod.ts";
import type { Endpoint, Target } from "../words/mod.ts";
import type { Dialer, World } from "../world/mod.ts";
import { errorInfo, type ExplanationInfo } from "../control/mod.ts";
import type { Domains, Route } from "../routing/mod.ts";
import { sshOfPerson, type SshServices } from "../ssh/mod.ts";
import type { BuildDeps } from "../transports/mod.ts";
import { ClusterTables } from "./clusters/cluster_tables.ts";
import { learnedDirectory } from "./clusters/learned_directory.ts";
import { Surroundings } from "./clusters/surroundings.ts";
import type { LoadedConfig } from "./config_file.ts";
import { withoutLoops } from "./dials/loop_guard.ts";
import { dialTimeout, tryDial } from "./dials/try_dial.ts";
import { explanationOf, prepareWay } from "./explanation.ts";
import { isAmong, listenAddresses } from "./own_addresses.ts";
import { configuredRoute, makePlan, type Plan, transportOf } from "./plan.ts";

export interface TransportsOptions {
  /** Nothing is logged without it. */
  readonly log?: Log;
  /**
   * Who types passphrases: "nobody"; "terminal", a person at the terminal; "anybody" (the default) also allows the
   * window of SSH_ASKPASS.
   */
  readonly asks?: "nobody" | "terminal" | "anybody" | undefined;
  /** The addresses that listeners are bound to now. No transport connects to them. */
  readonly endpoints?: () => readonly Endpoint[];
}

/**
 * Everything between a target and the connection to it: a plan, its transports, and what is known of their clusters. It
 * listens nowhere, so a command can build one to ask where a target goes, and to go there.
 */
export class Transports implements AsyncDisposable {
  /** What transports are built from. */
  readonly deps: BuildDeps;
  readonly ssh: SshServices;
  /** What is known of the clusters that rules lead to. */
  readonly tables: ClusterTables;
  readonly #clock: Clock;
  #plan: Plan;

  /** Builds all transports and connects to nothing. */
  constructor(
    world: World,
    config: LoadedConfig,
    { log = silentLog, asks = "anybody", endpoints = () => [] }: TransportsOptions = {},
  ) {
    const { clock, files, places, process, terminal } = world;
    this.#clock = clock;
    const network = withoutLoops(world.network, endpoints);
    this.ssh = sshOfPerson({
      network,
      clock,
      files,
      log,
      process,
      places,
      terminal: asks === "nobody" ? undefined : terminal,
      isUnattended: asks !== "anybody",
    }, config.settings.ssh);
    this.deps = {
      network,
      clock,
      files,
      process,
      log,
      ssh: this.ssh,
      isOwnListener: (target) =>
        isAmong(target, [...listenAddresses(this.#plan.config.settings), ...endpoints()]),
      learned: learnedDirectory(places),
    };
    this.tables = new ClusterTables({
      clock,
      log,
      here: new Surroundings({ ...world, now: () => clock.now() }),
      changed: (tables, domains) =>
        this.#plan = { ...this.#plan, router: this.#plan.router.withTables(tables, domains) },
    });
    this.#plan = this.#withTables(makePlan(config, this.deps));
  }

  /** The plan in force. */
  get plan(): Plan {
    return this.#plan;
  }

  /** Builds the next plan without using it. Transports that did not change come along with their sessions. */
  next(config: LoadedConfig): Plan {
    return makePlan(config, this.deps, this.#plan);
  }

  /** Puts a plan of `next` in force. The caller disposes the transports that it has dropped. */
  use(plan: Plan): void {
    this.#plan = this.#withTables(plan);
    this.ssh.renew(plan.config.settings.ssh);
  }

  /** Dials what the configuration or a catalogue names, where the rules send it. */
  readonly dial: Dialer = async (target, options) => {
    const plan = this.#plan;
    await prepareWay(plan, target);
    return await transportOf(plan, configuredRoute(plan, target)).transport.dial(target, options);
  };

  /** The route of a target once the clusters have answered that could change it, and the plan it belongs to. */
  async routed(target: Target, { signal }: { readonly signal: AbortSignal }): Promise<Routed> {
    let plan = this.#plan;
    const route = await this.tables.route(target, () => (plan = this.#plan).router, { signal });
    return { plan, route };
  }

  /** Where a target would go, and with `dial` whether it can be reached. */
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

  /** What was learned of the clusters, without asking them; from then on the plan routes by it. */
  async learned({ signal }: { readonly signal: AbortSignal }): Promise<Domains> {
    return await this.tables.domains({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tables[Symbol.asyncDispose]();
    for (const { transport } of this.#plan.transports.byName.values()) await transport[Symbol.asyncDispose]();
    await this.ssh[Symbol.asyncDispose]();
  }

  /** The plan with what is known of the clusters that its rules ask. */
  #withTables(plan: Plan): Plan {
    const guards = plan.config.settings.unknown === "refuse";
    return { ...plan, router: this.tables.follow(plan.router, plan.transports, { guards }) };
  }
}

export interface Routed {
  readonly plan: Plan;
  readonly route: Route;
}
