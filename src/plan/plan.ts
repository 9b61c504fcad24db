import { PosternError, type Target } from "../words/mod.ts";
import type { ListenerSettings } from "../listeners/mod.ts";
import { namedPorts, parsePattern, type Route, Router, type Rule, type Tier } from "../routing/mod.ts";
import {
  type BuildDeps,
  buildTransports,
  type BuiltTransport,
  type BuiltTransports,
} from "../transports/mod.ts";
import type { LoadedConfig } from "./config_file.ts";
import { type Limits, limitsOf, listenOf } from "./settings.ts";

/** Everything that determines where connections go. A reload builds a new plan and swaps the two. */
export interface Plan {
  /** Increases with each plan: a new number means that routes may have changed. */
  readonly generation: number;
  readonly config: LoadedConfig;
  readonly router: Router;
  readonly transports: BuiltTransports;
  readonly limits: Limits;
  readonly loadedAt: Date;
}

/** Builds a plan without I/O; reuses unchanged transports of the previous plan. */
export function makePlan(config: LoadedConfig, deps: BuildDeps, previous?: Plan): Plan {
  return {
    generation: (previous?.generation ?? 0) + 1,
    config,
    router: new Router({
      rules: config.rules,
      fallback: config.settings.default,
      rejecting: rejectingOf(config.settings.transports),
    }),
    transports: buildTransports(config.settings.transports, deps, previous?.transports),
    limits: limitsOf(config.settings),
    loadedAt: deps.clock.date(),
  };
}

/** Returns the transports that reject every target. */
function rejectingOf(transports: LoadedConfig["settings"]["transports"]): ReadonlySet<string> {
  const configured = Object.entries(transports).filter(([, { kind }]) => kind === "reject");
  return new Set(["reject", ...configured.map(([name]) => name)]);
}

export function transportOf({ transports }: Plan, { transport }: Pick<Route, "transport">): BuiltTransport {
  const built = transports.byName.get(transport);
  if (built) return built;
  throw new PosternError("internal", `Cannot find the transport "${transport}"`);
}

/**
 * Returns the route of an address from the configuration or a catalogue that postern itself connects to; the
 * guard does not hold it back.
 */
export function configuredRoute({ router }: Plan, target: Target): Route {
  const route = router.route(target);
  return route.held?.otherwise ?? route;
}

/** Returns the transports on the path, starting with the one that reaches the target. */
export function hopsOf({ transports }: Plan, route: Route): BuiltTransport[] {
  const hops: BuiltTransport[] = [];
  let name: string | undefined = route.transport;
  while (name !== undefined) {
    const built: BuiltTransport | undefined = transports.byName.get(name);
    if (!built) break;
    hops.push(built);
    name = built.via;
  }
  return hops;
}

/** Returns the filter of a listener with `only`; undefined without one. */
export function allowedBy({ only }: ListenerSettings): ((target: Target) => boolean) | undefined {
  const router = only && allowing(only);
  return router && ((target) => router.route(target).transport === "yes");
}

/** Returns the filter for lookups: whether the listener allows a host at any port. */
export function allowedHostsBy({ only }: ListenerSettings): ((host: string) => boolean) | undefined {
  const router = only && allowing(only);
  return router &&
    ((host) => [0, ...namedPorts(router)].some((port) => router.route({ host, port }).transport === "yes"));
}

function allowing(only: readonly string[]): Router {
  const rules = only.flatMap((text): Rule[] => {
    const parsed = parsePattern(text);
    // The configuration is checked elsewhere; without this, an unchecked one would silently reject
    // everything.
    if (!("pattern" in parsed)) throw new PosternError("config", `Cannot use "only": ${parsed.problem}`);
    return [{ text, pattern: parsed.pattern, transport: "yes", source: "only", tier: "routes" }];
  });
  return new Router({ rules, fallback: "no" });
}

/** Returns the transports of a plan that the previous one does not have. */
export function addedTransports(before: Plan, after: Plan): BuiltTransport[] {
  const known = new Set(before.transports.byName.values());
  return [...after.transports.byName.values()].filter((built) => !known.has(built));
}

/** Describes the differences between two plans, one line each. */
export function changesBetween(before: Plan, after: Plan): string[] {
  const changes = ruleChanges(before.router.rules, after.router.rules);
  if (before.router.fallback !== after.router.fallback) {
    changes.push(`everything else now goes to ${after.router.fallback} (was ${before.router.fallback})`);
  }
  for (const [name, built] of after.transports.byName) {
    const was = before.transports.byName.get(name);
    if (!was) changes.push(`transport ${name} was added`);
    else if (was !== built) changes.push(`transport ${name} changed`);
  }
  for (const name of before.transports.byName.keys()) {
    if (!after.transports.byName.has(name)) changes.push(`transport ${name} was removed`);
  }
  if (before.config.settings.unknown !== after.config.settings.unknown) {
    changes.push(`unknown is now ${after.config.settings.unknown} (was ${before.config.settings.unknown})`);
  }
  for (const name of limitNames) {
    if (before.limits[name] !== after.limits[name]) {
      changes.push(`the limit ${name} is now ${after.limits[name]} (was ${before.limits[name]})`);
    }
  }
  const [hadUdp, hasUdp] = [before, after].map(({ config: { settings } }) => listenOf(settings).udp === true);
  if (hadUdp !== hasUdp) changes.push(`SOCKS5 clients ${hasUdp ? "can now" : "can no longer"} use UDP`);
  for (const name of ["ssh", "dns", "catalogues", "emergency"] as const) {
    const [was, is] = [before, after].map(({ config }) => JSON.stringify(config.settings[name]));
    if (was !== is) changes.push(`${name} changed`);
  }
  return changes;
}

const limitNames = [
  ...["connections", "associations", "udpIdle"] as const,
  ...["handshake", "dial", "drain", "halfCloseLinger", "head"] as const,
];

/** Describes the differences between rules, one line each; a catalogue has too many to list all. */
function ruleChanges(before: readonly Rule[], after: readonly Rule[]): string[] {
  const changes = [...tierChanges(before, after, "direct"), ...tierChanges(before, after, "routes")];
  const ofCatalogues = [
    ...tierChanges(before, after, "exclusions"),
    ...tierChanges(before, after, "catalogue"),
  ];
  const named = ofCatalogues.length > mostNamed ? ofCatalogues.slice(0, mostNamed) : ofCatalogues;
  const more = ofCatalogues.length - named.length;
  return [...changes, ...named, ...(more > 0 ? [`${more} more rules of catalogues changed`] : [])];
}

function tierChanges(before: readonly Rule[], after: readonly Rule[], tier: Tier): string[] {
  const changes: string[] = [];
  const old = byText(before, tier);
  const now = byText(after, tier);
  for (const [text, { transport }] of now) {
    const was = old.get(text);
    if (!was) changes.push(`${text} now goes to ${transport}`);
    else if (was.transport !== transport) {
      changes.push(`${text} now goes to ${transport} (was ${was.transport})`);
    }
  }
  for (const text of old.keys()) if (!now.has(text)) changes.push(`the rule ${text} was removed`);
  return changes;
}

/**
 * Maps texts to rules. The texts themselves are the keys: adding a prefix would cost more than everything
 * else here.
 */
function byText(rules: readonly Rule[], tier: Tier): Map<string, Rule> {
  const found = new Map<string, Rule>();
  for (const rule of rules) if (rule.tier === tier) found.set(rule.text, rule);
  return found;
}

/** How many changed rules of catalogues to list. */
const mostNamed = 20;
