import type { SshSurvey } from "../ssh/mod.ts";
import { type Existing, type Proposal, ruleFor, rulesOf, scalar, TransportNames } from "./proposal.ts";
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
  const decided = [...existing.rules, ...rulesOf(hosts.routes)];
  const pathsTo = (host: string) => {
    const routed = ruleFor(host.includes(":") ? host : `=${host}`, decided)?.transport;
    const proxied = proxy.applies?.isExcepted(host) === false ? proxy.applies.name : undefined;
    return [...new Set([routed, proxied])].flatMap((name) =>
      name === undefined || name === "direct" ? [] : [name]
    );
  };
  const catalogues = proposedCatalogues(found.catalogues, existing);
  const dropped = existing.unnamed.filter((one) => catalogues.every(({ name }) => name !== one));
  const routed = [...hosts.routes, ...clusters.routes].flatMap(({ to }) => to);
  return {
    ...(found.listen && !existing.hasListen && { listen: found.listen }),
    transports: [
      ...hosts.transports,
      ...clusters.transports.map((one) =>
        one.server ? { ...one, candidates: pathsTo(one.server.host) } : one
      ),
      ...proxy.transports,
    ],
    routes: [
      ...hosts.routes,
      ...clusters.routes,
      // Equal patterns with two transports are a mistake in a configuration.
      ...proxy.routes.flatMap((route) => {
        const to = route.to.filter((text) => !routed.includes(text));
        return to.length === 0 ? [] : [{ ...route, to }];
      }),
    ],
    ...(proxy.fallback && { fallback: proxy.fallback }),
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
      ...(catalogues.length > 0 && dropped.length > 0
        ? [
          `from then on, postern uses the catalogue ${catalogues[0]?.name} instead of ${
            dropped.join(", ")
          }: run postern update`,
        ]
        : []),
    ],
  };
}

function proposedCatalogues(found: readonly FoundCatalogue[], existing: Existing): Proposal["catalogues"] {
  const known = new Set(existing.catalogues.map(plainUrl));
  const proposed: Proposal["catalogues"][number][] = [];
  for (const { url, place, oidc } of found) {
    const key = plainUrl(url.href);
    if (known.has(key)) continue;
    known.add(key);
    const { clientId, discoveryUrl } = oidc;
    const settings = [
      ...clientId ? [`clientId: ${scalar(clientId)}`] : [],
      ...discoveryUrl ? [`discoveryUrl: ${scalar(discoveryUrl)}`] : [],
    ];
    const taken = existing.catalogues.length + proposed.length;
    proposed.push({
      url,
      name: taken === 0 ? "main" : url.hostname.replace(/[^A-Za-z0-9.-]/g, "-").slice(0, 63),
      more: settings.length > 0 ? `, oidc: { ${settings.join(", ")} }` : "",
      reason: `The clusters of ${url.host}, from ${place}`,
    });
  }
  return proposed;
}

/** The identity of a URL: without its final slash. */
export function plainUrl(href: string): string {
  return href.replace(/\/+$/, "");
}

/** Whether a proposal adds nothing. */
export function isEmpty({ listen, transports, routes, fallback, catalogues }: Proposal): boolean {
  return !listen && !fallback && transports.length + routes.length + catalogues.length === 0;
}
