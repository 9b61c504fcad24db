import type { CatalogueRoute } from "./catalogue_routes.ts";
import type { Catalogue } from "./cluster.ts";

/** What is different between two times of a catalogue, or of its routes. */
export interface CatalogueChanges {
  readonly clusters: { readonly added: readonly string[]; readonly removed: readonly string[] };
  readonly routes: {
    readonly added: readonly CatalogueRoute[];
    readonly removed: readonly CatalogueRoute[];
    /** The same domain through another jump host. */
    readonly moved: readonly MovedRoute[];
  };
}

/** A route with the jump host that it went through before. */
export interface MovedRoute extends CatalogueRoute {
  readonly was: string;
}

/** One time of a catalogue. */
export interface CatalogueTime {
  readonly clusters: Catalogue["clusters"];
  readonly routes: readonly CatalogueRoute[];
}

/** What is different between a catalogue as it was, where it was, and as it is now. */
export function catalogueChanges(before: CatalogueTime | undefined, after: CatalogueTime): CatalogueChanges {
  const oldClusters = new Set(before?.clusters.map(({ id }) => id));
  const newClusters = new Set(after.clusters.map(({ id }) => id));
  const old = byDomain(before?.routes ?? []);
  const now = byDomain(after.routes);
  const added: CatalogueRoute[] = [];
  const moved: MovedRoute[] = [];
  for (const [key, route] of now) {
    const was = old.get(key);
    if (!was) added.push(route);
    else if (route.kind === "route" && was.jumphost !== route.jumphost) {
      moved.push({ ...route, was: was.jumphost ?? "" });
    }
  }
  return {
    clusters: {
      added: [...newClusters].filter((id) => !oldClusters.has(id)),
      removed: [...oldClusters].filter((id) => !newClusters.has(id)),
    },
    routes: { added, removed: [...old].filter(([key]) => !now.has(key)).map(([, route]) => route), moved },
  };
}

/** Of equal ones the first counts, as for the router. */
function byDomain(routes: readonly CatalogueRoute[]): Map<string, CatalogueRoute> {
  const found = new Map<string, CatalogueRoute>();
  for (const route of routes) {
    const key = `${route.kind} ${route.pattern}`;
    if (!found.has(key)) found.set(key, route);
  }
  return found;
}
