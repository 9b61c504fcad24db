import type { World } from "../../world/mod.ts";
import { type EndpointReport, type Probe, probeEndpoints } from "../../egress/mod.ts";

/** Probes readiness endpoints through a spec's proxies, and connects to those proxies directly. */
export function straightProbe({ clock, network }: Pick<World, "clock" | "network">, timeout: number): Probe {
  return async (spec, bundle, { signal }) => {
    const trusted = bundle === "" ? {} : { ca: bundle };
    const results = await probeEndpoints(spec, { clock, network }, { signal, timeout, ...trusted });
    return results.map(({ endpoint, isReady, attempts, status, answeredBy, failure }): EndpointReport => ({
      url: endpoint,
      isReady,
      attempts,
      message: failure ?? `${answeredBy ?? "it"} answered ${status ?? "well"}`,
    }));
  };
}
