import { formatIp, parseIp, PosternError, unmapped } from "../../words/mod.ts";
import type {
  ClusterView,
  EndpointRecord,
  ServicePortRecord,
  ServiceRecord,
  SliceRecord,
} from "../api/cluster_view.ts";
import { dashedAddress } from "./service_names.ts";

/** A port of a pod, where a forward can end. */
export interface PodPlace {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** A requested port of a Service. */
export interface ServiceAsk {
  /** The number from the client, or the port's name from the host. */
  readonly port: number | { readonly name: string };
  /** Only this endpoint. */
  readonly endpoint?: string | undefined;
}

/**
 * All ready places of a Service for a request; throws the reason if there are none. Uses only objects in
 * memory.
 */
export function podPlacesOf(
  service: ServiceRecord,
  { port, endpoint }: ServiceAsk,
  { view, cluster }: { readonly view: Pick<ClusterView, "endpoints">; readonly cluster: string },
): readonly PodPlace[] {
  const slices = view.endpoints(service.namespace, service.name);
  const wanted = portOf(service, port, { cluster, mayBeAny: service.isHeadless && typeof port === "number" });
  const places = new Map<string, PodPlace>();
  let notReady = 0;
  let strangers = 0;
  let portless = 0;
  let isKnown = false;
  for (const slice of slices) {
    const number = portIn(slice, wanted, port);
    if (number === undefined) {
      portless += slice.endpoints.length;
      continue;
    }
    for (const one of slice.endpoints) {
      if (endpoint !== undefined && !isCalled(one, endpoint)) continue;
      isKnown = true;
      if (!isTaken(one, service)) notReady++;
      else if (one.pod === undefined) strangers++;
      // A dual-stack pod is in one slice per family.
      else places.set(`${one.pod}:${number}`, { namespace: service.namespace, pod: one.pod, port: number });
    }
  }
  if (places.size > 0) return [...places.values()];
  const what = `the Service ${service.namespace}/${service.name} of ${cluster}`;
  if (endpoint !== undefined && !isKnown) {
    throw new PosternError("name_not_found", `Cannot find the endpoint "${endpoint}" of ${what}`);
  }
  if (strangers > 0) {
    throw new PosternError(
      "unreachable",
      `Cannot reach ${what}: its endpoints are not pods, and postern can forward only to pods`,
    );
  }
  const why = notReady > 0
    ? `${notReady} not ready`
    : portless > 0 && wanted
    ? `no pod has the port ${JSON.stringify(wanted.targetPort)}`
    : service.hasSelector
    ? "no pod matches"
    : "the Service has no endpoints";
  throw new PosternError("unreachable", `Cannot reach ${what}: no ready endpoint (${why})`, {
    hint: `check its pods: kubectl get pods,endpointslices -n ${service.namespace}`,
  });
}

/**
 * The requested port of a Service. Undefined if any port is allowed: clients connect directly to the pods of
 * a headless Service.
 */
function portOf(
  { namespace, name, ports }: ServiceRecord,
  asked: ServiceAsk["port"],
  { cluster, mayBeAny }: { readonly cluster: string; readonly mayBeAny: boolean },
): ServicePortRecord | undefined {
  const isAsked = (port: ServicePortRecord) =>
    typeof asked === "number" ? port.port === asked : port.name === asked.name;
  const found = ports.filter(isAsked);
  const tcp = found.find(({ protocol }) => protocol === "TCP");
  if (tcp || (mayBeAny && found.length === 0)) return tcp;
  const what = `the Service ${namespace}/${name} of ${cluster}`;
  const shown = typeof asked === "number" ? `port ${asked}` : `the port "${asked.name}"`;
  const [other] = found;
  if (other) {
    throw new PosternError(
      "not_allowed",
      `Cannot reach ${shown} of ${what}: it is a ${other.protocol} port`,
      {
        detail: "command",
        hint: "choose a TCP port; postern cannot forward other protocols",
      },
    );
  }
  const has = ports.map(({ name, port, protocol }) =>
    `${port}${protocol === "TCP" ? "" : `/${protocol}`}${name === "" ? "" : ` (${name})`}`
  ).join(", ");
  throw new PosternError(
    "refused",
    `Cannot reach ${shown} of ${what}: it has ${has === "" ? "no port" : has}`,
  );
}

/** The number of the requested port at a slice's endpoints; undefined if they do not have it. */
function portIn(
  { ports, addressType }: SliceRecord,
  wanted: ServicePortRecord | undefined,
  asked: ServiceAsk["port"],
): number | undefined {
  if (addressType === "FQDN") return undefined;
  if (!wanted) return typeof asked === "number" ? asked : undefined;
  const found = ports.find(({ name, protocol }) => name === wanted.name && protocol === "TCP");
  return found && (found.port ?? (typeof asked === "number" ? asked : wanted.port));
}

function isTaken({ isReady }: EndpointRecord, { publishesNotReady }: ServiceRecord): boolean {
  return isReady || publishesNotReady;
}

function isCalled({ hostname, pod, addresses }: EndpointRecord, name: string): boolean {
  if (hostname === name || pod === name) return true;
  const ip = dashedAddress(name);
  return ip !== undefined && addresses.some((address) => {
    const bytes = parseIp(address);
    return bytes !== undefined && formatIp(unmapped(bytes)) === ip;
  });
}
