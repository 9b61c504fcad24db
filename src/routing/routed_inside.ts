import { formatIp, type IpBytes, parseIp, unmapped } from "../words/mod.ts";
import { clusterNetworks, type IpNetwork } from "./first_contact.ts";
import { isInside } from "./network_tree.ts";
import type { NamePattern, NetworkPattern } from "./pattern.ts";
import type { Route, Router } from "./router.ts";
import type { Rule } from "./rule.ts";

/** Represents any name below another. */
const someLabel = "postern-probe";

/**
 * Returns a route to a transport for some target inside a pattern, if there is one. Queries the router at the
 * points where its decision can change: the ends of the pattern, and the ends of the rules around and inside it.
 */
export function routedInside(pattern: NamePattern | NetworkPattern, router: Router): Route | undefined {
  const probe = (host: string, port = 0): Route | undefined => {
    const route = router.route({ host, port });
    return route.transport === "direct" ? undefined : route;
  };
  const own = pattern.kind === "name" ? [pattern.name, `${someLabel}.${pattern.name}`] : ends(pattern);
  for (const host of own) {
    const route = probe(host, pattern.port);
    if (route) return route;
  }
  if (pattern.kind === "network") {
    const held = heldInside(pattern, router);
    if (held) return held;
  }
  for (const rule of router.rules) {
    if (rule.transport === "direct" || !portsMeet(rule, pattern)) continue;
    const hosts = pattern.kind === "name"
      ? namesInside(rule, pattern.name, router)
      : addressesInside(rule, pattern, router);
    for (const host of hosts ?? own) {
      const route = probe(host, rule.pattern.port ?? pattern.port);
      if (route) return route;
    }
  }
  return undefined;
}

/**
 * Returns a route for a network inside the pattern that a cluster owns, or may own. It does not rely on
 * learned facts only, because programs keep their environment while clusters are learned.
 */
function heldInside(pattern: NetworkPattern, { rules, domains }: Router): Route | undefined {
  const guard = rules.find((rule) =>
    rule.pattern.kind === "clusterips" && domains.has(rule.transport) && portsMeet(rule, pattern)
  );
  if (!guard) return undefined;
  const learned = [...domains.values()].flatMap((domain) => domain?.networks ?? []);
  const isLarge = pattern.bits < (pattern.bytes.length === 4 ? 20 : 112);
  const isOfFamily = ({ bytes }: IpNetwork): boolean => bytes.length === pattern.bytes.length;
  const holds = (one: IpNetwork): boolean => one.bits > pattern.bits && isInside(one.bytes, pattern);
  const meets = (one: IpNetwork): boolean => holds(one) || isInside(pattern.bytes, one);
  const owns = learned.filter(isOfFamily).some(holds);
  if (!owns && !(isLarge && clusterNetworks.filter(isOfFamily).some(meets))) return undefined;
  return { transport: guard.transport, because: `${guard.text} may own a network in it` };
}

function portsMeet({ pattern: { port } }: Rule, other: { readonly port?: number }): boolean {
  return port === undefined || other.port === undefined || port === other.port;
}

function isWithin(name: string, parent: string): boolean {
  return name === parent || name.endsWith(`.${parent}`);
}

/** Returns the names below `name` that a rule matches; undefined when a rule may match all of them. */
function namesInside(
  { pattern, transport }: Rule,
  name: string,
  router: Router,
): readonly string[] | undefined {
  if (pattern.kind === "name") {
    if (isWithin(pattern.name, name)) return [pattern.name, `${someLabel}.${pattern.name}`];
    return isWithin(name, pattern.name) ? undefined : [];
  }
  if (pattern.kind === "services") {
    const services = router.tables.get(transport)?.services ?? [];
    return [...services].filter((service) => isWithin(service, name));
  }
  return pattern.kind === "network" || pattern.kind === "clusterips" ? [] : undefined;
}

function addressesInside(rule: Rule, network: NetworkPattern, router: Router): readonly string[] | undefined {
  const { pattern, transport } = rule;
  if (pattern.kind === "network") {
    if (pattern.bytes.length !== network.bytes.length) return [];
    if (pattern.bits >= network.bits) return isInside(pattern.bytes, network) ? ends(pattern) : [];
    return isInside(network.bytes, pattern) ? undefined : [];
  }
  if (pattern.kind === "clusterips") {
    return [...router.tables.get(transport)?.addresses ?? []].filter((address) => {
      const bytes = parseIp(address);
      const plain = bytes && unmapped(bytes);
      return plain?.length === network.bytes.length && isInside(plain, network);
    });
  }
  return pattern.kind === "any" ? undefined : [];
}

/** Returns the first and the last address of a network. */
function ends({ bytes, bits }: NetworkPattern): string[] {
  const last: IpBytes = bytes.map((byte, index) => byte | 255 >> Math.min(8, Math.max(0, bits - index * 8)));
  return [formatIp(bytes), formatIp(last)];
}
