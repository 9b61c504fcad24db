import { isLoopbackHost } from "../core/mod.ts";
import { type Cluster, factOf } from "./cluster.ts";

/** Where programs of a person reach a cluster. */
export interface ClusterAddresses {
  /** The API server; absent where no fact has a usable one. */
  readonly api?: URL;
  readonly console?: URL;
  /** The ssh Host it is behind, as written. */
  readonly jumphost?: string;
}

/** The facts that hold the address of the API server; the first one that is usable counts. */
const apiFacts = ["openshiftApiURL", "talosApiURL"];

/** What a cluster's facts say of where it is. */
export function addressesOf(cluster: Cluster): ClusterAddresses {
  const api = apiFacts.map((fact) => secureUrl(factOf(cluster, fact))).find((url) => url !== undefined);
  const console = secureUrl(factOf(cluster, "openshiftConsoleURL"));
  const jumphost = textOf(factOf(cluster, "jumphost"));
  return {
    ...(api && { api }),
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
  if (!url || url.username !== "" || url.password !== "") return undefined;
  const isLocal = isLoopbackHost(url.hostname.replace(/^\[(.*)\]$/, "$1"));
  return url.protocol === "https:" || (url.protocol === "http:" && isLocal) ? url : undefined;
}
