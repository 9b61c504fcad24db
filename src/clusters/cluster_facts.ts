import { isLoopbackHost } from "../words/mod.ts";
import { type Cluster, factOf } from "./cluster.ts";

/** Where programs of a person reach a cluster. */
export interface ClusterAddresses {
  /** The API server; absent where no fact has a usable one. */
  readonly api?: URL;
  /** Of what kind the cluster is, by the fact that has its API. */
  readonly platform?: Platform;
  readonly console?: URL;
  /** The ssh Host it is behind, as written. */
  readonly jumphost?: string;
}

/** What clusters are made with, as far as it matters for signing in. */
export type Platform = "openshift" | "talos";

/** The facts that hold the address of the API server; the first one that is usable counts. */
const apiFacts: readonly (readonly [fact: string, platform: Platform])[] = [
  ["openshiftApiURL", "openshift"],
  ["talosApiURL", "talos"],
];

/** What a cluster's facts say of where it is. */
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

/** A text that is not empty; undefined for anything else. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** A web address to which credentials may be sent: never in the clear, and without a password of its own. */
function secureUrl(value: unknown): URL | undefined {
  const url = URL.parse(textOf(value)?.slice(0, 2000) ?? "");
  return url && mayHaveCredentials(url) ? url : undefined;
}

/** Whether credentials may be sent to a web address. */
export function mayHaveCredentials({ protocol, username, password, hostname }: URL): boolean {
  if (username !== "" || password !== "") return false;
  const isLocal = isLoopbackHost(hostname);
  return protocol === "https:" || (protocol === "http:" && isLocal);
}
