import type { Catalogue, FactWarning } from "../../clusters/mod.ts";
import type { CatalogueChanges, CatalogueRoute, CatalogueSettings } from "../../catalogue/mod.ts";
import type { TokenSource } from "../../signin/mod.ts";
import { asPosternError, PosternError } from "../../words/mod.ts";
import { directoryOf, type World } from "../../world/mod.ts";
import { formatAge } from "../../core/mod.ts";
import {
  CatalogueAccess,
  type CatalogueSources,
  catalogueSources,
  type SignInMethod,
} from "./catalogue_access.ts";
import { type NamedCatalogue, notesAcross, type RoutedCatalogue } from "./catalogue_notes.ts";
import { catalogueStore, type ConfigSource, loadConfig } from "../../plan/mod.ts";
import { type InstanceReload, reloadInstances } from "../../instances/mod.ts";

export interface UpdateOptions extends SignInMethod {
  readonly signal: AbortSignal;
  /** Update only this catalogue. */
  readonly name?: string | undefined;
  /** Update only the catalogue of this API, in the configuration or not. */
  readonly lieutenantUrl?: string | undefined;
  /** Report the changes without storing them. */
  readonly isDryRun?: boolean;
  /** Skip catalogues that are younger than this, in ms. */
  readonly ifOlderThan?: number | undefined;
  /** Whether an empty list may replace one with clusters. */
  readonly allowsEmpty?: boolean;
  /** A token from another source, used instead of a sign-in. */
  readonly token?: TokenSource | undefined;
}

/** The result for one catalogue. */
export type CatalogueUpdate =
  | UpdatedCatalogue
  /** It was fetched recently. */
  | { readonly name: string; readonly fetched: string; readonly isFresh: true }
  | { readonly name: string; readonly error: PosternError };

/** A newly fetched catalogue. */
export interface UpdatedCatalogue {
  readonly name: string;
  readonly source: string;
  readonly fetched: string;
  readonly clusters: number;
  /** Whether no catalogue with this name was stored before. */
  readonly isNew: boolean;
  readonly changes: CatalogueChanges;
  /** All its routes and exclusions. */
  readonly routes: readonly CatalogueRoute[];
  readonly warnings: readonly FactWarning[];
  /** The ids of clusters with the fact `kharonIgnore`. */
  readonly ignored: readonly string[];
  readonly notes: readonly string[];
}

export interface UpdateReport {
  readonly catalogues: readonly CatalogueUpdate[];
  /** Conflicts between the facts of different clusters, and the error of an unreadable store. */
  readonly notes: readonly string[];
  readonly instances: readonly InstanceReload[];
}

type Imported = Pick<UpdatedCatalogue, "warnings" | "ignored"> & {
  readonly catalogue: Catalogue;
  readonly notes?: readonly string[];
};

/** Fetches the catalogues, stores each completely or not at all, and makes the running instances reload. */
export async function updateCatalogues(
  world: World,
  source: ConfigSource,
  options: UpdateOptions,
): Promise<UpdateReport> {
  const { signal, token, allowsEmpty = false } = options;
  const sources = await catalogueSources(world, source, options);
  if (token !== undefined && sources.catalogues.length > 1) {
    throw new PosternError("usage", "Cannot use one token for several catalogues", {
      hint: `choose a catalogue: postern update ${sources.catalogues[0]?.name} --token-file …`,
    });
  }
  return await storeAll(world, sources.catalogues, {
    ...options,
    named: sources.config.settings.catalogues,
    load: async (settings, old) => {
      const got = await fetchOne(world, settings, { sources, options, signal });
      if (!allowsEmpty) demandClusters(got, old);
      return got;
    },
  });
}

/** Stores kharon's files as a catalogue of postern. */
export async function importKharon(
  world: World,
  source: ConfigSource,
  options: Pick<UpdateOptions, "isDryRun" | "ifOlderThan" | "signal">,
): Promise<UpdateReport> {
  const { settings } = await loadConfig(world, { ...source, withoutCatalogues: true });
  const [{ name } = { name: "main" }] = settings.catalogues ?? [];
  if (settings.catalogues?.length === 0) {
    throw new PosternError(
      "config",
      "Cannot import the catalogue: the configuration has an empty list of catalogues",
      {
        hint: "remove from the configuration: catalogues: []",
      },
    );
  }
  const directory = `${directoryOf(world.places.cache)}/io.vshn.kharon`;
  const { readKharonCache } = await import("../../catalogue/mod.ts");
  const imported = await readKharonCache({ files: world.files, directory, name });
  if (!imported) {
    throw new PosternError(
      "config",
      `Cannot import the catalogue: "${directory}" contains no files of kharon`,
      {
        hint: "fetch the catalogue: postern update",
      },
    );
  }
  const stored = (await storedBefore(world)).catalogues.find((one) => one.name === name);
  if (stored && /^https?:/.test(stored.source)) {
    throw new PosternError(
      "config",
      `Cannot import the catalogue: postern has already stored "${name}" (${ageOf(world, stored)} ago)`,
      { hint: "fetch it again: postern update" },
    );
  }
  return await storeAll<NamedCatalogue>(world, settings.catalogues?.slice(0, 1) ?? [{ name }], {
    ...options,
    named: settings.catalogues,
    load: () => Promise.resolve(imported),
  });
}

interface StoreOptions<S> extends Pick<UpdateOptions, "signal" | "isDryRun" | "ifOlderThan"> {
  /** All catalogues of the configuration, if it lists any. */
  readonly named: readonly CatalogueSettings[] | undefined;
  readonly load: (settings: S, old: Catalogue | undefined) => Promise<Imported>;
}

