import type { World } from "../../core/mod.ts";
import type { Probe } from "../../egress/mod.ts";

/** Asks readiness endpoints through a proxy. */
export function probeEndpoints(_world: World, _timeout: number): Probe {
  return ({ readinessEndpoints = [] }) =>
    Promise.resolve(readinessEndpoints.map((_url, index) => ({
      url: `readinessEndpoints[${index}]`,
      isReady: false,
      attempts: 0,
      message: "this version asks no endpoints",
    })));
}
