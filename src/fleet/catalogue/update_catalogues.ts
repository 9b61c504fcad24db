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
  type SignInWay,
} from "./catalogue_access.ts";
import { type NamedCatalogue, notesAcross, type RoutedCatalogue } from "./catalogue_notes.ts";
import { catalogueStore, type ConfigSource, loadConfig } from "../../plan/mod.ts";
import { type InstanceReload, reloadInstances } from "../../instances/mod.ts";

export interface UpdateOptions extends SignInWay {
  readonly signal: AbortSignal;
  /** Only this one. */
  readonly name?: string | undefined;
  /** Only the catalogue of this API, in the configuration or not. */
  readonly lieutenantUrl?: string | undefined;
  /** Tells what would change, and changes nothing. */
  readonly isDryRun?: boolean;
  /** Leaves alone what is stored and not older than so many ms. */
  readonly ifOlderThan?: number | undefined;
  /** Whether a list without clusters may take the place of one with some. */
  readonly allowsEmpty?: boolean;
  /** A token that somebody else has fetched, in the place of a sign-in. */
  readonly token?: TokenSource | undefined;
}

/** What became of one catalogue. */
export type CatalogueUpdate =
  | UpdatedCatalogue
  /** It was fetched not long ago. */
  | { readonly name: string; readonly fetched: string; readonly isFresh: true }
  | { readonly name: string; readonly error: PosternError };

/** A catalogue as it was fetched. */
export interface UpdatedCatalogue {
  readonly name: string;
  readonly source: string;
  readonly fetched: string;
  readonly clusters: number;
  /** Whether nothing of this name was stored before. */
  readonly isNew: boolean;
  readonly changes: CatalogueChanges;
  /** All that it routes and excludes. */
  readonly routes: readonly CatalogueRoute[];
  readonly warnings: readonly FactWarning[];
  /** The clusters that ask not to be listed. */
  readonly ignored: readonly string[];
  readonly notes: readonly string[];
}

/** What an update did. */
export interface UpdateReport {
  readonly catalogues: readonly CatalogueUpdate[];
  /** Where one cluster's facts take something from another's. */
  readonly notes: readonly string[];
  readonly instances: readonly InstanceReload[];
}

type Imported = Pick<UpdatedCatalogue, "warnings" | "ignored"> & {
  readonly catalogue: Catalogue;
  readonly notes?: readonly string[];
};

/** Fetches the catalogues, stores each whole or not at all, and has the running doors take them up. */
export async function updateCatalogues(
  world: World,
  source: ConfigSource,
  options: UpdateOptions,
): Promise<UpdateReport> {
  const { signal, token, allowsEmpty = false } = options;
  const sources = await catalogueSources(world, source, options);
  if (token !== undefined && sources.catalogues.length > 1) {
    throw new PosternError("usage", "Cannot use one token for several catalogues", {
      hint: `say which: postern update ${sources.catalogues[0]?.name} --token-file …`,
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

/** Takes over what kharon has stored, in the place of a catalogue of our own. */
export async function importKharon(
  world: World,
  source: ConfigSource,
  options: Pick<UpdateOptions, "isDryRun" | "ifOlderThan" | "signal">,
): Promise<UpdateReport> {
  const { settings } = await loadConfig(world, { ...source, withoutCatalogues: true });
  const [{ name } = { name: "main" }] = settings.catalogues ?? [];
  if (settings.catalogues?.length === 0) {
    throw new PosternError("config", "Cannot import: the configuration counts no catalogue", {
      hint: "take out of it: catalogues: []",
    });
  }
  const directory = `${directoryOf(world.places.cache)}/io.vshn.kharon`;
  const { readKharonCache } = await import("../../catalogue/mod.ts");
  const imported = await readKharonCache({ files: world.files, directory, name });
  if (!imported) {
    throw new PosternError("config", `Cannot import: "${directory}" has nothing of kharon`, {
      hint: "fetch the catalogue: postern update",
    });
  }
  const stored = (await storedBefore(world)).catalogues.find((one) => one.name === name);
  if (stored && /^https?:/.test(stored.source)) {
    throw new PosternError(
      "config",
      `Cannot import: a catalogue "${name}" of ${ageOf(world, stored)} ago is stored already`,
      { hint: "fetch it anew: postern update" },
    );
  }
  return await storeAll<NamedCatalogue>(world, settings.catalogues?.slice(0, 1) ?? [{ name }], {
    ...options,
    named: settings.catalogues,
    load: () => Promise.resolve(imported),
  });
}

interface StoreOptions<S> extends Pick<UpdateOptions, "signal" | "isDryRun" | "ifOlderThan"> {
  /** All catalogues of the configuration, where it names them. */
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
  await using access = await CatalogueAccess.open(world, settings, { config, way: options });
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

/** A store that cannot be read is no reason not to write a new one; that says what became of the old one. */
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
 * A list without clusters is what a wrong tenant and a lost right look like too, and costs the way to every cluster:
 * only a person takes it for true.
 */
function demandClusters(
  { catalogue, ignored, warnings: [first] }: Imported,
  old: Catalogue | undefined,
): void {
  const before = old?.clusters.length ?? 0;
  if (catalogue.clusters.length > 0 || before === 0) return;
  const { name, source } = catalogue;
  const left = ignored.length === 0 ? "" : ` besides ${ignored.length} with kharonIgnore`;
  const why = first === undefined ? "" : `: cluster ${first.cluster} ${first.message}`;
  throw new PosternError(
    "protocol",
    `Cannot take the catalogue "${name}": ${source} gives no clusters${left}, and ${before} are stored${why}`,
    {
      hint:
        "check the tenant in the configuration and who is signed in; where they are all gone: postern update --allow-empty",
    },
  );
}

function movedNotes({ name, source }: Catalogue, old: Catalogue | undefined): string[] {
  if (!old || old.source === source) return [];
  return [`catalogue ${name}: it was of ${old.source} before`];
}

/** A failure that also tells what is still there. */
function failureOf(thrown: unknown, stored: string | undefined): PosternError {
  const error = asPosternError(thrown);
  if (stored === undefined) return error;
  const kept = `the catalogue of ${stored} ago is kept`;
  return error.with({ hint: error.hint === undefined ? kept : `${error.hint}; ${kept}` });
}

/** What is of tomorrow was stored while the clock was wrong, and tells nothing. */
function isYounger(age: number, limit: number): boolean {
  return age > -60_000 && age < limit;
}

function age({ clock }: World, { fetched }: Catalogue): number {
  return clock.date().getTime() - Date.parse(fetched);
}

function ageOf(world: World, catalogue: Catalogue): string {
  return formatAge(age(world, catalogue));
}
