import { formatTarget, isPosternError, type Target } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { listenOf, readConfig } from "../plan/mod.ts";

/** Whether our configuration listens at the address. An unreadable configuration does not. */
export async function isConfigured(world: World, address: Target): Promise<boolean> {
  try {
    const { loaded } = await readConfig(world, { withoutCatalogues: true });
    if (!loaded) return false;
    const { mixed = [], socks = [], http = [] } = listenOf(loaded.settings);
    return [...mixed, ...socks, ...http].some(({ address: { sockets } }) =>
      sockets.some(({ endpoint }) => "port" in endpoint && formatTarget(endpoint) === formatTarget(address))
    );
  } catch (error) {
    if (isPosternError(error, "config") || isPosternError(error, "not_allowed")) return false;
    throw error;
  }
}
