import { formatIp, type IpBytes, parseIp, unmapped } from "../core/mod.ts";
import { isInside } from "./network_tree.ts";
import type { NamePattern, NetworkPattern } from "./pattern.ts";
import type { Route, Router } from "./router.ts";
import type { Rule } from "./rule.ts";

/** A name that stands for whatever may be below another. */
const someLabel = "postern-probe";

/**
 * A route that does not go direct for something inside a pattern, if there is one. It asks the router itself, at
 * the places where its rules change their mind: the pattern's own ends and those of the rules around and inside.
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

function portsMeet({ pattern: { port } }: Rule, other: { readonly port?: number }): boolean {
  return port === undefined || other.port === undefined || port === other.port;
}

function isWithin(name: string, parent: string): boolean {
  return name === parent || name.endsWith(`.${parent}`);
}

/** Names below `name` that a rule is about; undefined where it may be about all of them. */
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

/** The first and the last address of a network. */
function ends({ bytes, bits }: NetworkPattern): string[] {
  const last: IpBytes = bytes.map((byte, index) => byte | 255 >> Math.min(8, Math.max(0, bits - index * 8)));
  return [formatIp(bytes), formatIp(last)];
}
