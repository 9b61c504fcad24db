import type { Log } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { createPages } from "../listeners/mod.ts";
import type { ReloadReport } from "../control/mod.ts";
import { type ConfigSource, listenOf, loadConfig, type LoadedConfig, tryConfig } from "../plan/mod.ts";
import { Instance, instanceSource } from "../instance/mod.ts";

export interface PrivateInstanceOptions {
  /** The configuration itself, or where the one is of which only the doors count. */
  readonly config: string | ConfigSource;
  readonly version: string;
  readonly log: Log;
}

/** A door inside another program: no instance of its own, no signals, no file. */
export class PrivateInstance implements AsyncDisposable {
  readonly instance: Instance;
  /** What the pages ask for before they show anything. */
  readonly token: string;
  readonly #world: World;

  private constructor(world: World, instance: Instance, token: string) {
    this.#world = world;
    this.instance = instance;
    this.token = token;
  }

  /** Builds and binds. */
  static async open(
    world: World,
    { config, version, log }: PrivateInstanceOptions,
  ): Promise<PrivateInstance> {
    const loaded = typeof config === "string"
      ? await loadConfig(world, { text: config })
      : listenersOf(await loadConfig(world, config));
    let token = "";
    const instance = new Instance(world, loaded, {
      version,
      id: "private",
      log,
      asks: "none",
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

  /** `127.0.0.1:12000`, the first address bound. */
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

/** DNS and admin are the business of the door that runs by a configuration, and perhaps taken by it. */
function listenersOf(config: LoadedConfig): LoadedConfig {
  const { dns: _dns, admin: _admin, ...listen } = listenOf(config.settings);
  return { ...config, settings: { ...config.settings, listen } };
}

function refuse(): never {
  throw new PosternError("not_allowed", "This door belongs to the program that opened it");
}
