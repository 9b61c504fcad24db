import type { CatalogueRoute } from "./catalogue_routes.ts";
import type { Catalogue } from "../clusters/mod.ts";

/** The differences between two versions of a catalogue, or of its routes. */
export interface CatalogueChanges {
  readonly clusters: { readonly added: readonly string[]; readonly removed: readonly string[] };
  readonly routes: {
    readonly added: readonly CatalogueRoute[];
    readonly removed: readonly CatalogueRoute[];
    /** The same domain through another jump host. */
    readonly moved: readonly MovedRoute[];
  };
}

/** A route, with the jump host that it used before. */
export interface MovedRoute extends CatalogueRoute {
  readonly was: string;
}

/** One version of a catalogue. */
export interface CatalogueTime {
  readonly clusters: Catalogue["clusters"];
  readonly routes: readonly CatalogueRoute[];
}

/** Compares a catalogue with its former version, if there was one. */
export function catalogueChanges(before: CatalogueTime | undefined, after: CatalogueTime): CatalogueChanges {
  const oldClusters = new Set(before?.clusters.map(({ id }) => id));
  const newClusters = new Set(after.clusters.map(({ id }) => id));
  const added: CatalogueRoute[] = [];
  const removed: CatalogueRoute[] = [];
  const moved: MovedRoute[] = [];
  for (const kind of ["exclusion", "route"] as const) {
    const old = byDomain(before?.routes ?? [], kind);
    const now = byDomain(after.routes, kind);
    for (const [pattern, route] of now) {
      const was = old.get(pattern);
      if (!was) added.push(route);
      else if (kind === "route" && was.jumphost !== route.jumphost) {
        moved.push({ ...route, was: was.jumphost ?? "" });
      }
    }
    for (const [pattern, route] of old) if (!now.has(pattern)) removed.push(route);
  }
  return {
    clusters: {
      added: [...newClusters].filter((id) => !oldClusters.has(id)),
      removed: [...oldClusters].filter((id) => !newClusters.has(id)),
    },
    routes: { added, removed, moved },
  };
}

/** Of equal domains the first counts, as in the router. */
function byDomain(
  routes: readonly CatalogueRoute[],
  kind: CatalogueRoute["kind"],
): Map<string, CatalogueRoute> {
  const found = new Map<string, CatalogueRoute>();
  for (const route of routes) {
    if (route.kind === kind && !found.has(route.pattern)) found.set(route.pattern, route);
  }
  return found;
}
