import type { ClusterStatus } from "../../core/mod.ts";
import type { ClusterLink } from "./cluster_link.ts";

/** The status of a cluster in use. */
export function clusterState({ api, view, forwards }: ClusterLink): ClusterStatus {
  const { server, version, requests, lastError: apiError, hint, signingInWith } = api.status();
  const { form, sessions, streams, broken, lastError: forwardError } = forwards.status();
  const { watches } = view.status();
  const failed = watches.find(({ state }) => state === "failing");
  const lastError = apiError ?? failed?.lastError ?? forwardError;
  return {
    name: api.name,
    server,
    ...(version !== undefined && { version }),
    state: apiError !== undefined || failed ? "failing" : "ready",
    form,
    sessions,
    streams,
    broken,
    requests,
    watches,
    ...(lastError !== undefined && { lastError }),
    ...(hint !== undefined && { hint }),
    ...(signingInWith !== undefined && { signingInWith }),
  };
}
