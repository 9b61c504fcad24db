import type { Catalogue } from "../clusters/mod.ts";
import type { CatalogueSettings, CatalogueStore } from "../catalogue/mod.ts";
import { describe } from "../words/mod.ts";
import { directoryOf as parentOf, type World } from "../world/mod.ts";
import type { CatalogueState } from "../control/mod.ts";
import { catalogueRules, type Rule } from "../routing/mod.ts";
import { implicitNames, type TransportsSettings } from "../transports/mod.ts";
import type { Settings } from "./settings.ts";

/** What the stored catalogues add to a configuration. */
export interface StoredFleet {
  readonly rules: readonly Rule[];
  /** The jump hosts by name, except names that the configuration defines. */
  readonly transports: TransportsSettings;
  readonly states: readonly CatalogueState[];
  readonly warnings: readonly string[];
}

/** A catalogue with its settings, if the configuration has any. */
export interface ChosenCatalogue {
  readonly catalogue: Catalogue;
  readonly settings?: CatalogueSettings;
}

/** How many invalid facts of a catalogue to list; `postern update` lists more. */
const mostNamed = 3;

export async function catalogueStore({ clock, files, stores, places }: World): Promise<CatalogueStore> {
  const { CatalogueStore } = await import("../catalogue/mod.ts");
  return new CatalogueStore({ clock, files, stores, directory: directoryOf(places) });
}

/**
 * Returns the stored catalogues that the configuration names, or all of them if it lacks the section. Makes
 * no network request, and loads no code without stored catalogues.
 */
export async function storedFleet(
  world: World,
  { catalogues: named, transports }: Settings,
): Promise<StoredFleet> {
  if (named?.length === 0) return emptyFleet;
  const stored = await isStored(world);
  if (!stored && named) return missingFleet(named);
  const read = stored ? await (await catalogueStore(world)).read() : { catalogues: [], notes: [] };
  // A store may be empty when the first update was killed.
  const { catalogues, notes } = named || read.catalogues.length > 0 ? read : await leftByKharon(world);
  const chosen = chosenOf(catalogues, named);
  const missing = missingFleet(
    (named ?? []).filter(({ name }) => !catalogues.some((one) => one.name === name)),
  );
  const fleet = await fleetOf(chosen, transports);
  return {
    ...fleet,
    states: [...fleet.states, ...missing.states],
    warnings: [...notes, ...missing.warnings, ...fleet.warnings],
  };
}

/** Reads the kharon mapping that the user has named. */
export async function fleetOfMapping(
  text: string,
  { path, transports }: { readonly path: string; readonly transports: TransportsSettings },
): Promise<StoredFleet> {
  const { readKharonMapping } = await import("../catalogue/mod.ts");
  const mapping = readKharonMapping(text, path);
  const catalogue = { name: "mapping", source: path, fetched: "", clusters: [], mapping };
  // A mapping has no source to fetch again.
  return { ...await fleetOf([{ catalogue }], transports), states: [] };
}

async function fleetOf(
  chosen: readonly ChosenCatalogue[],
  transports: TransportsSettings,
): Promise<StoredFleet> {
  const jumphosts = new JumpHosts(transports);
  const warnings: string[] = [];
  const rules: Rule[] = [];
  for (const one of chosen) {
    const read = await rulesOf(one, jumphosts);
    for (const rule of read.rules) rules.push(rule);
    warnings.push(...read.warnings);
  }
  const states = chosen.map(({ catalogue: { name, fetched, clusters } }) => ({
    name,
    fetchedAt: fetched,
    clusters: clusters.length,
  }));
  return { rules, transports: jumphosts.made, states, warnings };
}

/** Returns the catalogues that apply, in the configuration's order. */
export function chosenOf(
  catalogues: readonly Catalogue[],
  named: readonly CatalogueSettings[] | undefined,
): ChosenCatalogue[] {
  if (!named) return catalogues.map((catalogue) => ({ catalogue }));
  return named.flatMap((settings) => {
    const catalogue = catalogues.find(({ name }) => name === settings.name);
    return catalogue ? [{ catalogue, settings }] : [];
  });
}

