import { certificateData } from "./certificate_data.ts";
import { type Cluster, factOf } from "./cluster.ts";
import { addressesOf, mayHaveCredentials, textOf } from "./cluster_facts.ts";

/** The kinds of a cluster's web addresses. */
export type EndpointKind = "api" | "console" | "oauth";

/** One of a cluster's web addresses, or the reason why it is missing. */
export type ClusterEndpoint =
  & { readonly kind: EndpointKind }
  & (
    | {
      readonly url: URL;
      /** PEM certificates to trust in addition to the system's. */
      readonly ca?: string;
    }
    | { readonly missing: string }
  );

/** The API server; for an OpenShift cluster also its console and its OAuth server. */
export function endpointsOf(cluster: Cluster): readonly ClusterEndpoint[] {
  const { api, console, platform } = addressesOf(cluster);
  const ca = platform === "talos"
    ? certificateData(factOf(cluster, "talosAPICertificateAuthorityData"))
    : undefined;
  const oauth = oauthUrl(textOf(factOf(cluster, "openshiftOAuthRoute")));
  const first: ClusterEndpoint = api
    ? { kind: "api", url: api, ...(ca !== undefined && { ca: atob(ca) }) }
    : { kind: "api", missing: "no fact contains an API URL that begins with https://" };
  if (platform === "talos" && !console && !oauth) return [first];
  return [
    first,
    console
      ? { kind: "console", url: console }
      : { kind: "console", missing: "the fact openshiftConsoleURL has no URL" },
    oauth
      ? { kind: "oauth", url: oauth }
      : { kind: "oauth", missing: "the fact openshiftOAuthRoute has no URL" },
  ];
}

/** The fact contains a host name or a whole URL. */
function oauthUrl(fact: string | undefined): URL | undefined {
  if (fact === undefined || fact.length > 2000) return undefined;
  const url = URL.parse(fact.includes("://") ? fact : `https://${fact}`);
  return url && mayHaveCredentials(url) ? url : undefined;
}
