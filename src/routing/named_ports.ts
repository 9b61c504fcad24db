import type { Router } from "./router.ts";

/** The ports that rules name. A lookup has no port, but a name may have a route for one port only. */
export function namedPorts({ rules }: Pick<Router, "rules">): readonly number[] {
  let ports = portsOfRules.get(rules);
  if (!ports) {
    ports = [...new Set(rules.flatMap(({ pattern: { port } }) => port ?? []))];
    portsOfRules.set(rules, ports);
  }
  return ports;
}

/** A cluster's tables change, its rules do not, so the ports are cached per rule list. */
const portsOfRules = new WeakMap<Router["rules"], readonly number[]>();
