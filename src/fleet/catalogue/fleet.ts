import type { Catalogue, KnownCluster } from "../../clusters/mod.ts";
import type { SignInRules } from "../../kube/mod.ts";
import type { World } from "../../world/mod.ts";
import { chosenOf, type ConfigSource, loadConfig } from "../../plan/mod.ts";

/** The clusters that the user can name. */
export interface Fleet {
  readonly clusters: readonly KnownCluster[];
  readonly catalogues: readonly Catalogue[];
  /** Notes for the user about the source of the clusters. */
  readonly notes: readonly string[];
  /** The sign-in rules of a catalogue's clusters. */
  readonly rulesFor: (catalogue: string) => SignInRules;
}

/** The clusters of the stored catalogues that the configuration uses; makes no network requests. */
export async function readFleet(world: World, source: ConfigSource): Promise<Fleet> {
  const { knownClusters } = await import("../../clusters/mod.ts");
  const { storedCatalogues, usualExec } = await import("../../catalogue/mod.ts");
  const reading = storedCatalogues(world);
  // The user waits for this before each kubectl, so read the disk and the configuration concurrently.
  reading.catch(() => {});
  const { settings } = await loadConfig(world, { ...source, withoutCatalogues: true });
  const { catalogues, notes } = await reading;
  const chosen = chosenOf(catalogues, settings.catalogues);
  const missing = (settings.catalogues ?? []).filter(({ name }) =>
    !chosen.some(({ catalogue }) => catalogue.name === name)
  );
  return {
    clusters: knownClusters(chosen.map(({ catalogue }) => catalogue)),
    catalogues: chosen.map(({ catalogue }) => catalogue),
    notes: [
      ...notes,
      ...missing.map(({ name }) => `catalogue ${name} has not been fetched yet: postern update`),
    ],
    rulesFor: (name) => {
      const { authInfoFact, allowExec = usualExec } = chosen.find(({ catalogue }) => catalogue.name === name)
        ?.settings ?? {};
      return { authInfoFact, allowExec };
    },
  };
}