async function storeAll<S extends NamedCatalogue>(
  world: World,
  all: readonly S[],
  { load, named, signal, isDryRun = false, ifOlderThan }: StoreOptions<S>,
): Promise<UpdateReport> {
  const store = await catalogueStore(world);
  const before = await storedBefore(world);
  const catalogues: CatalogueUpdate[] = [];
  const updated: RoutedCatalogue[] = [];
  for (const settings of all) {
    const { name } = settings;
    const old = before.catalogues.find((one) => one.name === name);
    if (old && ifOlderThan !== undefined && isYounger(age(world, old), ifOlderThan)) {
      catalogues.push({ name, fetched: old.fetched, isFresh: true });
      continue;
    }
    try {
      const got = await load(settings, old);
      const stored = isDryRun ? [] : await store.put(got.catalogue, { signal });
      const notes = [...got.notes ?? [], ...movedNotes(got.catalogue, old), ...stored];
      const one = await described(got, { old, settings, notes });
      updated.push({ routes: one.routes, settings });
      catalogues.push(one);
    } catch (error) {
      signal.throwIfAborted();
      catalogues.push({ name, error: failureOf(error, old && ageOf(world, old)) });
    }
  }
  const isStored = !isDryRun && updated.length > 0;
  return {
    catalogues,
    notes: [...before.notes, ...await notesAcross(updated, { stored: before.catalogues, named })],
    instances: isStored ? await reloadInstances(world, { signal }) : [],
  };
}

async function fetchOne(
  world: World,
  settings: CatalogueSettings,
  { sources: { config }, options, signal }: {
    readonly sources: CatalogueSources;
    readonly options: UpdateOptions;
    readonly signal: AbortSignal;
  },
): Promise<Imported> {
  const { fetchCatalogue } = await import("../../catalogue/mod.ts");
  const { givenToken, tokenFileNote } = await import("../../signin/mod.ts");
  await using access = await CatalogueAccess.open(world, settings, { config, method: options });
  const { name, lieutenant, tenant } = settings;
  const request = { name, lieutenant, ...(tenant !== undefined && { tenant }) };
  const parts = { clock: world.clock, client: access.client };
  const ask = (token: string) => fetchCatalogue({ ...request, token }, parts, { signal });
  if (options.token !== undefined) {
    const got = await ask(await givenToken(options.token, world));
    const note = await tokenFileNote(options.token, world);
    return { ...got, notes: note === undefined ? [] : [note] };
  }
  return await access.withToken(ask, { signal });
}

async function described(
  { catalogue, warnings: ofClusters, ignored }: Imported,
  { old, settings: { domainFacts }, notes }: {
    readonly old: Catalogue | undefined;
    readonly settings: NamedCatalogue;
    readonly notes: readonly string[];
  },
): Promise<UpdatedCatalogue> {
  const { catalogueChanges, routesOf } = await import("../../catalogue/mod.ts");
  const facts = domainFacts ? { domainFacts } : {};
  const { routes, warnings } = routesOf(catalogue, facts);
  const before = old && { clusters: old.clusters, routes: routesOf(old, facts).routes };
  const { name, source, fetched, clusters } = catalogue;
  return {
    name,
    source,
    fetched,
    clusters: clusters.length,
    isNew: !old,
    changes: catalogueChanges(before, { clusters, routes }),
    routes,
    warnings: [...ofClusters, ...warnings],
    ignored,
    notes,
  };
}

/**
 * The stored catalogues. If the store is unreadable, the update writes a new one and reports what happened to
 * the old one.
 */
async function storedBefore(
  world: World,
): Promise<{ readonly catalogues: readonly Catalogue[]; readonly notes: readonly string[] }> {
  try {
    return { catalogues: (await (await catalogueStore(world)).read()).catalogues, notes: [] };
  } catch (error) {
    return { catalogues: [], notes: [asPosternError(error).message] };
  }
}

/**
 * Refuses an empty list that would replace clusters: a wrong tenant or a lost right also returns one. The
 * user must confirm it.
 */
function demandClusters(
  { catalogue, ignored, warnings: [first] }: Imported,
  old: Catalogue | undefined,
): void {
  const before = old?.clusters.length ?? 0;
  if (catalogue.clusters.length > 0 || before === 0) return;
  const { name, source } = catalogue;
  const left = ignored.length === 0 ? "" : ` except ${ignored.length} with kharonIgnore`;
  const why = first === undefined ? "" : ` (cluster ${first.cluster}: ${first.message})`;
  throw new PosternError(
    "protocol",
    `Cannot update the catalogue "${name}": ${source} returns no clusters${left}, but ${before} are stored${why}`,
    {
      hint:
        "check the tenant in the configuration and your account; if the list is really empty: postern update --allow-empty",
    },
  );
}

function movedNotes({ name, source }: Catalogue, old: Catalogue | undefined): string[] {
  if (!old || old.source === source) return [];
  return [`catalogue ${name}: its source was ${old.source} before`];
}

/** Adds to a failure that the stored catalogue remains. */
function failureOf(thrown: unknown, stored: string | undefined): PosternError {
  const error = asPosternError(thrown);
  if (stored === undefined) return error;
  const kept = `postern keeps the catalogue of ${stored} ago`;
  return error.with({ hint: error.hint === undefined ? kept : `${error.hint}; ${kept}` });
}

/** A time in the future was stored under a wrong clock and does not count. */
function isYounger(age: number, limit: number): boolean {
  return age > -60_000 && age < limit;
}

function age({ clock }: World, { fetched }: Catalogue): number {
  return clock.date().getTime() - Date.parse(fetched);
}

function ageOf(world: World, catalogue: Catalogue): string {
  return formatAge(age(world, catalogue));
}
