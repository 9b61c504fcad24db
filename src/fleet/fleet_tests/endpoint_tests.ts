import type { ClusterEndpoint, KnownCluster } from "../../clusters/mod.ts";
import type { Dialer, World } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { errorInfo } from "../../control/mod.ts";
import { elapsed, type EndpointTest } from "./tested_fleet.ts";

export interface EndpointTestOptions {
  readonly dial: Dialer;
  /** Timeout of the request, in ms. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/**
 * Requests one of a cluster's web addresses. Any response of the server counts as success, even a refusal; an
 * error of a proxy in front of it does not.
 */
export async function testEndpoint(
  world: Pick<World, "clock" | "files" | "network" | "places">,
  { known: { name }, endpoint }: { readonly known: KnownCluster; readonly endpoint: ClusterEndpoint },
  { dial, limit, signal }: EndpointTestOptions,
): Promise<EndpointTest> {
  const { kind } = endpoint;
  if ("missing" in endpoint) return { kind, name, outcome: "skipped", reason: endpoint.missing };
  const { HttpClient } = await import("../../http/mod.ts");
  const { trustedAuthority } = await import("../../kube/mod.ts");
  const { url } = endpoint;
  const { clock, network } = world;
  const begun = clock.now();
  const shown = url.href.replace(/\/$/, "");
  try {
    // As for kubectl, the authority trusted on first use applies to the API server only.
    const ca = endpoint.ca ?? (kind === "api" ? await trustedAuthority(world, url) : undefined);
    const client = new HttpClient({ clock, network, dial }, { timeout: limit, ca });
    const { status } = await client.ask({ url, method: "HEAD" }, { signal });
    const ms = elapsed(clock, begun);
    if (status < 500 || status === noSuchMethod) return { kind, name, url: shown, outcome: "ok", ms, status };
    throw new PosternError(
      "unreachable",
      `Cannot reach ${shown}: a proxy in front of it returned ${status}`,
      {
        hint: "check the service in the cluster; the cluster itself is reachable",
      },
    );
  } catch (error) {
    signal.throwIfAborted();
    const ms = elapsed(clock, begun);
    return { kind, name, url: shown, outcome: "failed", ms, error: errorInfo(error) };
  }
}

/** The status of a working server that does not support HEAD. */
const noSuchMethod = 501;
