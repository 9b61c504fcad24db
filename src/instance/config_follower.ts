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

/** Fetches catalogues again while an instance runs, as often as its configuration says. */
export interface FleetRefresh extends Disposable {
  /** Goes by another configuration from now on. */
  follow(config: LoadedConfig): void;
}

export interface ConfigFollowerOptions {
  readonly log: Log;
  /** Where the instance has its configuration from. */
  readonly source: ConfigSource;
  /** The files as they were read for the start. */
  readonly texts: ConfigReading["texts"];
  readonly tasks: Tasks;
  readonly refresh: FleetRefresh | undefined;
  /** Runs after each reload that succeeds; the reload answers when it has ended. */
  readonly reloaded: () => Promise<void>;
}

/** Reloads an instance when it is asked to, and when a file of its configuration changes. */
export class ConfigFollower implements Disposable {
  readonly #world: World;
  readonly #instance: Instance;
  readonly #options: ConfigFollowerOptions;
  readonly #watch: ConfigWatch;
  /** The files as they were read last, whether or not they could be used. */
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

  /** Reloads for a signal or a file: the instance logs a failure, and no one waits for an answer. */
  reloadUnasked(why: string): void {
    this.#options.tasks.spawn(async () => {
      this.#instance.log.info("config.reloading", { why });
      await this.reload().catch(() => {});
    });
  }

  /** Watches the files that were read. Those of ssh are known once the transports are prepared. */
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

  /** A file that has gone is no empty configuration: an editor may be about to write it again. */
  async #read(): Promise<ConfigReading> {
    const reading = await tryConfig(this.#world, this.#options.source);
    const { path } = this.#instance.plan.config;
    if (path === undefined || "error" in reading || reading.config.path !== undefined) return reading;
    const error = new PosternError("config", `Cannot use "${path}": the file has gone`, {
      hint: "write it again; to run without it, start the door anew",
    });
    return { texts: reading.texts, error };
  }
}
