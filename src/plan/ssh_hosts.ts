import { type RoutedPatterns, routedPatterns } from "../routing/mod.ts";
import { configuredRoute, hopsOf, type Plan } from "./plan.ts";

/**
 * Returns the ssh patterns of the targets that a plan sends through a transport. They exclude ssh hosts that postern
 * itself needs on the path to them: the user's ssh must reach these without postern.
 */
export async function sshHostsOf(plan: Plan): Promise<RoutedPatterns> {
  const { router, transports } = plan;
  const built = [...transports.byName.values()];
  await Promise.all(built.map(({ transport }) => transport.prepare?.()));
  const hostsOf = ({ transport }: typeof built[number]) =>
    (transport.status?.().hops ?? []).map(({ host }) => host);
  const hosts = [...new Set(built.flatMap(hostsOf))];
  const unknown = built.flatMap(({ name, transport }) => {
    const { state, lastError = "it is unusable" } = transport.status?.() ?? {};
    return state === "unusable" ? [{ rule: `the jump hosts of transport "${name}"`, why: lastError }] : [];
  });
  const { routed, left } = routedPatterns(router, {
    isRouted: (name) => !router.rejecting.has(name) && transports.byName.get(name)?.type !== "direct",
    except: hosts.filter((host) => {
      const path = hopsOf(plan, configuredRoute(plan, { host, port: 22 }));
      return path.some((one) => hostsOf(one).includes(host));
    }),
  });
  return { routed, left: [...left, ...unknown] };
}
