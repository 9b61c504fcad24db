import { type IpBytes, parseIp } from "../words/mod.ts";
import { addressOf, comparableHost } from "./host.ts";
import { isInside } from "./network_tree.ts";

/** A network for `isInside`. */
export interface IpNetwork {
  readonly bytes: IpBytes;
  readonly bits: number;
}

/**
 * Networks that clusters use for Services and pods: RFC 1918, 6598 and 4193, GKE's ranges for Services, and
 * ranges without public hosts. A cluster that postern has not reached yet may own any of their addresses.
 */
export const clusterNetworks: readonly IpNetwork[] = [
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["100.64.0.0", 10],
  ["34.118.224.0", 20],
  ["198.18.0.0", 15],
  ["240.0.0.0", 4],
  ["fc00::", 7],
].map(([address, bits]) => ({ bytes: parseIp(`${address}`) ?? new Uint8Array(), bits: Number(bits) }));

/** Last labels of names on this machine or its local network. */
export const localDomains: readonly string[] = "localhost local lan home internal box arpa".split(" ");

/**
 * Top-level domains under which a name of two labels counts as public. The list omits those that are also
 * common names of namespaces: dev, app, shop, cloud, and with two letters ci, qa, ai, io, cd, ml, pr, ms, hr,
 * id.
 */
export const publicDomains: readonly string[] =
  ("com net org edu gov mil int info biz ar at au be bg br ca ch cl " +
    "cn co cz de dk ee es eu fi fr gr hk hu ie il in is it " +
    "jp kr li lt lu lv mx my nl no nz pl pt ro rs ru se sg " +
    "si sk th tr tw ua uk us za").split(" ");

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Returns the labels of a name that may be a Service or a pod: one to three; undefined for any other name.
 */
export function clusterLabels(name: string): readonly string[] | undefined {
  // Runs for every name without a rule, so count the dots before allocating.
  let dots = 0;
  for (let at = name.indexOf("."); at >= 0; at = name.indexOf(".", at + 1)) if (++dots > 2) return undefined;
  const labels = name.split(".");
  return labels.every((one) => label.test(one)) ? labels : undefined;
}

/** Whether a name may belong to a cluster that is not known yet. */
export function mayBeClusterName(labels: readonly string[]): boolean {
  const last = labels.at(-1) ?? "";
  if (labels.length > 2 || localDomains.includes(last)) return false;
  return labels.length === 1 || !(publicDomains.includes(last) || last.startsWith("xn--"));
}

/** Whether an address may belong to a cluster that is not known yet. */
export function mayBeClusterAddress(address: IpBytes): boolean {
  return clusterNetworks.some((network) =>
    network.bytes.length === address.length && isInside(address, network)
  );
}

/** Whether a host may belong to a cluster that is not known yet. */
export function mayBeOfCluster(host: string): boolean {
  const name = comparableHost(host);
  const address = addressOf(name);
  if (address) return mayBeClusterAddress(address);
  const labels = clusterLabels(name);
  return labels !== undefined && mayBeClusterName(labels);
}