async function isStored({ files, places }: World): Promise<boolean> {
  const directory = directoryOf(places);
  for (const name of ["catalogue.kv", "snapshot.json"]) {
    if (await files.info(`${directory}/${name}`)) return true;
  }
  return false;
}

/**
 * Until the first update, a former user of kharon keeps kharon's catalogue. Its errors never stop an
 * instance.
 */
async function leftByKharon(
  { files, places }: World,
): Promise<{ readonly catalogues: readonly Catalogue[]; readonly notes: readonly string[] }> {
  const directory = `${parentOf(places.cache)}/io.vshn.kharon`;
  if (!await files.info(directory)) return { catalogues: [], notes: [] };
  try {
    const { readKharonCache } = await import("../catalogue/mod.ts");
    const imported = await readKharonCache({ files, directory, name: "kharon" });
    if (!imported) return { catalogues: [], notes: [] };
    const { catalogue } = imported;
    return {
      catalogues: [catalogue],
      notes: [
        `no catalogue is stored, so postern uses "${catalogue.source}"; run postern update to fetch one`,
      ],
    };
  } catch (error) {
    return { catalogues: [], notes: [describe(error)] };
  }
}

const emptyFleet: StoredFleet = { rules: [], transports: {}, states: [], warnings: [] };

function missingFleet(named: readonly CatalogueSettings[]): StoredFleet {
  return {
    ...emptyFleet,
    states: named.map(({ name }) => ({ name, clusters: 0, problem: "not fetched yet; run postern update" })),
    warnings: named.map(({ name }) => `catalogue ${name}: not fetched yet; run postern update`),
  };
}

async function rulesOf(
  { catalogue, settings }: ChosenCatalogue,
  jumphosts: JumpHosts,
): Promise<{ readonly rules: readonly Rule[]; readonly warnings: readonly string[] }> {
  const { describeWarning } = await import("../clusters/mod.ts");
  const { placeOf } = await import("../http/mod.ts");
  const { routesOf } = await import("../catalogue/mod.ts");
  const { name, source } = catalogue;
  const { domainFacts, exclusions = "global", lieutenant } = settings ?? {};
  const { routes, warnings } = routesOf(catalogue, domainFacts ? { domainFacts } : {});
  const told = warnings.slice(0, mostNamed).map((warning) =>
    `catalogue ${name}: ${describeWarning(warning)}`
  );
  const more = warnings.length - told.length;
  if (more > 0) told.push(`catalogue ${name}: ${more} more facts are invalid; postern update lists them`);
  // A catalogue that was imported from a file has no URL to compare.
  if (lieutenant && /^https?:/.test(source) && placeOf(lieutenant) !== source) {
    told.push(
      `catalogue ${name}: fetched from ${source}, not from ${placeOf(lieutenant)}; run postern update`,
    );
  }
  const transportOf = ({ jumphost }: { readonly jumphost?: string }) =>
    jumphost === undefined ? undefined : jumphosts.transportOf(jumphost);
  return { rules: catalogueRules(routes, { exclusions, transportOf }), warnings: told };
}

/** Creates ssh transports for jump hosts, except for names that the configuration defines. */
class JumpHosts {
  readonly made: Record<string, { readonly kind: string; readonly settings: string }> = {};
  readonly #taken: TransportsSettings;

  constructor(taken: TransportsSettings) {
    this.#taken = taken;
  }

  transportOf(jumphost: string): string {
    // A fact must not route anything to "direct". The configuration's names contain no colon, so they cannot
    // clash.
    const name = implicitNames.includes(jumphost) ? `ssh:${jumphost}` : jumphost;
    // Ignore properties that every object inherits.
    if (!Object.hasOwn(this.#taken, name) && !Object.hasOwn(this.made, name)) {
      this.made[name] = { kind: "ssh", settings: jumphost };
    }
    return name;
  }
}

function directoryOf({ cache }: World["places"]): string {
  return `${cache}/catalogue`;
}
