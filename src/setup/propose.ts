import { cataloguesSchema } from "../catalogue/mod.ts";
import { formatPath, isError, rootContext, type Schema } from "../config/mod.ts";
import { parsePattern, routedInside, Router } from "../routing/mod.ts";
import type { SshSurvey } from "../ssh/mod.ts";
import { transportsSchema } from "../transports/mod.ts";
import { type Target, targetOf } from "../words/mod.ts";
import {
  addThoseBehind,
  type Existing,
  existingPath,
  isDecided,
  type Proposal,
  type ProposedRoute,
  ruleForTarget,
  rulesOf,
  TransportNames,
} from "./proposal.ts";
import { type FoundContext, proposeClusters } from "./propose_clusters.ts";
import { proposeHosts } from "./propose_hosts.ts";
import { proposeProxy, type ProxyVariables } from "./propose_proxy.ts";

/** A catalogue that another program uses. */
export interface FoundCatalogue {
  readonly url: URL;
  /** The variable or file that names it. */
  readonly place: string;
  /** The settings of its sign-in. */
  readonly oidc: { readonly clientId?: string | undefined; readonly discoveryUrl?: string | undefined };
}

/** What postern found on this machine. */
export interface Found {
  readonly contexts: readonly FoundContext[];
  readonly ssh: SshSurvey;
  readonly proxies: ProxyVariables;
  readonly catalogues: readonly FoundCatalogue[];
  /** Another address for the listener, if another program uses the usual one. */
  readonly listen?: Proposal["listen"];
  /** What postern could not use, for the user. */
  readonly notes: readonly string[];
}

export interface ProposeOptions {
  readonly existing: Existing;
  readonly isOwn: (url: URL) => boolean;
  /** The directory of the configuration. */
  readonly directory: string;
  /** Shortens a path for people. */
  readonly shown: (text: string) => string;
}

/** Proposes what is missing from a configuration. Pure: connects to nothing. */
export function propose(found: Found, { existing, isOwn, directory, shown }: ProposeOptions): Proposal {
  const names = new TransportNames(Object.keys(existing.transports));
  const hosts = proposeHosts(found.ssh, existing, names, shown);
  const clusters = proposeClusters(found.contexts, existing, names);
  const proxy = proposeProxy(found.proxies, { existing, names, isOwn, directory });
  const pathsTo = (target: Target) => {
    const routed = ruleForTarget(target, rulesOf(hosts.routes))?.transport;
    const proxied = proxy.applies?.isExcepted(target) === false ? proxy.applies.name : undefined;
    return [...new Set([routed, proxied])].flatMap((name) => name ?? []);
  };
  const notes: string[] = [];
  const catalogues = proposedCatalogues(found.catalogues, existing, notes).map((one) =>
    one.via === undefined ? { candidates: pathsTo(targetOf(one.url)), ...one } : one
  );
  const dropped = existing.unnamed.filter((one) => catalogues.every(({ name }) => name !== one));
  const isOwned = ownedBy(
    new Router({ rules: existing.rules.filter(({ tier }) => tier === "catalogue") }),
    notes,
  );
  const kept = withTargets([...hosts.routes, ...clusters.routes], (text, via) => !isOwned(text, via));
  const routed = rulesOf(kept);
  // An exception of the proxy says nothing about jump hosts and clusters.
  const exceptions = withTargets(proxy.routes, (text) => !isDecided(text, routed));
  // Without one of its exceptions, the proxy would get targets that it must not get.
  const isSafe = !exceptions.some(({ to, via }) => to.filter((text) => isOwned(text, via)).length > 0);
  return withoutInvalid({
    ...(found.listen && !existing.hasListen && { listen: found.listen }),
    transports: [
      ...hosts.transports,
      ...clusters.transports.map((one) =>
        one.server && one.via === undefined ? { candidates: pathsTo(one.server), ...one } : one
      ),
      ...proxy.transports,
    ],
    routes: [...kept, ...isSafe ? exceptions : []],
    ...(isSafe && proxy.fallback && { fallback: proxy.fallback }),
    catalogues,
    secrets: proxy.secrets,
    notes: [
      ...found.notes,
      ...(found.listen && existing.hasListen
        ? [`${found.listen.reason}: change listen in the configuration`]
        : []),
      ...hosts.notes,
      ...clusters.notes,
      ...proxy.notes,
      ...notes,
      ...(catalogues.length > 0 && dropped.length > 0
        ? [
          `from then on, postern uses the catalogue ${catalogues[0]?.name} instead of ${
            dropped.join(", ")
          }: run postern update`,
        ]
        : []),
    ],
  });
}

