import type { Log, Tasks } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import type { ReloadReport } from "../control/mod.ts";
import {
  type ConfigReading,
  type ConfigSource,
  ConfigWatch,
  type LoadedConfig,
  tryConfig,
} from "../plan/mod.ts";
import type { Instance } from "./instance.ts";

/** Refreshes catalogues in a running instance at the configured interval. */
export interface FleetRefresh extends Disposable {
  /** Uses another configuration from now on. */
  follow(config: LoadedConfig): void;
}

export interface ConfigFollowerOptions {
  readonly log: Log;
  readonly source: ConfigSource;
  /** The contents of the configuration files at startup. */
  readonly texts: ConfigReading["texts"];
  readonly tasks: Tasks;
  readonly refresh: FleetRefresh | undefined;
  /** Runs after each successful reload; the reload resolves after this call. */
  readonly reloaded: () => Promise<void>;
}

/** Reloads an instance on request and when one of its configuration files changes. */
export class ConfigFollower implements Disposable {
  readonly #world: World;
  readonly #instance: Instance;
  readonly #options: ConfigFollowerOptions;
  readonly #watch: ConfigWatch;
  /** The file contents of the last read, valid or not. */
  #texts: ConfigReading["texts"];

  constructor(world: World, instance: Instance, options: ConfigFollowerOptions) {
    this.#world = world;
    this.#instance = instance;
    this.#options = options;
    this.#texts = options.texts;
    this.#watch = new ConfigWatch(world, options.log, () => this.reloadUnasked("file"));
  }

  /** Reads the configuration again and applies it. */
  reload(): Promise<ReloadReport> {
    return this.#instance.reload(async (apply) => {
      const reading = await this.#read();
      this.#texts = reading.texts;
      try {
        const report = await apply(reading);
        await this.#options.reloaded();
        return report;
      } finally {
        await this.follow();
      }
    }, this);
  }

  /** Reloads after a signal or a file change. The instance logs a failure; no caller waits for the result. */
  reloadUnasked(why: string): void {
    this.#options.tasks.spawn(async () => {
      this.#instance.log.info("config.reloading", { why });
      await this.reload().catch(() => {});
    });
  }

  /** Watches the files that were read. The ssh files are known once the transports are prepared. */
  async follow(): Promise<void> {
    this.#options.refresh?.follow(this.#instance.plan.config);
    await this.#watchFiles();
    this.#options.tasks.spawn(async () => {
      await this.#instance.prepared();
      await this.#watchFiles();
    });
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  async #watchFiles(): Promise<void> {
    const { contents } = this.#instance.transports.ssh;
    await this.#watch.follow({
      texts: new Map([...contents?.texts ?? [], ...this.#texts]),
      listings: contents?.listings,
    });
  }

  /** A missing file is not an empty configuration: an editor may be about to write it again. */
  async #read(): Promise<ConfigReading> {
    const reading = await tryConfig(this.#world, this.#options.source);
    const { path } = this.#instance.plan.config;
    if (path === undefined || "error" in reading || reading.config.path !== undefined) return reading;
    const error = new PosternError("config", `Cannot use "${path}": the file no longer exists`, {
      hint: "restore the file; to run without one, restart the instance",
    });
    return { texts: reading.texts, error };
  }
}
