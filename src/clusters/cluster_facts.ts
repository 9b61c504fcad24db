import { isLoopbackHost } from "../words/mod.ts";
import { type Cluster, factOf } from "./cluster.ts";

/** The addresses of a cluster for its users. */
export interface ClusterAddresses {
  /** The API server; absent if no fact contains a valid URL. */
  readonly api?: URL;
  /** The cluster's platform, derived from the fact that contains its API. */
  readonly platform?: Platform;
  readonly console?: URL;
  /** The ssh Host through which the cluster is reached, as written. */
  readonly jumphost?: string;
}

/** The platforms that matter for the sign-in. */
export type Platform = "openshift" | "talos";

/** The facts with the API server's URL; the first valid one counts. */
const apiFacts: readonly (readonly [fact: string, platform: Platform])[] = [
  ["openshiftApiURL", "openshift"],
  ["talosApiURL", "talos"],
];

export function addressesOf(cluster: Cluster): ClusterAddresses {
  const [found] = apiFacts.flatMap(([fact, platform]) => {
    const api = secureUrl(factOf(cluster, fact));
    return api ? [{ api, platform }] : [];
  });
  const console = secureUrl(factOf(cluster, "openshiftConsoleURL"));
  const jumphost = textOf(factOf(cluster, "jumphost"));
  return {
    ...found,
    ...(console && { console }),
    ...(jumphost !== undefined && { jumphost }),
  };
}

/** A non-empty text; undefined for any other value. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** A URL that may receive credentials: encrypted or local, and without a password in it. */
function secureUrl(value: unknown): URL | undefined {
  const url = URL.parse(textOf(value)?.slice(0, 2000) ?? "");
  return url && mayHaveCredentials(url) ? url : undefined;
}

/** Whether a URL may receive credentials. */
export function mayHaveCredentials({ protocol, username, password, hostname }: URL): boolean {
  if (username !== "" || password !== "") return false;
  const isLocal = isLoopbackHost(hostname);
  return protocol === "https:" || (protocol === "http:" && isLocal);
}
