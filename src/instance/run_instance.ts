import { Deadlines, type Log, Tasks, whenAborted } from "../core/mod.ts";
import { describe, formatTarget, PosternError } from "../words/mod.ts";
import type { Listening, SignalName, World } from "../world/mod.ts";
import {
  createControl,
  createPages,
  type ListenerDeps,
  type PageSource,
  serveControl,
  serveListener,
} from "../listeners/mod.ts";
import type { ReloadReport } from "../control/mod.ts";
import {
  type ConfigReport,
  type ConfigSource,
  ConfigWatch,
  demandLoaded,
  type LoadedConfig,
  type Overrides,
  readConfig,
  type WatchedContents,
} from "../plan/mod.ts";
import { clustersOf, InstanceLock, withOwner } from "../instances/mod.ts";
import { repairDns } from "../resolver/mod.ts";
import { Instance } from "./instance.ts";
import { needsOfConfig } from "./care/plan_needs.ts";
import { instanceSource } from "./watching/instance_source.ts";
import { type OnDemand, takeHandedOver } from "./listening/handed_over.ts";
import { isTransient, removeLeftKubeconfigs } from "./environment/transient_kubeconfig.ts";

/** Fetches catalogues again while an instance runs, as often as its configuration says. */
export interface FleetRefresh extends Disposable {
  /** Goes by another configuration from now on. */
  follow(config: LoadedConfig): void;
}

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
  readonly drain?: number;
}

class InstanceRun implements AsyncDisposable {
  readonly #world: World;
  readonly #options: RunInstanceOptions;
  readonly #stop = Promise.withResolvers<Stop>();
  /** What is given back at the end, the last one first. */
  readonly #held = new AsyncDisposableStack();
  readonly #tasks: Tasks;
  /** A reload that has not begun: whoever asks for another one meanwhile gets this. */
  #nextReload: Promise<ReloadReport> | undefined;
  #instance: Instance | undefined;
  #watch: ConfigWatch | undefined;
  #refresh: FleetRefresh | undefined;
  /** The files as they were read last, whether they could be used, or read, or not. */
  #texts: ConfigReport["texts"] = new Map();
  /** The ready file as long as it is there, and what settles when it is written. */
  #readyFile: string | undefined;
  #telling: Promise<unknown> = Promise.resolve();

