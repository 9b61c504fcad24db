import { formatTarget, PosternError, type Target } from "../../words/mod.ts";
import type { Route } from "../../routing/mod.ts";
import { hopsOf, type Plan } from "../plan.ts";

/** A target, and the ssh hosts whose ProxyCommand requests it. */
export interface HopRequest {
  readonly target: Target;
  readonly hops: readonly string[];
}

/**
 * Throws if the path of a target uses one of these ssh hosts. Their ProxyCommand requests the connection, so the
 * path would wait for itself.
 */
export async function demandNoHop(
  { plan, route }: { readonly plan: Plan; readonly route: Route },
  { target, hops }: HopRequest,
): Promise<void> {
  for (const { name, transport } of hopsOf(plan, route)) {
    await transport.prepare?.();
    const own = transport.status?.().hops?.find(({ host }) => hops.includes(host));
    if (!own) continue;
    throw new PosternError(
      "not_allowed",
      `Cannot reach ${formatTarget(target)}: the ProxyCommand of ssh host "${own.host}" requests it, ` +
        `and transport "${name}" connects through that host, which would be a loop`,
      {
        detail: "loop",
        hint: `exclude the host from the ProxyCommand in the ssh configuration: Host … !${own.host}`,
      },
    );
  }
}
