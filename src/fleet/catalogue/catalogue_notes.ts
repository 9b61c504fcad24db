import type { Catalogue } from "../../clusters/mod.ts";
import type { CatalogueRoute, CatalogueSettings } from "../../catalogue/mod.ts";
import { catalogueNotes, catalogueRules } from "../../routing/mod.ts";

/** A catalogue's name, with its settings if the configuration contains it. */
export type NamedCatalogue = Pick<CatalogueSettings, "name"> & Partial<CatalogueSettings>;

export interface RoutedCatalogue {
  readonly routes: readonly CatalogueRoute[];
  readonly settings: NamedCatalogue;
}

/** Notes about conflicts between the catalogues that an instance would use, in its order. */
export async function notesAcross(
  updated: readonly RoutedCatalogue[],
  { stored, named }: {
    readonly stored: readonly Catalogue[];
    readonly named: readonly CatalogueSettings[] | undefined;
  },
): Promise<string[]> {
  if (updated.length === 0) return [];
  const { routesOf } = await import("../../catalogue/mod.ts");
  const names = new Set([...stored.map(({ name }) => name), ...updated.map(({ settings }) => settings.name)]);
  const ordered: readonly NamedCatalogue[] = named ?? [...names].sort().map((name) => ({ name }));
  const all = ordered.flatMap((settings): RoutedCatalogue[] => {
    const fresh = updated.find((one) => one.settings.name === settings.name);
    const old = stored.find(({ name }) => name === settings.name);
    if (fresh || !old) return fresh ? [fresh] : [];
    const { domainFacts } = settings;
    return [{ settings, routes: routesOf(old, domainFacts ? { domainFacts } : {}).routes }];
  });
  return catalogueNotes(
    all.flatMap(({ routes, settings: { exclusions = "global" } }) =>
      catalogueRules(routes, { exclusions, transportOf: ({ jumphost }) => jumphost })
    ),
  );
}
