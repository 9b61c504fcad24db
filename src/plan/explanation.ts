import { formatTarget, type Target } from "../words/mod.ts";
import type { TransportStatus } from "../core/mod.ts";
import type { ExplanationInfo, HopInfo } from "../control/mod.ts";
import type { Route } from "../routing/mod.ts";
import type { BuiltTransport } from "../transports/mod.ts";
import { configuredRoute, hopsOf, type Plan } from "./plan.ts";

/** Lets the transports on the path to a target read their files again. */
export async function preparePath(plan: Plan, target: Target): Promise<void> {
  await Promise.all(
    hopsOf(plan, configuredRoute(plan, target)).map(({ transport }) => transport.prepare?.()),
  );
}

/** Explains the route of a target by a plan, or a given route, with the losing rules. */
export function explanationOf(plan: Plan, target: Target, route?: Route): ExplanationInfo {
  const explanation = plan.router.explain(target, route);
  return {
    target: formatTarget(target),
    transport: explanation.transport,
    because: explanation.because,
    hops: (explanation.held ? [] : hopsOf(plan, explanation)).map((built, at) =>
      hopInfo(built, at === 0 ? target : undefined)
    ),
    losers: explanation.losers.map(({ rule, why }) => ({
      rule: rule.text,
      source: rule.source,
      transport: rule.transport,
      why,
    })),
  };
}

/** Describes a transport on the path; `target` is set only for the transport that connects to the target. */
function hopInfo({ name, type, transport }: BuiltTransport, target: Target | undefined): HopInfo {
  const status: Partial<TransportStatus> = transport.status?.() ?? {};
  const { state, lastError, hint, hops = [] } = status;
  const place = target && transport.locate?.(target);
  const { detail: own } = status;
  const detail = [own, place].filter((text) => typeof text === "string").join(": ");
  return {
    name,
    type,
    ...(detail !== "" && { detail }),
    ...(hops.length > 0 && { hosts: hops.map(({ host, address }) => ({ host, address })) }),
    ...(state === "unusable" && { problem: lastError ?? state, hint }),
  };
}