  constructor(world: World, options: RunInstanceOptions) {
    this.#world = world;
    this.#options = options;
    this.#tasks = this.#held.use(
      new Tasks(undefined, (error) => options.log.error("door.task_failed", { reason: describe(error) })),
    );
  }

  /** Whether the door is ready; it is not where it was told to end before. */
  async start(): Promise<boolean> {
    const { id, log, version, readyFile, onReady } = this.#options;
    const config = await this.#load();
    demandRoutes(config);
    this.#world.process.keepOnly(needsOfConfig(config));
    const lock = this.#held.use(await InstanceLock.take(this.#world, id));
    await this.#holdKubeconfig();
    const handedOver = await this.#takeHandedOver();
    let source: PageSource | undefined;
    const instance = this.#held.use(
      new Instance(this.#world, config, {
        version,
        id,
        log,
        handedOver,
        pages: (instance) => createPages(source = instanceSource(instance, this.#actions())),
      }),
    );
    this.#instance = instance;
    for (const warning of config.warnings) this.#log.warn("config.warning", { warning });
    this.#listenForSignals();
    try {
      if (!await this.#opened(instance)) return false;
    } catch (error) {
      throw await withOwner(this.#world, error).catch(() => error);
    }
    // Before the control socket says that it is ready: who waits for that may read the file.
    const addresses = await this.#tellAddresses(instance);
    // What stands there when it cannot be written is not ours.
    this.#readyFile = readyFile;
    this.#held.defer(() => this.#untell());
    if (source) await this.#serveControl(lock, source);
    this.#watch = this.#held.use(new ConfigWatch(this.#world, log, () => this.#reloadAndForget("file")));
    const spawn = (work: (signal: AbortSignal) => Promise<void>) => this.#tasks.spawn(work);
    this.#refresh = this.#options.refresh &&
      this.#held.use(this.#options.refresh(this.#world, { log, source: this.#source, spawn }));
    await this.#follow(instance);
    this.#tasks.spawn((signal) => this.#settle(instance, signal));
    const clusters = clustersOf(instance.status()).join("; ");
    this.#log.info("door.ready", {
      id,
      addresses: addresses.join(" "),
      pid: this.#world.process.pid,
      ...(clusters !== "" && { clusters }),
    });
    await onReady(addresses);
    return true;
  }

  /** Repairs what an earlier instance left, and then gives up what only that needed, and programs that no cluster names. */
  async #settle(instance: Instance, signal: AbortSignal): Promise<void> {
    await repairDns(this.#world, instance.dnsWish, { log: this.#log, signal });
    await instance.narrow();
  }

  /** Binds, unless the door is to end before: a way may wait for a program that the ssh configuration names. */
  async #opened(instance: Instance): Promise<boolean> {
    const opening = instance.open().then(() => true);
    if (await Promise.race([opening, this.#stop.promise.then(() => false)])) return true;
    const { why } = await this.#stop.promise;
    this.#log.info("door.stopping", { why });
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

  /** Writes the ready file where one is wanted. */
  async #tellAddresses(instance: Instance): Promise<string[]> {
    const { readyFile } = this.#options;
    const addresses = [
      ...instance.listeners.filter(({ kind }) => kind !== "admin").map(({ address }) => address),
      ...instance.dnsEndpoints.map((endpoint) => `dns:${formatTarget(endpoint)}`),
    ];
    if (readyFile !== undefined) {
      const text = addresses.map((address) => `${address}\n`).join("");
      const telling = this.#world.files.replace(readyFile, text);
      this.#telling = Promise.allSettled([this.#telling, telling]);
      await telling;
    }
    return addresses;
  }

  /** The ready file says that the door takes clients. */
  async #untell(): Promise<void> {
    const readyFile = this.#readyFile;
    this.#readyFile = undefined;
    await this.#telling;
    if (readyFile !== undefined) await this.#world.files.remove(readyFile);
  }

  async untilStopped(signal: AbortSignal): Promise<void> {
    using _interrupted = whenAborted(signal, () => this.#stop.resolve({ why: "interrupted" }));
    if (this.#options.idleExit) this.#exitWhenIdle(this.#options.idleExit);
    const { why, drain } = await this.#stop.promise;
    this.#log.info("door.stopping", { why });
    await this.#untell();
    await this.#instance?.drain(drain);
    this.#log.info("door.stopped");
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
    return { ...(config !== undefined && { config }), ...(overrides && { overrides }) };
  }

  async #load(): Promise<LoadedConfig> {
    const texts = new Map<string, string | undefined>();
    try {
      return demandLoaded(await readConfig(this.#world, this.#source, texts));
    } finally {
      this.#texts = texts;
    }
  }

  #actions() {
    return {
      reload: () => this.#reload(),
      stop: (drain?: number) =>
        this.#stop.resolve({ why: "asked over the control socket", ...(drain !== undefined && { drain }) }),
    };
  }

  #reload(): Promise<ReloadReport> {
    const instance = this.#instance;
    if (!instance) {
      throw new PosternError("cancelled", "Cannot reload: the door is starting", { detail: "starting" });
    }
    return this.#nextReload ??= this.#reloadOnce(instance);
  }

  async #reloadOnce(instance: Instance): Promise<ReloadReport> {
    try {
      const report = await instance.reload(() => {
        this.#nextReload = undefined;
        return this.#loadAgain(instance);
      });
      // One that closes meanwhile has taken its ready file away.
      if (this.#readyFile !== undefined) await this.#tellAddresses(instance);
      return report;
    } finally {
      await this.#follow(instance);
    }
  }

  /** Watches what the configuration was read from; which files of ssh that are is known a little later. */
  async #follow(instance: Instance): Promise<void> {
    this.#refresh?.follow(instance.plan.config);
    await this.#watch?.follow(this.#contents(instance));
    this.#tasks.spawn(async () => {
      await instance.prepared();
      await this.#watch?.follow(this.#contents(instance));
    });
  }

  #contents({ transports: { ssh: { contents } } }: Instance): WatchedContents {
    return {
      texts: new Map([...contents?.texts ?? [], ...this.#texts]),
      listings: contents?.listings,
    };
  }

  /** A file that has gone is no empty configuration: an editor may be about to write it anew. */
  async #loadAgain({ plan }: Instance): Promise<LoadedConfig> {
    const config = await this.#load();
    const { path } = plan.config;
    if (path === undefined || config.path !== undefined) return config;
    throw new PosternError("config", `Cannot use "${path}": the file has gone`, {
      hint: "write it again; to run without it, start the door anew",
    });
  }

  /** For reloads that nobody waits for: the door has logged what went wrong. */
  #reloadAndForget(why: string): void {
    this.#tasks.spawn(async () => {
      this.#log.info("config.reloading", { why });
      await this.#reload().catch(() => {});
    });
  }

  async #serveControl(lock: InstanceLock, source: PageSource): Promise<void> {
    const { log } = this.#options;
    const { listening, token } = await lock.listen();
    const pages = createControl(source, token === undefined ? {} : { token });
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

  #listenForSignals(): void {
    const { process } = this.#world;
    const on = (name: SignalName, heard: () => void) => this.#held.use(process.on(name, heard));
    on("SIGHUP", () => this.#reloadAndForget("SIGHUP"));
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

/** A door that would send everything direct has been started by mistake. */
export function demandRoutes({ path, rules, settings, catalogues }: LoadedConfig): void {
  if (rules.length > 0 || settings.default !== "direct") return;
  if (settings.catalogues?.length && catalogues.every(({ fetchedAt }) => fetchedAt === undefined)) {
    throw new PosternError("config", "Cannot start: no catalogue is stored, so nothing would be routed", {
      hint: "fetch it: postern update",
    });
  }
  if (path !== undefined || catalogues.length > 0) return;
  throw new PosternError(
    "config",
    "Cannot start: there is no configuration, no --route and no catalogue, so nothing would be routed",
    {
      hint: "fetch a catalogue: postern update; write a configuration: postern config init; or try: " +
        "postern proxy --route .corp.example=proxy:http://127.0.0.1:3128",
    },
  );
}
