import { eachAtOnce } from "../core/mod.ts";
import type { KnownCluster } from "../clusters/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { dialerThroughProxy } from "../http/mod.ts";

export interface AuthoritiesRequest {
  /** The instance's proxy through which API servers are reached. */
  readonly proxyUrl: string;
  /** Fetches the certificate authorities of unknown API servers and trusts them on this first use. */
  readonly trustsFirstUse: boolean;
  readonly signal: AbortSignal;
}

export interface Authorities {
  /** PEM by cluster name. */
  readonly byName: ReadonlyMap<string, string>;
  /** Notes for the user. */
  readonly notes: readonly string[];
}

/** How many API servers are contacted at once. */
const atOnce = 8;

/** The certificate authorities of API servers that no fact contains: those trusted on first use. */
export async function apiAuthorities(
  world: World,
  clusters: readonly KnownCluster[],
  { proxyUrl, trustsFirstUse, signal }: AuthoritiesRequest,
): Promise<Authorities> {
  const { addressesOf } = await import("../clusters/mod.ts");
  const { authorityInFacts, learnAuthority, trustedAuthority } = await import("../kube/mod.ts");
  const byName = new Map<string, string>();
  const notes: string[] = [];
  const waiting = clusters.filter(({ cluster }) => authorityInFacts(cluster) === undefined);
  const ask = async ({ name, cluster }: KnownCluster) => {
    const { api } = addressesOf(cluster);
    if (api?.protocol !== "https:") return;
    if (trustsFirstUse) {
      const dial = dialerThroughProxy(proxyUrl, { name: "instance", world });
      const learnt = await learnAuthority(api, { world, dial }, { signal });
      if (learnt) {
        notes.push(
          `${name}: postern trusts its certificate authority from now on: SHA-256 ${learnt.fingerprint}`,
        );
      }
    }
    const pem = await trustedAuthority(world, api);
    if (pem !== undefined) byName.set(name, pem);
  };
  await eachAtOnce(waiting, atOnce, async (next) => {
    try {
      await ask(next);
    } catch (error) {
      signal.throwIfAborted();
      // A single cluster must be reachable; of several, some may be down.
      if (clusters.length === 1 || !(error instanceof PosternError)) throw error;
      notes.push(`${next.name} has no certificate authority: ${describe(error)}`);
    }
  });
  return { byName, notes };
}
