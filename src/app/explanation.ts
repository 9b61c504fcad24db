import { formatTarget, type Target } from "../core/mod.ts";
import type { ExplanationInfo } from "../listeners/mod.ts";
import { hopsOf, type Plan } from "./plan.ts";

/** Where a target would go by a plan, and which rules lost. */
export function explanationOf(plan: Plan, target: Target): ExplanationInfo {
  const explanation = plan.router.explain(target);
  return {
    target: formatTarget(target),
    transport: explanation.transport,
    because: explanation.because,
    hops: hopsOf(plan, explanation).map(({ name, type, transport }) => {
      const detail = transport.status?.().detail;
      return { name, type, ...(typeof detail === "string" && { detail }) };
    }),
    losers: explanation.losers.map(({ rule, why }) => ({
      rule: rule.text,
      source: rule.source,
      transport: rule.transport,
      why,
    })),
  };
}
