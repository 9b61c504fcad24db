import { eachAtOnce } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import { addThoseBehind, type Proposal, type ProposedRoute } from "./proposal.ts";
import { plainNames } from "./propose_clusters.ts";
import { type TryOptions, withTransports } from "./trial.ts";

/** The number of checks at once: every sign-in may open a window. */
const mostAtOnce = 8;

/**
 * Connects to everything that a proposal names, and returns the proposal without the lines that do not work. First
 * the ssh hosts and proxies, then what may be behind them.
 */
export async function tryProposal(world: World, proposal: Proposal, options: TryOptions): Promise<Proposal> {
  const clusters = proposal.transports.filter(({ kind }) => kind === "kubernetes");
  const names = new Set(clusters.map(({ name }) => name));
  const first: Proposal = {
    ...proposal,
    transports: proposal.transports.filter(({ name }) => !names.has(name)),
    routes: proposal.routes.filter(({ via }) => !names.has(via)),
    catalogues: [],
  };
  const failed = new Set<string>();
  const { routes, paths, catalogues } = await withTransports(world, first, options, async (trial) => {
    await eachAtOnce(first.transports, mostAtOnce, async (one) => {
      const isFine = await trial.check(
        one.kind,
        one.name,
        (signal) => one.kind === "ssh" ? trial.signIn(one, signal) : trial.askProxy(one, signal),
      );
      if (!isFine) failed.add(one.name);
    });
    addThoseBehind(failed, first.transports);
    const works = (name: string) => !failed.has(name);
    const reachable = first.routes.filter(({ via }) => works(via));
    const kept = await eachAtOnce(reachable, mostAtOnce, (route) => {
      const { example } = route;
      if (!example || route.isGuess) return true;
      return trial.check(
        "route",
        route.to.join(", "),
        (signal) => trial.reachExample(route.via, example, signal),
      );
    });
    const routes = reachable.filter((_, at) => kept[at]);
    const paths = await eachAtOnce(clusters, mostAtOnce, (one) => trial.pathTo(one, works));
    const catalogues = await eachAtOnce(
      proposal.catalogues,
      mostAtOnce,
      (one) => trial.catalogue(one, works),
    );
    return { routes, paths, catalogues: catalogues.flatMap((one) => one ?? []) };
  });
  const placed = clusters.flatMap((one, at) => {
    const via = paths[at];
    return [via === undefined ? one : { ...one, via }];
  });
  const { fallback, ...rest } = proposal;
  const second: Proposal = {
    ...rest,
    transports: [...first.transports.filter(({ name }) => !failed.has(name)), ...placed],
    routes: [],
    catalogues: [],
  };
  await withTransports(world, second, options, async (trial) => {
    await eachAtOnce(placed, mostAtOnce, async (one) => {
      if (!await trial.check("kubernetes", one.name, (signal) => trial.connectCluster(one, signal))) {
        failed.add(one.name);
      }
    });
  });
  addThoseBehind(failed, placed);
  const hasFallback = fallback !== undefined && !failed.has(fallback.name);
  return {
    ...rest,
    transports: [...first.transports, ...placed].filter(({ name }) => !failed.has(name)),
    routes: proposal.routes.flatMap((route) => {
      if (names.has(route.via)) {
        return failed.has(route.via) ? hasFallback ? withoutCluster(route) : [] : [route];
      }
      const isUsed = route.via === "direct"
        ? hasFallback
        : route.via !== "reject" || hasFallback || clusters.some(({ name }) => !failed.has(name));
      return isUsed && routes.includes(route) ? [route] : [];
    }),
    ...(hasFallback && { fallback }),
    catalogues,
    secrets: proposal.secrets.filter(({ transport }) => !failed.has(transport)),
  };
}

/** The route for names that only a cluster can own, so that a new default does not get them. */
function withoutCluster({ to, via }: ProposedRoute): ProposedRoute[] {
  const plain = to.filter((text) => plainNames.includes(text));
  if (plain.length === 0) return [];
  return [{
    to: plain,
    via: "reject",
    reason: `Names of Services: the cluster ${via} did not answer. With its transport, replace reject`,
  }];
}
