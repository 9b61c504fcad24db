import { formatIp, isUnspecified, type Target } from "../words/mod.ts";
import { addressOf, comparableHost, loopbackOf } from "./host.ts";
import { isInside } from "./network_tree.ts";
import type { Route, Router } from "./router.ts";
import { type Rule, ruleRank, type Tables } from "./rule.ts";
import { hasAddress, hasService } from "./rule_index.ts";

/** A route with the rules that match the same host but lost, strongest first. */
export interface Explanation extends Route {
  readonly losers: readonly Loser[];
}

/** A rule that lost, and why: `shorter suffix`, `another port`. */
export interface Loser {
  readonly rule: Rule;
  readonly why: string;
}

/** Whether a rule's pattern matches, matches except for its port, or does not match. */
function matchRule(
  { pattern, transport }: Rule,
  { host, port }: Target,
  tables: Tables,
): "yes" | "another port" | "no" {
  const name = comparableHost(host);
  const address = addressOf(name);
  // A connection to an unspecified address reaches loopback.
  const addresses = !address ? [] : isUnspecified(address) ? [address, loopbackOf(address)] : [address];
  const matches = (() => {
    switch (pattern.kind) {
      case "any":
        return true;
      case "local":
        return !address && !name.includes(".");
      case "services":
        return !address && name.split(".").length <= 2 && hasService(tables, transport, name);
      case "clusterips":
        return address !== undefined && hasAddress(tables, transport, formatIp(address));
      case "network":
        return addresses.some((one) => one.length === pattern.bytes.length && isInside(one, pattern));
      case "name":
        if (address) return false;
        if (name === pattern.name) return pattern.scope !== "below";
        return pattern.scope !== "exact" && name.endsWith(`.${pattern.name}`);
    }
  })();
  if (!matches) return "no";
  return pattern.port === undefined || pattern.port === port ? "yes" : "another port";
}

/** Explains the route of a target, for `Router.explain`; `route` overrides the router's own decision. */
export function explain(target: Target, router: Router, route = router.route(target)): Explanation {
  const losers: (Loser & { readonly rank: number })[] = [];
  for (const rule of router.rules) {
    if (rule === route.rule) continue;
    const match = matchRule(rule, target, router.tables);
    if (match === "no") continue;
    const why = match === "another port" ? `another port: ${rule.pattern.port}` : whyLost(rule, route);
    losers.push({ rule, why, rank: ruleRank(rule) });
  }
  losers.sort((a, b) => b.rank - a.rank);
  return { ...route, losers: losers.map(({ rule, why }) => ({ rule, why })) };
}

function whyLost(loser: Rule, { rule: winner, held }: Route): string {
  if (held) {
    return loser.pattern.kind === "network" ? "contains a cluster's network" : "a cluster may own the target";
  }
  if (!winner) return "the exclusion affects only routes of the same cluster";
  if (loser.tier !== winner.tier) {
    if (winner.tier === "direct") return "an exclusion of the file wins";
    if (winner.tier === "routes") return "a route of the file wins";
  }
  if (loser.confined && loser.owner !== winner.owner) return "an exclusion of another cluster";
  if (loser.tier !== winner.tier) return "an exclusion of the catalogue wins";
  const [a, b] = [loser.pattern, winner.pattern];
  if (ruleRank(loser) === ruleRank(winner)) return "an earlier rule has the same pattern";
  if (a.kind === "any" && b.kind !== "any") return "matches anything";
  if (a.kind === "local" && b.kind !== "local") return "matches any name of one label";
  if (b.kind === "services" || b.kind === "clusterips") return "the cluster's table has the exact name";
  if (a.kind === "services" || a.kind === "clusterips") return "an exact rule wins over the cluster's table";
  if (a.kind === "name" && b.kind === "name") {
    if (b.scope === "exact" && a.scope !== "exact") return "an exact name wins";
    if (a.name.length < b.name.length) return "shorter suffix";
    if (a.port === undefined && b.port !== undefined) return "the winner names the port";
    return "also matches the name itself";
  }
  if (a.kind === "network" && b.kind === "network") {
    if (a.bits < b.bits) return "shorter prefix";
    if (ruleRank(loser) > ruleRank(winner)) return "loopback of the other family is rejected";
  }
  return "the winner names the port";
}
