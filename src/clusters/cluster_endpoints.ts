import { certificateData } from "./certificate_data.ts";
import { type Cluster, factOf } from "./cluster.ts";
import { addressesOf, mayHaveCredentials, textOf } from "./cluster_facts.ts";

/** What a cluster can be asked at. */
export type EndpointKind = "api" | "console" | "oauth";

/** One of a cluster's web addresses, or why there is none to ask. */
export type ClusterEndpoint =
  & { readonly kind: EndpointKind }
  & (
    | {
      readonly url: URL;
      /** PEM certificates that it may have besides those the system trusts. */
      readonly ca?: string;
    }
    | { readonly missing: string }
  );

/**
 * The API server, and of an OpenShift cluster its console and its OAuth server: others have none that facts name.
 */
export function endpointsOf(cluster: Cluster): readonly ClusterEndpoint[] {
  const { api, console, platform } = addressesOf(cluster);
  const ca = platform === "talos"
    ? certificateData(factOf(cluster, "talosAPICertificateAuthorityData"))
    : undefined;
  const oauth = oauthUrl(textOf(factOf(cluster, "openshiftOAuthRoute")));
  const first: ClusterEndpoint = api
    ? { kind: "api", url: api, ...(ca !== undefined && { ca: atob(ca) }) }
    : { kind: "api", missing: "no fact has an address of its API that begins with https://" };
  if (platform === "talos" && !console && !oauth) return [first];
  return [
    first,
    console
      ? { kind: "console", url: console }
      : { kind: "console", missing: "no fact openshiftConsoleURL with an address" },
    oauth
      ? { kind: "oauth", url: oauth }
      : { kind: "oauth", missing: "no fact openshiftOAuthRoute with an address" },
  ];
}

/** The fact is the name of a host, or a whole address. */
function oauthUrl(fact: string | undefined): URL | undefined {
  if (fact === undefined || fact.length > 2000) return undefined;
  const url = URL.parse(fact.includes("://") ? fact : `https://${fact}`);
  return url && mayHaveCredentials(url) ? url : undefined;
}
