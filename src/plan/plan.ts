import { PosternError, type Target } from "../words/mod.ts";
import type { ListenerSettings } from "../listeners/mod.ts";
import { parsePattern, type Route, Router, type Rule, type Tier } from "../routing/mod.ts";
import {
  type BuildDeps,
  buildTransports,
  type BuiltTransport,
  type BuiltTransports,
} from "../transports/mod.ts";
import type { LoadedConfig } from "./config_file.ts";
import { type Limits, limitsOf } from "./settings.ts";

/** Everything that decides where a connection goes. A reload makes a new one beside it and swaps. */
export interface Plan {
  /** Counts the plans: another number says that targets may go elsewhere now. */
  readonly generation: number;
  readonly config: LoadedConfig;
  readonly router: Router;
  readonly transports: BuiltTransports;
  readonly limits: Limits;
  readonly loadedAt: Date;
}

/** Builds a plan without any I/O; transports that did not change come along from the previous one. */
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

/** The transports that refuse every target. */
function rejectingOf(transports: LoadedConfig["settings"]["transports"]): ReadonlySet<string> {
  const configured = Object.entries(transports).filter(([, { kind }]) => kind === "reject");
  return new Set(["reject", ...configured.map(([name]) => name)]);
}

/** The transport of a route. */
export function transportOf({ transports }: Plan, { transport }: Pick<Route, "transport">): BuiltTransport {
  const built = transports.byName.get(transport);
  if (built) return built;
  throw new PosternError("internal", `Cannot find the transport "${transport}"`);
}

/** The route of an address that postern itself has to reach, because the configuration or a catalogue names it: no cluster holds it. */
export function configuredRoute({ router }: Plan, target: Target): Route {
  const route = router.route(target);
  return route.held?.otherwise ?? route;
}

/** The transport and those it goes through, the one that reaches the target first. */
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

/** What a listener with `only` lets through; undefined for one that lets everything through. */
export function allowedBy({ only }: ListenerSettings): ((target: Target) => boolean) | undefined {
  if (!only) return undefined;
  const rules = only.flatMap((text): Rule[] => {
    const parsed = parsePattern(text);
    // The configuration was checked; this keeps a caller who did not from letting nothing through without a word.
    if (!("pattern" in parsed)) throw new PosternError("config", `Cannot use "only": ${parsed.problem}`);
    return [{ text, pattern: parsed.pattern, transport: "yes", source: "only", tier: "routes" }];
  });
  const router = new Router({ rules, fallback: "no" });
  return (target) => router.route(target).transport === "yes";
}

/** The transports of a plan that the one before does not have. */
export function addedTransports(before: Plan, after: Plan): BuiltTransport[] {
  const known = new Set(before.transports.byName.values());
  return [...after.transports.byName.values()].filter((built) => !known.has(built));
}

/** What is different between two plans, a line each. */
export function changesBetween(before: Plan, after: Plan): string[] {
  const changes = ruleChanges(before.router.rules, after.router.rules);
  if (before.router.fallback !== after.router.fallback) {
    changes.push(`everything else now goes to ${after.router.fallback} (was ${before.router.fallback})`);
  }
  for (const [name, built] of after.transports.byName) {
    const was = before.transports.byName.get(name);
    if (!was) changes.push(`transport ${name} is new`);
    else if (was !== built) changes.push(`transport ${name} has changed`);
  }
  for (const name of before.transports.byName.keys()) {
    if (!after.transports.byName.has(name)) changes.push(`transport ${name} is gone`);
  }
  if (before.config.settings.unknown !== after.config.settings.unknown) {
    changes.push(`unknown is ${after.config.settings.unknown} now (was ${before.config.settings.unknown})`);
  }
  for (const name of ["connections", "handshake", "dial", "drain", "halfCloseLinger"] as const) {
    if (before.limits[name] !== after.limits[name]) {
      changes.push(`the limit ${name} is ${after.limits[name]} now (was ${before.limits[name]})`);
    }
  }
  for (const name of ["ssh", "dns", "catalogues", "emergency"] as const) {
    const [was, is] = [before, after].map(({ config }) => JSON.stringify(config.settings[name]));
    if (was !== is) changes.push(`${name} has changed`);
  }
  return changes;
}

/** What is different between rules, a line each; a catalogue has too many of them to name all. */
function ruleChanges(before: readonly Rule[], after: readonly Rule[]): string[] {
  const changes = [...tierChanges(before, after, "direct"), ...tierChanges(before, after, "routes")];
  const ofCatalogues = [
    ...tierChanges(before, after, "exclusions"),
    ...tierChanges(before, after, "catalogue"),
  ];
  const named = ofCatalogues.length > mostNamed ? ofCatalogues.slice(0, mostNamed) : ofCatalogues;
  const more = ofCatalogues.length - named.length;
  return [...changes, ...named, ...(more > 0 ? [`${more} more rules of catalogues are others now`] : [])];
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
  for (const text of old.keys()) if (!now.has(text)) changes.push(`${text} is no rule any more`);
  return changes;
}

/** The texts themselves are the keys: to put anything before them would cost more than all the rest. */
function byText(rules: readonly Rule[], tier: Tier): Map<string, Rule> {
  const found = new Map<string, Rule>();
  for (const rule of rules) if (rule.tier === tier) found.set(rule.text, rule);
  return found;
}

/** How many changed rules of catalogues are named. */
const mostNamed = 20;
