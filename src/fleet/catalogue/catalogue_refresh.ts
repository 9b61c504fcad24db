import { describe } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { reloadInstances } from "../../instances/mod.ts";
import type { LoadedConfig } from "../../plan/mod.ts";
import type { FleetRefresh, FleetRefreshOptions } from "../../instance/mod.ts";
import { type CatalogueUpdate, updateCatalogues } from "./update_catalogues.ts";

/** The longest pause in ms, so that a suspended machine does not extend it much. */
const longestPause = 15 * 60_000;

/** Refreshes catalogues for a running instance at the configured interval; never asks the user. */
export class CatalogueRefresh implements FleetRefresh {
  readonly #world: World;
  readonly #options: FleetRefreshOptions;
  /** The earliest time of the next attempt for each catalogue, by a monotonic clock. */
  readonly #notBefore = new Map<string, number>();
  #config: LoadedConfig | undefined;
  #timer: Disposable | undefined;
  #isBusy = false;
  #isClosed = false;

  constructor(world: World, options: FleetRefreshOptions) {
    this.#world = world;
    this.#options = options;
  }

  /** Switches to a new configuration. */
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

  /** Updates a catalogue. This instance, too, reloads it through its control socket, like all instances. */
  async #refresh(name: string, refresh: number, signal: AbortSignal): Promise<void> {
    const { log, source } = this.#options;
    this.#notBefore.set(name, this.#world.clock.now() + Math.min(refresh, longestPause));
    try {
      const options = { name, ifOlderThan: refresh, method: "none", log, signal } as const;
      const { catalogues } = await updateCatalogues(this.#world, source, options);
      for (const one of catalogues) this.#tell(one);
      // Another process has fetched it but could not notify this instance.
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

  /** The catalogues with an interval, each with the time until its refresh, in ms. */
  #wanted(): { readonly name: string; readonly refresh: number; readonly wait: number }[] {
    const { clock } = this.#world;
    const date = clock.date().getTime();
    return (this.#config?.settings.catalogues ?? []).flatMap(({ name, refresh }) => {
      if (refresh === 0) return [];
      const fetchedAt = this.#fetchedAt(name);
      const fetched = fetchedAt === undefined ? 0 : Date.parse(fetchedAt);
      // A time in the future was stored under a wrong clock.
      const left = fetched > date + 60_000 ? 0 : fetched + refresh - date;
      return [{ name, refresh, wait: Math.max(left, (this.#notBefore.get(name) ?? 0) - clock.now()) }];
    });
  }

  /** The fetch time of the catalogue that this instance uses. */
  #fetchedAt(name: string): string | undefined {
    return this.#config?.catalogues.find((one) => one.name === name)?.fetchedAt;
  }
}
