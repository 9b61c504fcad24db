import type { FarNetwork } from "../core/mod.ts";
import { formatIp } from "../words/mod.ts";
import type { Domains } from "./guard.ts";
import { isInside } from "./network_tree.ts";
import type { NetworkPattern } from "./pattern.ts";
import type { Rule } from "./rule.ts";

/** Networks that two clusters own: an address in both could be of either. */
export interface Overlap {
  readonly transports: readonly [string, string];
  /** `10.96.0.0/16` and, of the other cluster, `10.96.0.0/12`. */
  readonly networks: readonly [string, string];
}

/** Where the networks of two clusters overlap, once for each two clusters. */
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

/** What a person should know of rules for networks that have a cluster's own network inside: that one wins. */
export function ownedInside(rules: readonly Rule[], domains: Domains): string[] {
  return rules.flatMap(({ pattern, text, place, source, transport: via }) => {
    if (pattern.kind !== "network") return [];
    return [...domains].flatMap(([transport, domain]) => {
      const owned = domain?.networks.find((network) =>
        network.bits > pattern.bits && holds(pattern, network)
      );
      if (!owned || transport === via) return [];
      const what = `contains ${networkText(owned)} of the cluster of "${transport}"`;
      return [`${place ?? source}: warning: "${text}" ${what}: that network goes to the cluster or nowhere`];
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
