import type { ClusterEndpoint, KnownCluster } from "../../clusters/mod.ts";
import type { Dialer, World } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { errorInfo } from "../../control/mod.ts";
import { elapsed, type EndpointTest } from "./tested_fleet.ts";

export interface EndpointTestOptions {
  /** How the endpoint is reached. */
  readonly dial: Dialer;
  /** How long it may take to answer, in ms. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Asks one of a cluster's web addresses. Whatever answers is there, also when it says no; what only stands in is not. */
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
    // As kubectl has it: what was believed at the first use is the authority of the API server only.
    const ca = endpoint.ca ?? (kind === "api" ? await trustedAuthority(world, url) : undefined);
    const client = new HttpClient({ clock, network, dial }, { timeout: limit, ca });
    const { status } = await client.ask({ url, method: "HEAD" }, { signal });
    const ms = elapsed(clock, begun);
    if (status < 500 || status === noSuchMethod) return { kind, name, url: shown, outcome: "ok", ms, status };
    throw new PosternError("unreachable", `Cannot use ${shown}: what stands before it answers ${status}`, {
      hint: "the cluster is reached, but the service behind this address does not run",
    });
  } catch (error) {
    signal.throwIfAborted();
    const ms = elapsed(clock, begun);
    return { kind, name, url: shown, outcome: "failed", ms, error: errorInfo(error) };
  }
}

/** An answer of a server that works, and does not know HEAD. */
const noSuchMethod = 501;
