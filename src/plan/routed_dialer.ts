import type { Dialer } from "../world/mod.ts";
import { preparePath } from "./explanation.ts";
import { configuredRoute, type Plan, transportOf } from "./plan.ts";

/** Dials as a door with this plan would: each target where the rules send it. */
export function routedDialer(plan: Plan): Dialer {
  return async (target, options) => {
    await preparePath(plan, target);
    return await transportOf(plan, configuredRoute(plan, target)).transport.dial(target, options);
  };
}
