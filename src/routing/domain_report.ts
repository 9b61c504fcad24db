import type { FarNetwork } from "../core/mod.ts";
import { formatIp } from "../words/mod.ts";
import type { Domains } from "./guard.ts";
import { isInside } from "./network_tree.ts";
import type { NetworkPattern } from "./pattern.ts";
import type { Rule } from "./rule.ts";

/** Overlapping networks of two clusters: an address in both is ambiguous. */
export interface Overlap {
  readonly transports: readonly [string, string];
  /** For example `10.96.0.0/16` and the other cluster's `10.96.0.0/12`. */
  readonly networks: readonly [string, string];
}

/** Returns the overlaps between clusters, one per pair. */
export function overlaps(domains: Domains): Overlap[] {
  const known = [...domains].flatMap(([transport, domain]) => domain ? [{ transport, ...domain }] : []);
  return known.flatMap((one, at) =>
    known.slice(at + 1).flatMap((other) => {
      for (const ours of one.networks) {
        const theirs = other.networks.find((network) => holds(ours, network) || holds(network, ours));
        if (!theirs) continue;
        const networks: Overlap["networks"] = [networkText(ours), networkText(theirs)];
        return [{ transports: [one.transport, other.transport] as const, networks }];
      }
      return [];
    })
  );
}

/**
 * Returns warnings about rules for a network that contains a cluster's network: the cluster's network takes
 * precedence.
 */
export function ownedInside(rules: readonly Rule[], domains: Domains): string[] {
  return rules.flatMap(({ pattern, text, place, source, transport: via }) => {
    if (pattern.kind !== "network") return [];
    return [...domains].flatMap(([transport, domain]) => {
      const owned = domain?.networks.find((network) =>
        network.bits > pattern.bits && holds(pattern, network)
      );
      if (!owned || transport === via) return [];
      const what = `contains ${networkText(owned)} of the cluster of "${transport}"`;
      return [
        `${place ?? source}: warning: "${text}" ${what}: postern sends that network to the cluster only`,
      ];
    });
  });
}

function holds(around: FarNetwork | NetworkPattern, inside: FarNetwork): boolean {
  return around.bytes.length === inside.bytes.length && inside.bits >= around.bits &&
    isInside(inside.bytes, around);
}

function networkText({ bytes, bits }: FarNetwork): string {
  return `${formatIp(bytes)}/${bits}`;
}
