import type { Log } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { createPages, type ListenSettings } from "../listeners/mod.ts";
import type { ReloadReport } from "../control/mod.ts";
import { type ConfigSource, listenOf, loadConfig, type LoadedConfig, tryConfig } from "../plan/mod.ts";
import { Instance, type InstanceOptions, instanceSource } from "../instance/mod.ts";

export interface PrivateInstanceOptions {
  /** The configuration's text, or the source of a configuration from which only the listeners are used. */
  readonly config: string | ConfigSource;
  /** The listeners instead of those of the configuration. */
  readonly listen?: ListenSettings;
  /** How to ask the user for credentials (default: "none"). */
  readonly asks?: InstanceOptions["asks"];
  readonly version: string;
  readonly log: Log;
}

/** An instance inside another program: without an id, signals or files. */
export class PrivateInstance implements AsyncDisposable {
  readonly instance: Instance;
  /** The token that the web pages require. */
  readonly token: string;
  readonly #world: World;

  private constructor(world: World, instance: Instance, token: string) {
    this.#world = world;
    this.instance = instance;
    this.token = token;
  }

  /** Builds the instance and binds its listeners. */
  static async open(
    world: World,
    { config, listen, asks = "none", version, log }: PrivateInstanceOptions,
  ): Promise<PrivateInstance> {
    const loaded = typeof config === "string"
      ? await loadConfig(world, { text: config })
      : listenersOf(await loadConfig(world, config), listen);
    let token = "";
    const instance = new Instance(world, loaded, {
      version,
      id: "private",
      log,
      asks,
      pages: (instance) => {
        const source = instanceSource(instance, { reload: refuse, stop: refuse });
        token = source.token;
        return createPages(source);
      },
    });
    try {
      await instance.open();
    } catch (error) {
      await instance[Symbol.asyncDispose]();
      throw error;
    }
    return new PrivateInstance(world, instance, token);
  }

  /** The first bound address: `127.0.0.1:12000`. */
  get address(): string {
    return this.instance.listeners[0]?.address ?? "";
  }

  reload(config: string): Promise<ReloadReport> {
    return this.instance.reload(async (apply) => await apply(await tryConfig(this.#world, { text: config })));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.instance[Symbol.asyncDispose]();
  }
}

/**
 * Drops DNS, admin and forwards, which belong to the instance that runs with this configuration and may already
 * be bound.
 */
function listenersOf(config: LoadedConfig, other?: ListenSettings): LoadedConfig {
  const { dns: _dns, admin: _admin, forward: _forward, ...own } = listenOf(config.settings);
  const listen = other ? { ...other, ...(own.limits && { limits: own.limits }) } : own;
  return { ...config, settings: { ...config.settings, listen } };
}

function refuse(): never {
  throw new PosternError(
    "not_allowed",
    "Cannot reload or stop this instance: it belongs to the program that started it",
  );
}
