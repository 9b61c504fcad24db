import type { Dialer } from "../../core/mod.ts";
import { prepareWay } from "./explanation.ts";
import { type Plan, transportOf } from "../settings/plan.ts";

/** Dials as a door with this plan would: each target where the rules send it. */
export function routedDialer(plan: Plan): Dialer {
  return async (target, options) => {
    await prepareWay(plan, target);
    return await transportOf(plan, plan.router.route(target)).transport.dial(target, options);
  };
}
