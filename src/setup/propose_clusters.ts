import { isTopLevelDomain } from "../kube/mod.ts";
import { targetOf } from "../words/mod.ts";
import {
  type Existing,
  existingPath,
  isDecided,
  namesText,
  type ProposedRoute,
  type ProposedTransport,
  type TransportNames,
} from "./proposal.ts";

/** A context of a kubeconfig. */
export interface FoundContext {
  readonly name: string;
  /** The kubeconfigs to write into the configuration; empty if kubectl and postern read them anyway. */
  readonly files: readonly string[];
  /** The file and line, for people: `~/.kube/config:12`. */
  readonly place: string;
  readonly isCurrent: boolean;
  readonly server: URL;
  /** The proxy of the kubeconfig: its place without credentials, and whether it is postern itself. */
  readonly proxy?: { readonly place: string; readonly isOwn: boolean } | undefined;
}

export interface ClusterProposal {
  readonly transports: readonly ProposedTransport[];
  readonly routes: readonly ProposedRoute[];
  readonly notes: readonly string[];
}

/** One transport for each cluster, with a suffix for the names of its Services. */
export function proposeClusters(
  contexts: readonly FoundContext[],
  existing: Existing,
  names: TransportNames,
): ClusterProposal {
  const transports: ProposedTransport[] = [];
  const routes: ProposedRoute[] = [];
  const notes: string[] = [];
  const clusters = Map.groupBy(contexts, ({ server }) => serverKey(server));
  const isOnly = clusters.size === 1 && existing.servers.size === 0;
  const labels = new Labels(existing);
  const unrouted = (text: string) => !isDecided(text, existing.rules);
  for (const [key, all] of clusters) {
    if (existing.servers.has(key)) continue;
    const usable = all.filter(({ proxy }) => !proxy?.isOwn);
    // A file that needs no setting is better than one that does; kubectl's choice is the best.
    const used = usable.find(({ isCurrent }) => isCurrent) ?? usable.find(({ files }) =>
      files.length === 0
    ) ??
      usable[0];
    const [first] = all;
    if (!used) {
      const whose = namesText(all.map(({ name }) => name));
      notes.push(`${first?.place}: ${whose}: the proxy-url is postern itself, so a catalogue routes it`);
      continue;
    }
    const server = targetOf(used.server);
    const path = used.proxy ? {} : existingPath(server, existing);
    if ("owner" in path) {
      notes.push(`${used.place}: ${used.name}: ${path.owner} routes its API server`);
      continue;
    }
    const label = labels.free(used.name);
    const name = names.free(shortLabel(used.name));
    const others = all.filter((one) => one !== used).map(({ name }) => name);
    transports.push({
      kind: "kubernetes",
      name,
      settings: {
        kubeconfig: used.files.length > 0 ? used.files : undefined,
        context: used.name,
        suffix: label,
      },
      reason: `Context ${used.name} of ${used.place}, API server ${used.server.host}` +
        (used.proxy ? ` through the proxy-url ${used.proxy.place}` : "") +
        (others.length > 0 ? `; the same cluster as ${namesText(others)}` : ""),
      ...(!used.proxy && { server, ...path }),
    });
    const suffix = `.svc.${label}`;
    const to = [...isOnly ? plainNames : [], suffix].filter(unrouted);
    if (to.length === 0) continue;
    routes.push({
      to,
      via: name,
      reason: `Services of ${used.name}: SERVICE.NAMESPACE${suffix}` +
        (isOnly ? ", and without the suffix because it is the only cluster" : ""),
    });
  }
  const plain = plainNames.filter(unrouted);
  if (!isOnly && transports.length > 0 && plain.length > 0) {
    const reason = "These names exist in every cluster: add a suffix of the transports above";
    routes.push({ to: plain, via: "reject", reason });
  }
  return { transports, routes, notes };
}

/** The names of Services that mean the same in every cluster. */
export const plainNames: readonly string[] = [".svc", ".cluster.local"];

/** The identity of a cluster: contexts with the same API server are one cluster. */
export function serverKey(server: URL): string {
  const { host, port } = targetOf(server);
  return `${host.toLowerCase()}:${port}${server.pathname.replace(/\/+$/, "")}`;
}

/** Suffixes for clusters; a new one does not repeat another one or a routed domain. */
class Labels {
  readonly #existing: Existing;
  readonly #taken = new Set<string>();

  constructor(existing: Existing) {
    this.#existing = existing;
  }

  free(context: string): string {
    const short = shortLabel(context);
    // svc.dev might be a public domain.
    const base = isTopLevelDomain(short) ? `${short}.internal` : short;
    for (let count = 1;; count++) {
      const label = count === 1 ? base : `${short}-${count}`;
      if (this.#taken.has(label) || isDecided(`.svc.${label}`, this.#existing.rules)) continue;
      this.#taken.add(label);
      return label;
    }
  }
}

/**
 * A short label for a context: the cluster of `admin@prod` and `gke_project_zone_prod`, the name in an ARN, the host
 * of OpenShift's `shop/api-prod-example-com:6443/me`.
 */
export function shortLabel(context: string): string {
  const openShift = /^[^/]*\/([a-z0-9-]+):[0-9]+\/.+$/i.exec(context)?.[1]?.replace(/^api-/, "");
  const gke = /^gke_[^_]+_[^_]+_(.+)$/.exec(context)?.[1];
  const arn = /^arn:.*[:/]([^:/]+)$/.exec(context)?.[1];
  const atCluster = /^[^@]+@(.+)$/.exec(context)?.[1];
  const label = (openShift ?? gke ?? arn ?? atCluster ?? context).toLowerCase()
    .replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40).replace(/-+$/, "");
  return label === "" ? "cluster" : /^[0-9]+$/.test(label) ? `cluster-${label}` : label;
}
