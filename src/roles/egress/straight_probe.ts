import type { World } from "../../world/mod.ts";
import { type EndpointReport, type Probe, probeEndpoints } from "../../egress/mod.ts";

/** Asks readiness endpoints through the proxies of a spec, which are reached straight from here. */
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
