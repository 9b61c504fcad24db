import { Deadlines, type Log, Tasks, whenAborted } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import type { Listening, SignalName, World } from "../world/mod.ts";
import {
  createControl,
  createPages,
  forRequests,
  type ListenerDeps,
  type PageSource,
  serveControl,
  serveListener,
} from "../listeners/mod.ts";
import { type ConfigReading, type ConfigSource, type Overrides, tryConfig } from "../plan/mod.ts";
import { clustersOf, InstanceLock, withOwner } from "../instances/mod.ts";
import { repairDns } from "../resolver/mod.ts";
import { needsOfConfig } from "./care/plan_needs.ts";
import { ConfigFollower, type FleetRefresh } from "./config_follower.ts";
import { demandRoutes } from "./demand_routes.ts";
import { Instance } from "./instance.ts";
import { ReadyFile } from "./ready_file.ts";
import { instanceSource } from "./watching/instance_source.ts";
import { type OnDemand, takeHandedOver } from "./listening/handed_over.ts";
import { isTransient, removeLeftKubeconfigs } from "./environment/transient_kubeconfig.ts";

export interface FleetRefreshOptions {
  readonly log: Log;
  readonly source: ConfigSource;
  /** Runs a task in the background until the instance stops. */
  readonly spawn: (work: (signal: AbortSignal) => Promise<void>) => void;
}

export interface RunInstanceOptions {
  /** Creates the catalogue refresh; without it, catalogues are not refreshed. */
  readonly refresh?: (world: World, options: FleetRefreshOptions) => FleetRefresh;
  readonly version: string;
  /** The configuration file; if undefined, the environment or the platform sets it. */
  readonly config?: string;
  readonly overrides?: Overrides;
  readonly id: string;
  readonly log: Log;
  /** A file for the addresses of the ready instance, one per line; removed when the instance stops. */
  readonly readyFile?: string;
  /**
   * The service manager that must pass sockets. If undefined, postern takes the sockets that systemd passed,
   * if any.
   */
  readonly onDemand?: OnDemand;
  /** Stops the instance after so many ms without a connection; 0 means never. */
  readonly idleExit?: number;
  readonly onReady: (addresses: readonly string[]) => Promise<void>;
}

/** Runs an instance until a signal, a control request or idleness stops it; resolves after it has drained. */
export async function runInstance(
  world: World,
  options: RunInstanceOptions,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  await using run = new InstanceRun(world, options);
  if (await run.start()) await run.untilStopped(signal);
}

interface Stop {
  readonly why: string;
  readonly drain?: number | undefined;
}

class InstanceRun implements AsyncDisposable {
  readonly #world: World;
  readonly #options: RunInstanceOptions;
  readonly #stop = Promise.withResolvers<Stop>();
  /** Resources to release at the end, in reverse order. */
  readonly #held = new AsyncDisposableStack();
  readonly #tasks: Tasks;
  readonly #readyFile: ReadyFile;
  #instance: Instance | undefined;

