import type { KnownCluster } from "../clusters/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { dialerThroughProxy } from "../http/mod.ts";

export interface AuthoritiesRequest {
  /** The door through which API servers are asked. */
  readonly proxyUrl: string;
  /** Asks those that no fact and no earlier use tells of, and believes them this once. */
  readonly trustsFirstUse: boolean;
  readonly signal: AbortSignal;
}

export interface Authorities {
  /** PEM by the name of the cluster. */
  readonly byName: ReadonlyMap<string, string>;
  /** What a person should know. */
  readonly notes: readonly string[];
}

/** How many API servers are asked at once. */
const atOnce = 8;

/** The authorities of API servers of which no fact tells: those that were believed when they were first used. */
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
      const dial = dialerThroughProxy(proxyUrl, { name: "door", world });
      const learnt = await learnAuthority(api, { world, dial }, { signal });
      if (learnt) {
        notes.push(
          `${name}: its certificate authority is believed from now on: SHA-256 ${learnt.fingerprint}`,
        );
      }
    }
    const pem = await trustedAuthority(world, api);
    if (pem !== undefined) byName.set(name, pem);
  };
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        await ask(next);
      } catch (error) {
        signal.throwIfAborted();
        // One that was asked for by itself has to be there; of many, one may be missing.
        if (clusters.length === 1 || !(error instanceof PosternError)) throw error;
        notes.push(`${next.name} has no certificate authority: ${describe(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { byName, notes };
}