/** Whether a route for a pattern would replace a rule of a catalogue for a part of its targets. */
function ownedBy(catalogues: Router, notes: string[]): (text: string, via: string) => boolean {
  return (text, via) => {
    const parsed = parsePattern(text);
    if ("problem" in parsed) return false;
    const { pattern } = parsed;
    if (pattern.kind !== "name" && pattern.kind !== "network") return false;
    const route = routedInside(pattern, catalogues);
    if (route) notes.push(`${text}: not proposed for ${via}, because ${route.because} routes targets in it`);
    return route !== undefined;
  };
}

function withTargets(
  routes: readonly ProposedRoute[],
  isKept: (text: string, via: string) => boolean,
): readonly ProposedRoute[] {
  return routes.flatMap((route) => {
    const to = route.to.filter((text) => isKept(text, route.via));
    return to.length === 0 ? [] : [{ ...route, to }];
  });
}

function proposedCatalogues(
  found: readonly FoundCatalogue[],
  existing: Existing,
  notes: string[],
): Proposal["catalogues"] {
  const known = new Set(existing.catalogues.map(({ url }) => plainUrl(url)));
  const names = new TransportNames(existing.catalogues.map(({ name }) => name));
  const proposed: Proposal["catalogues"][number][] = [];
  for (const { url, place, oidc } of found) {
    const key = plainUrl(url.href);
    if (known.has(key)) continue;
    known.add(key);
    const { clientId, discoveryUrl } = oidc;
    const hasSignIn = clientId !== undefined || discoveryUrl !== undefined;
    const settings = { lieutenant: url.href, ...(hasSignIn && { oidc: { clientId, discoveryUrl } }) };
    const problem = problemWith(cataloguesSchema(), [settings]);
    if (problem !== undefined) {
      notes.push(`${place}: ${problem}`);
      continue;
    }
    const path = existingPath(targetOf(url), existing);
    if ("owner" in path) {
      notes.push(`${place}: ${path.owner} routes ${url.host}, so postern does not add the catalogue`);
      continue;
    }
    const isFirst = existing.catalogues.length + proposed.length === 0;
    proposed.push({
      url,
      name: names.free(isFirst ? "main" : url.hostname),
      ...(settings.oidc && { oidc: settings.oidc }),
      ...path,
      reason: `The clusters of ${url.host}, from ${place}`,
    });
  }
  return proposed;
}

/** The first problem of settings with their schema; undefined for valid ones. */
function problemWith(schema: Schema<unknown>, settings: unknown): string | undefined {
  const context = rootContext({ base: "/", home: "/" });
  schema.parse(settings, context);
  const problem = context.problems.find(isError);
  return problem && `${formatPath(problem.path)} ${problem.message}`;
}

/** Drops transports that no configuration can have, such as those with unusual names, and their routes. */
function withoutInvalid(proposal: Proposal): Proposal {
  const notes = [...proposal.notes];
  const invalid = new Set<string>();
  const schema = transportsSchema();
  for (const { name, kind, settings, reason } of proposal.transports) {
    const problem = problemWith(schema, { [name]: { [kind]: settings } });
    if (problem === undefined) continue;
    invalid.add(name);
    notes.push(`${reason}: ${problem}`);
  }
  addThoseBehind(invalid, proposal.transports);
  const routes = withTargets(
    proposal.routes,
    (text, via) => !invalid.has(via) && "pattern" in parsePattern(text),
  );
  const { fallback, ...rest } = proposal;
  return {
    ...rest,
    transports: proposal.transports.filter(({ name }) => !invalid.has(name)),
    routes,
    ...(fallback && !invalid.has(fallback.name) && { fallback }),
    secrets: proposal.secrets.filter(({ transport }) => !invalid.has(transport)),
    notes,
  };
}

/** The identity of a URL: without its final slash. */
function plainUrl(href: string): string {
  return href.replace(/\/+$/, "");
}

/** Whether a proposal adds nothing. */
export function isEmpty({ listen, transports, routes, fallback, catalogues }: Proposal): boolean {
  return !listen && !fallback && transports.length + routes.length + catalogues.length === 0;
}
