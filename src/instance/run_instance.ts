import { Deadlines, type Log, Tasks, whenAborted } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import type { Listening, SignalName, World } from "../world/mod.ts";
import {
  createControl,
  createPages,
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
  /** The configuration of the instance. */
  readonly source: ConfigSource;
  /** Runs what takes its time, until the instance ends. */
  readonly spawn: (work: (signal: AbortSignal) => Promise<void>) => void;
}

export interface RunInstanceOptions {
  /** Makes what refreshes the catalogues; none are refreshed when it is absent. */
  readonly refresh?: (world: World, options: FleetRefreshOptions) => FleetRefresh;
  readonly version: string;
  /** The configuration file; where the environment or the platform says when absent. */
  readonly config?: string;
  readonly overrides?: Overrides;
  readonly id: string;
  readonly log: Log;
  /** Written once the door is ready, its addresses a line each; removed at the end. */
  readonly readyFile?: string;
  /** Whose sockets the door must find; without it those that systemd has meant for this process are taken. */
  readonly onDemand?: OnDemand;
  /** Ends the door after so many ms without a connection; 0 is never. */
  readonly idleExit?: number;
  readonly onReady: (addresses: readonly string[]) => Promise<void>;
}

/** Runs a door until a signal, the control socket or idleness ends it; resolves after a clean drain. */
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
  /** What is given back at the end, the last one first. */
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

  /** Whether the door is ready; it is not where it was told to end before. */
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
    const stop = (drain?: number) => this.#stop.resolve({ why: "asked over the control socket", drain });
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
    // Before the control socket says that it is ready: who waits for that may read the file.
    const { addresses } = instance;
    await this.#readyFile.write(addresses);
    this.#held.defer(() => this.#readyFile.remove());
    if (source) await this.#serveControl(lock, source);
    await follower.follow();
    this.#tasks.spawn((signal) => this.#settle(instance, signal));
    const clusters = clustersOf(instance.status()).join("; ");
    this.#log.info("instance.ready", {
      id,
      addresses: addresses.join(" "),
      pid: this.#world.process.pid,
      ...(clusters !== "" && { clusters }),
    });
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

  /** Repairs what an earlier instance left, and then gives up what only that needed, and programs that no cluster names. */
  async #settle(instance: Instance, signal: AbortSignal): Promise<void> {
    await repairDns(this.#world, instance.dnsDelegation, { log: this.#log, signal });
    await instance.narrow();
  }

  /** Binds, unless the door is to end before: a way may wait for a program that the ssh configuration names. */
  async #opened(instance: Instance): Promise<boolean> {
    const opening = instance.open().then(() => true);
    if (await Promise.race([opening, this.#stop.promise.then(() => false)])) return true;
    const { why } = await this.#stop.promise;
    this.#log.info("instance.stopping", { why });
    return false;
  }

  /** One that came on the standard input is there for as long as the door is. */
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
        "Cannot use --listen: the system has handed over the socket to listen on",
        {
          hint: "leave --listen out: the address is that of the socket unit",
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

  /** The door's own once there is one: it remembers the last lines. */
  get #log(): Log {
    return this.#instance?.log ?? this.#options.log;
  }

  get #source(): ConfigSource {
    const { config, overrides } = this.#options;
    return { config, overrides };
  }

  async #serveControl(lock: InstanceLock, source: PageSource): Promise<void> {
    const { log } = this.#options;
    const { listening, token } = await lock.listen();
    const pages = createControl(source, { token });
    const { clock } = this.#world;
    const deps: ListenerDeps = {
      dial: () => Promise.reject(new PosternError("not_allowed", "The control socket is no proxy")),
      clock,
      log,
      deadlines: this.#held.use(new Deadlines(clock)),
      limits: { connections: 256, handshake: 10_000, halfCloseLinger: 1000 },
      pages,
    };
    this.#tasks.spawn((signal) => serveListener(listening, serveControl(pages), deps, { signal }));
  }

  #listenForSignals(follower: ConfigFollower): void {
    const { process } = this.#world;
    const on = (name: SignalName, heard: () => void) => this.#held.use(process.on(name, heard));
    on("SIGHUP", () => follower.reloadUnasked("SIGHUP"));
    let isStopping = false;
    for (const name of ["SIGTERM", "SIGINT"] as const) {
      on(name, () => {
        // The second time nobody wants to wait for live connections.
        if (isStopping || this.#instance?.phase === "draining") {
          this.#instance?.dropAll(new PosternError("cancelled", `Stopped by ${name}`));
        }
        isStopping = true;
        this.#stop.resolve({ why: name });
      });
    }
  }

  /** A door that nobody uses ends: one look when the time is up, and again when the last connection was younger. */
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

/** A timer takes no more than 31 bits. */
const longestWait = 2 ** 31 - 1;
