import type { KubeApi } from "../api/kube_api.ts";
import { asList, asMapping, asText, type Mapping } from "../../config/mod.ts";
import { formatIp, parseIp, PosternError, unmapped } from "../../words/mod.ts";

/** The networks and namespaces of a cluster. Each part is absent if the user may not read it. */
export interface Survey {
  /** The uid of the namespace kube-system, which distinguishes clusters that had the same address. */
  readonly uid?: string | undefined;
  readonly namespaces?: readonly string[] | undefined;
  /** Example: `10.96.0.0/16`. */
  readonly serviceNetworks?: readonly string[] | undefined;
  readonly podNetworks?: readonly string[] | undefined;
  /** Addresses of nodes, in canonical form. */
  readonly nodes?: readonly string[] | undefined;
}

/** The maximum number of pages of a list, and the objects per page; node objects are large. */
const mostPages = 50;
const pageOf = { namespaces: 500, nodes: 100, servicecidrs: 100 };

/** Reads the cluster's own networks and namespaces; leaves out the parts that the API server refuses. */
export async function surveyCluster(
  api: Pick<KubeApi, "json">,
  { signal }: { readonly signal: AbortSignal },
): Promise<Survey> {
  const [namespaces, nodes, cidrs] = await Promise.all([
    listed(api, "/api/v1/namespaces", pageOf.namespaces, signal),
    listed(api, "/api/v1/nodes", pageOf.nodes, signal),
    listed(api, "/apis/networking.k8s.io/v1/servicecidrs", pageOf.servicecidrs, signal),
  ]);
  const system = namespaces?.find((one) => nameOf(one) === "kube-system") ??
    await one(api, "/api/v1/namespaces/kube-system", signal);
  return {
    uid: asText(asMapping(system?.["metadata"])["uid"]),
    namespaces: namespaces?.flatMap((one) => nameOf(one) ?? []),
    serviceNetworks: cidrs?.flatMap((one) =>
      asList(asMapping(one["spec"])["cidrs"]).flatMap((cidr) => asText(cidr) ?? [])
    ),
    podNetworks: nodes?.flatMap(podNetworksOf),
    nodes: nodes?.flatMap(addressesOf),
  };
}

function podNetworksOf(node: Mapping): string[] {
  const spec = asMapping(node["spec"]);
  const all = asList(spec["podCIDRs"]).flatMap((cidr) => asText(cidr) ?? []);
  return all.length > 0 ? all : [spec["podCIDR"]].flatMap((cidr) => asText(cidr) ?? []);
}

function addressesOf(node: Mapping): string[] {
  return asList(asMapping(node["status"])["addresses"]).flatMap((entry) => {
    const bytes = parseIp(asText(asMapping(entry)["address"]) ?? "");
    return bytes ? [formatIp(unmapped(bytes))] : [];
  });
}

/** All objects of a list; undefined if the server does not know or does not allow it. */
async function listed(
  api: Pick<KubeApi, "json">,
  path: string,
  limit: number,
  signal: AbortSignal,
): Promise<Mapping[] | undefined> {
  const objects: Mapping[] = [];
  let next = "";
  for (let page = 0; page < mostPages; page++) {
    const query = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
    const answer = await one(api, `${path}?limit=${limit}${query}`, signal);
    if (!answer) return undefined;
    objects.push(...asList(answer["items"]).map(asMapping));
    next = asText(asMapping(answer["metadata"])["continue"]) ?? "";
    if (next === "") break;
  }
  return objects;
}

async function one(
  api: Pick<KubeApi, "json">,
  path: string,
  signal: AbortSignal,
): Promise<Mapping | undefined> {
  try {
    return asMapping(await api.json({ path }, { signal }));
  } catch (error) {
    signal.throwIfAborted();
    // Most users may not list nodes, and API servers before 1.33 have no ServiceCIDRs; postern then
    // estimates.
    const isMissing = error instanceof PosternError &&
      (error.code === "not_allowed" || error.code === "name_not_found");
    if (!isMissing) throw error;
    return undefined;
  }
}

function nameOf(object: Mapping): string | undefined {
  return asText(asMapping(object["metadata"])["name"]);
}
