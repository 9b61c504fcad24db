import { formatPattern, type NamePattern, type NetworkPattern } from "./pattern.ts";
import { isInside } from "./network_tree.ts";
import type { Rule } from "./rule.ts";

/** Two equal rules with different transports: only the first one applies. */
export interface Conflict {
  readonly kept: Rule;
  readonly ignored: Rule;
}

/** An exclusion that overrides a route of another cluster. */
export interface Shadow {
  readonly exclusion: Rule;
  readonly route: Rule;
}

/**
 * Returns every rule that another one with the same pattern and tier overrides with a different transport.
 */
export function conflicts(rules: readonly Rule[]): Conflict[] {
  const first = new Map<string, Rule>();
  const found: Conflict[] = [];
  for (const rule of rules) {
    const { kind } = rule.pattern;
    // The tables of two clusters can both apply, and confined exclusions of different clusters never
    // conflict.
    if (kind === "services" || kind === "clusterips") continue;
    const owner = rule.confined ? rule.owner ?? "" : "";
    const key = `${rule.tier} ${owner} ${formatPattern(rule.pattern)}`;
    const kept = first.get(key);
    if (kept === undefined) first.set(key, rule);
    else if (kept.transport !== rule.transport) found.push({ kept, ignored: rule });
  }
  return found;
}

/**
 * Returns every catalogue exclusion (`exclusions: global`) with each route of another cluster that it
 * overrides.
 */
export function shadows(rules: readonly Rule[]): Shadow[] {
  const names = new Map<string, Rule[]>();
  const networks: Rule[] = [];
  for (const rule of rules) {
    if (rule.tier !== "exclusions" || rule.confined) continue;
    if (rule.pattern.kind === "network") networks.push(rule);
    if (rule.pattern.kind !== "name") continue;
    const list = names.get(rule.pattern.name);
    if (list) list.push(rule);
    else names.set(rule.pattern.name, [rule]);
  }
  const found: Shadow[] = [];
  for (const route of rules) {
    if (route.tier !== "catalogue") continue;
    const { pattern } = route;
    const above = pattern.kind === "name"
      ? exclusionsAbove(pattern, names)
      : pattern.kind === "network"
      ? networks.filter((rule) => rule.pattern.kind === "network" && containsNetwork(rule.pattern, pattern))
      : [];
    for (const exclusion of above) {
      const meets = exclusion.pattern.port === undefined || pattern.port === undefined ||
        exclusion.pattern.port === pattern.port;
      if (meets && exclusion.owner !== route.owner) found.push({ exclusion, route });
    }
  }
  return found;
}

function exclusionsAbove({ name, scope }: NamePattern, exclusions: ReadonlyMap<string, Rule[]>): Rule[] {
  const found: Rule[] = [];
  for (let start = 0; start >= 0;) {
    for (const rule of exclusions.get(name.slice(start)) ?? []) {
      if (rule.pattern.kind !== "name") continue;
      const other = rule.pattern.scope;
      // At the same name, the two conflict unless one is only the name and the other only names below it.
      const meets = start > 0 ? other !== "exact" : other === "tree" || scope === "tree" || other === scope;
      if (meets) found.push(rule);
    }
    const dot = name.indexOf(".", start);
    start = dot < 0 ? -1 : dot + 1;
  }
  return found;
}

function containsNetwork(outer: NetworkPattern, inner: NetworkPattern): boolean {
  return outer.bytes.length === inner.bytes.length && outer.bits <= inner.bits &&
    isInside(inner.bytes, outer);
}
