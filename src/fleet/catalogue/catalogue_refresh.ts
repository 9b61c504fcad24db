import { describe } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { reloadInstances } from "../../instances/mod.ts";
import type { LoadedConfig } from "../../plan/mod.ts";
import type { FleetRefresh, FleetRefreshOptions } from "../../instance/mod.ts";
import { type CatalogueUpdate, updateCatalogues } from "./update_catalogues.ts";

/** The longest sleep: a machine that slept itself must not add that to it. */
const longestPause = 15 * 60_000;

/** Fetches catalogues anew for a running door, as often as the configuration says, and never asks a person. */
export class CatalogueRefresh implements FleetRefresh {
  readonly #world: World;
  readonly #options: FleetRefreshOptions;
  /** When a catalogue may be tried again after it was tried last: by a clock that nobody sets. */
  readonly #notBefore = new Map<string, number>();
  #config: LoadedConfig | undefined;
  #timer: Disposable | undefined;
  #isBusy = false;
  #isClosed = false;

  constructor(world: World, options: FleetRefreshOptions) {
    this.#world = world;
    this.#options = options;
  }

  /** Goes by another configuration from now on. */
  follow(config: LoadedConfig): void {
    this.#config = config;
    this.#sleep();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #sleep(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const next = Math.min(...this.#wanted().map(({ wait }) => wait));
    if (next === Infinity || this.#isBusy || this.#isClosed) return;
    const ms = Math.min(longestPause, Math.max(0, next));
    this.#timer = this.#world.clock.after(ms, () => this.#options.spawn((signal) => this.#look(signal)));
  }

  async #look(signal: AbortSignal): Promise<void> {
    this.#isBusy = true;
    try {
      for (const { name, refresh, wait } of this.#wanted()) {
        if (wait <= 0) await this.#refresh(name, refresh, signal);
      }
    } finally {
      this.#isBusy = false;
      this.#sleep();
    }
  }

  /** This door too takes up what is new by its control socket, as all others do. */
  async #refresh(name: string, refresh: number, signal: AbortSignal): Promise<void> {
    const { log, source } = this.#options;
    this.#notBefore.set(name, this.#world.clock.now() + Math.min(refresh, longestPause));
    try {
      const options = { name, ifOlderThan: refresh, method: "none", log, signal } as const;
      const { catalogues } = await updateCatalogues(this.#world, source, options);
      for (const one of catalogues) this.#tell(one);
      // Somebody else has fetched it, and could not tell this door.
      const isBehind = catalogues.some((one) => "isFresh" in one && one.fetched !== this.#fetchedAt(name));
      if (isBehind) await reloadInstances(this.#world, { signal });
    } catch (error) {
      signal.throwIfAborted();
      log.warn("catalogue.not_refreshed", { catalogue: name, reason: describe(error) });
    }
  }

  #tell(one: CatalogueUpdate): void {
    const { log } = this.#options;
    const { name: catalogue } = one;
    if ("error" in one) log.warn("catalogue.not_refreshed", { catalogue, reason: describe(one.error) });
    else if (!("isFresh" in one)) log.info("catalogue.refreshed", { catalogue, clusters: one.clusters });
  }

  /** Those that are fetched by themselves, each with how long it can wait, in ms. */
  #wanted(): { readonly name: string; readonly refresh: number; readonly wait: number }[] {
    const { clock } = this.#world;
    const date = clock.date().getTime();
    return (this.#config?.settings.catalogues ?? []).flatMap(({ name, refresh }) => {
      if (refresh === 0) return [];
      const fetchedAt = this.#fetchedAt(name);
      const fetched = fetchedAt === undefined ? 0 : Date.parse(fetchedAt);
      // What is of tomorrow was stored while the clock was wrong.
      const left = fetched > date + 60_000 ? 0 : fetched + refresh - date;
      return [{ name, refresh, wait: Math.max(left, (this.#notBefore.get(name) ?? 0) - clock.now()) }];
    });
  }

  /** Of the list that this door goes by. */
  #fetchedAt(name: string): string | undefined {
    return this.#config?.catalogues.find((one) => one.name === name)?.fetchedAt;
  }
}