  constructor(world: World, options: RunInstanceOptions) {
    this.#world = world;
    this.#options = options;
    this.#readyFile = new ReadyFile(world.files, options.readyFile);
    this.#tasks = this.#held.use(
      new Tasks(undefined, (error) => options.log.error("instance.task_failed", { reason: describe(error) })),
    );
  }

  /** Starts the instance; false if it was stopped before it was ready. */
  async start(): Promise<boolean> {
    const { id, log, version, onReady } = this.#options;
    const reading = await tryConfig(this.#world, this.#source);
    if ("error" in reading) throw reading.error;
    const { config } = reading;
    demandRoutes(config);
    this.#world.process.keepOnly(needsOfConfig(config));
    const lock = this.#held.use(await InstanceLock.take(this.#world, id));
    await this.#holdKubeconfig();
    const handedOver = await this.#takeHandedOver();
    let source: PageSource | undefined;
    const stop = (drain?: number) => this.#stop.resolve({ why: "requested over the control socket", drain });
    const instance: Instance = this.#held.use(
      new Instance(this.#world, config, {
        version,
        id,
        log,
        handedOver,
        pages: (instance) =>
          createPages(source = instanceSource(instance, { reload: () => follower.reload(), stop })),
      }),
    );
    this.#instance = instance;
    const follower: ConfigFollower = this.#held.use(this.#followerOf(instance, reading));
    for (const warning of config.warnings) this.#log.warn("config.warning", { warning });
    this.#listenForSignals(follower);
    try {
      if (!await this.#opened(instance)) return false;
    } catch (error) {
      throw await withOwner(this.#world, error).catch(() => error);
    }
    // Written before the control socket reports "ready": a waiting program may then read the file.
    const { addresses } = instance;
    await this.#readyFile.write(addresses);
    this.#held.defer(() => this.#readyFile.remove());
    if (source) await this.#serveControl(lock, instance, source);
    await follower.follow();
    this.#tasks.spawn((signal) => this.#settle(instance, signal));
    const clusters = clustersOf(instance.status()).join("; ");
    this.#log.info("instance.ready", {
      id,
      addresses: addresses.join(" "),
      pid: this.#world.process.pid,
      ...(clusters !== "" && { clusters }),
    });
    if (instance.listeners.some(({ kind, endpoint }) => kind === "forward" && "port" in endpoint)) {
      this.#log.info("forward.shared", {
        reason: "any local user can connect to a TCP forward",
        hint: "listen on a socket for your user only: unix:PATH",
      });
    }
    await onReady(addresses);
    return true;
  }

  #followerOf(instance: Instance, { texts }: ConfigReading): ConfigFollower {
    const { log, refresh } = this.#options;
    const source = this.#source;
    const spawn = (work: (signal: AbortSignal) => Promise<void>) => this.#tasks.spawn(work);
    return new ConfigFollower(this.#world, instance, {
      log,
      source,
      texts,
      tasks: this.#tasks,
      refresh: refresh && this.#held.use(refresh(this.#world, { log, source, spawn })),
      reloaded: () => this.#readyFile.write(instance.addresses),
    });
  }

  /** Repairs the resolver after a killed instance, then drops the rights that are no longer needed. */
  async #settle(instance: Instance, signal: AbortSignal): Promise<void> {
    await repairDns(this.#world, instance.dnsDelegation, { log: this.#log, signal });
    await instance.narrow();
  }

  /**
   * Binds the listeners. Stops waiting on a stop request: a transport may wait for a program of the ssh
   * configuration.
   */
  async #opened(instance: Instance): Promise<boolean> {
    const opening = instance.open().then(() => true);
    if (await Promise.race([opening, this.#stop.promise.then(() => false)])) return true;
    const { why } = await this.#stop.promise;
    this.#log.info("instance.stopping", { why });
    return false;
  }

  /** Removes a kubeconfig from standard input when the instance stops. */
  async #holdKubeconfig(): Promise<void> {
    const { id, overrides: { kubeconfig } = {} } = this.#options;
    await removeLeftKubeconfigs(this.#world, id, { but: kubeconfig });
    if (kubeconfig === undefined || !isTransient(this.#world, id, kubeconfig)) return;
    this.#held.defer(() => this.#world.files.remove(kubeconfig));
  }

  async #takeHandedOver(): Promise<Listening[]> {
    const { onDemand, overrides } = this.#options;
    const handedOver = await takeHandedOver(this.#world, onDemand);
    for (const listening of handedOver) this.#held.use(listening);
    if (handedOver.length > 0 && overrides?.listen?.length) {
      throw new PosternError(
        "usage",
        "Cannot use --listen: the service manager already passed a socket to listen on",
        {
          hint: "omit --listen: the socket unit sets the address",
        },
      );
    }
    return handedOver;
  }

  async untilStopped(signal: AbortSignal): Promise<void> {
    using _interrupted = whenAborted(signal, () => this.#stop.resolve({ why: "interrupted" }));
    if (this.#options.idleExit) this.#exitWhenIdle(this.#options.idleExit);
    const { why, drain } = await this.#stop.promise;
    this.#log.info("instance.stopping", { why });
    await this.#readyFile.remove();
    await this.#instance?.drain(drain);
    this.#log.info("instance.stopped");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held.disposeAsync();
  }

  /** The instance's log once it exists: it keeps the last lines. */
  get #log(): Log {
    return this.#instance?.log ?? this.#options.log;
  }

  get #source(): ConfigSource {
    const { config, overrides } = this.#options;
    return { config, overrides };
  }

  async #serveControl(lock: InstanceLock, instance: Instance, source: PageSource): Promise<void> {
    const { log } = this.#options;
    const { listening, token } = await lock.listen();
    const pages = createControl(source, { token });
    const { clock } = this.#world;
    const deps: ListenerDeps = {
      dial: (request, options) => instance.dialUnlessLeaving(request, options),
      generation: () => instance.plan.generation,
      clock,
      log,
      deadlines: this.#held.use(new Deadlines(clock)),
      limits: {
        handshake: 10_000,
        // A reload may change these.
        get connections() {
          return instance.plan.limits.connections + forRequests;
        },
        get halfCloseLinger() {
          return instance.plan.limits.halfCloseLinger;
        },
      },
      pages,
    };
    const serve = serveControl(pages, { token });
    this.#tasks.spawn((signal) => serveListener(listening, serve, deps, { signal }));
  }

  #listenForSignals(follower: ConfigFollower): void {
    const { process } = this.#world;
    const on = (name: SignalName, heard: () => void) => this.#held.use(process.on(name, heard));
    on("SIGHUP", () => follower.reloadUnasked("SIGHUP"));
    let isStopping = false;
    for (const name of ["SIGTERM", "SIGINT"] as const) {
      on(name, () => {
        // A second signal ends the wait for live connections.
        if (isStopping || this.#instance?.phase === "draining") {
          this.#instance?.dropAll(new PosternError("cancelled", `Stopped by ${name}`));
        }
        isStopping = true;
        this.#stop.resolve({ why: name });
      });
    }
  }

  /** Stops an idle instance. The timer restarts when the last connection ended less than `ms` ago. */
  #exitWhenIdle(ms: number): void {
    const { clock } = this.#world;
    const connections = this.#instance?.connections;
    if (!connections) return;
    let timer: Disposable | undefined;
    this.#held.defer(() => timer?.[Symbol.dispose]());
    const look = () => {
      const left = connections.idleSince === undefined ? ms : ms - (clock.now() - connections.idleSince);
      if (left <= 0) this.#stop.resolve({ why: `idle for ${Math.round(ms / 1000)} s` });
      else timer = clock.after(Math.min(left, longestWait), look);
    };
    timer = clock.after(Math.min(ms, longestWait), look);
  }
}

/** A timer takes at most 31 bits. */
const longestWait = 2 ** 31 - 1;
