import type { WatchStatus } from "../../clusters/mod.ts";
import type { ClusterLink } from "./cluster_link.ts";

/** What `status` shows of one cluster. */
export interface ClusterState {
  /** The context. */
  readonly name: string;
  /** Where its API server is. */
  readonly server: string;
  readonly version?: string;
  readonly state: "ready" | "failing";
  /** How forwards are carried. */
  readonly form: string;
  readonly sessions: number;
  readonly streams: number;
  /** Sessions that broke while they were in use. */
  readonly broken: number;
  readonly requests: number;
  readonly watches: readonly WatchStatus[];
  readonly lastError?: string;
  readonly hint?: string;
}

/** How a cluster in use is. */
export function clusterState({ api, view, forwards }: ClusterLink): ClusterState {
  const { server, version, requests, lastError: apiError, hint } = api.status();
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
  };
}
