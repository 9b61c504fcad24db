import { hexText } from "../../src/core/mod.ts";

/**
 * Returns a stored file of learned facts for a cluster without a certificate authority, by its path in
 * `/cache`.
 */
export async function learnedFile(
  server: string,
  { serviceNetworks = [], namespaces = [], day = Date.UTC(2026, 0, 1) / 86_400_000 }: {
    readonly serviceNetworks?: readonly string[];
    readonly namespaces?: readonly string[];
    readonly day?: number;
  },
): Promise<Readonly<Record<string, string>>> {
  const named = new TextEncoder().encode(`${new URL(server).href}\n`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", named));
  const stored = {
    version: 1,
    saved: day,
    serviceNetworks,
    podNetworks: [],
    kubernetes: [],
    namespaces: Object.fromEntries(namespaces.map((name) => [name, day])),
    services: {},
    clusterIps: {},
    pods: {},
  };
  return { [`/cache/learned/${hexText(digest).slice(0, 32)}.json`]: JSON.stringify(stored) };
}
