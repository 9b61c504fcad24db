import type { Catalogue, Cluster } from "../../src/clusters/mod.ts";
import type { Household } from "./postern_process.ts";

/** Some clusters of a fleet in the form of a catalogue. */
export const labClusters: readonly Cluster[] = [
  labCluster("c-lab-2", "Lab Two", { cloud: "cloudscale", jumphost: "jump2.example.net" }),
  labCluster("c-lab-1", "Lab One", { cloud: "exoscale", region: "ch-gva-2" }),
  {
    id: "c-talos",
    displayName: "Talos",
    facts: { cloud: "metal" },
    dynamicFacts: {
      talosApiURL: "https://api.c-talos.example.net:6443",
      oidcIssuer: "https://sso.example.net/realms/a",
      oidcClientId: "c-talos",
      talosAPICertificateAuthorityData: btoa(
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      ),
    },
  },
  { id: "c-empty", displayName: "Nothing yet", facts: {}, dynamicFacts: {} },
];

/** Returns an OpenShift cluster. */
export function labCluster(id: string, displayName: string, facts: Cluster["facts"]): Cluster {
  return {
    id,
    displayName,
    tenant: "t-lab",
    facts,
    dynamicFacts: {
      openshiftApiURL: `https://api.${id}.example.net:6443`,
      openshiftConsoleURL: `https://console.apps.${id}.example.net`,
    },
  };
}

/** Writes the plain copy of a catalogue for the real program. */
export async function storeClusters(
  { places }: Household,
  clusters: readonly Cluster[] = labClusters,
  { name = "main", fetched = new Date().toISOString() }: Partial<Catalogue> = {},
): Promise<void> {
  const directory = `${places.cache}/catalogue`;
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  const catalogue: Catalogue = { name, source: "https://api.syn.example.net", fetched, clusters };
  await Deno.writeTextFile(
    `${directory}/snapshot.json`,
    JSON.stringify({ format: 1, catalogues: [catalogue] }),
    { mode: 0o600 },
  );
}
