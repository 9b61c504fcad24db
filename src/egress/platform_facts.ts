import { isMapping, type Mapping } from "../config/mod.ts";

/** The facts about a cluster that the automatic list needs. */
export interface PlatformFacts {
  readonly infrastructure: InfrastructureFacts;
  readonly network: NetworkFacts;
  readonly install: InstallFacts;
}

/** From the status of `Infrastructure/cluster`. */
export interface InfrastructureFacts {
  /** The URL of the API server inside the cluster. */
  readonly internalApi: string;
  /**
   * `AWS`, `Azure`, `GCP`, `OpenStack`, `BareMetal`, `VSphere`, `None` and others; absent if the status has
   * none.
   */
  readonly platform?: string | undefined;
  /** Absent if the status has no AWS section. */
  readonly aws?: { readonly region: string };
  readonly azure?: { readonly cloudName: string; readonly armEndpoint: string };
  /** The domain of etcd's names, which old clusters report. */
  readonly etcdDomain?: string;
  /** Whether the control plane runs in another cluster. */
  readonly isHosted: boolean;
}

/** From the status of `Network/cluster`. */
export interface NetworkFacts {
  readonly serviceNetworks: readonly string[];
  readonly clusterNetworks: readonly string[];
}

/** From the install-config: the machines. */
export interface InstallFacts {
  /** The deprecated field for a single network. */
  readonly machineCidr?: string;
  readonly machineNetworks: readonly string[];
  readonly controlPlaneReplicas?: number;
  /** The networks between the nodes; no proxy may be there. */
  readonly joinNetworks?: readonly string[];
}

/** Reads `Infrastructure/cluster`; the list reports missing values. */
export function readInfrastructure(object: unknown): InfrastructureFacts {
  const status = part(object, "status");
  const platformStatus = part(status, "platformStatus");
  const platform = textOf(platformStatus, "type");
  const aws = part(platformStatus, "aws");
  const azure = part(platformStatus, "azure");
  const etcdDomain = textOf(status, "etcdDiscoveryDomain");
  return {
    internalApi: textOf(status, "apiServerInternalURI"),
    ...(platform !== "" && { platform }),
    ...(aws && { aws: { region: textOf(aws, "region") } }),
    ...(azure && {
      azure: { cloudName: textOf(azure, "cloudName"), armEndpoint: textOf(azure, "armEndpoint") },
    }),
    ...(etcdDomain !== "" && { etcdDomain }),
    isHosted: textOf(status, "controlPlaneTopology") === "External",
  };
}

/** Reads `Network/cluster`. */
export function readNetwork(object: unknown): NetworkFacts {
  const status = part(object, "status");
  return {
    serviceNetworks: texts(status?.["serviceNetwork"]),
    clusterNetworks: cidrs(status?.["clusterNetwork"]),
  };
}

/** Reads an install-config that `parseDocument` has parsed. */
export function readInstallFacts(config: unknown): InstallFacts {
  const networking = part(config, "networking");
  const machineCidr = textOf(networking, "machineCIDR");
  const replicas = part(config, "controlPlane")?.["replicas"];
  const ovn = part(part(networking, "ovnKubernetesConfig"), "ipv4");
  const join = textOf(ovn, "internalJoinSubnet");
  return {
    ...(machineCidr !== "" && { machineCidr }),
    machineNetworks: cidrs(networking?.["machineNetwork"]),
    ...(typeof replicas === "number" && { controlPlaneReplicas: replicas }),
    ...(join !== "" && { joinNetworks: [join] }),
  };
}

function part(value: unknown, key: string): Mapping | undefined {
  const inner = isMapping(value) ? value[key] : undefined;
  return isMapping(inner) ? inner : undefined;
}

function textOf(value: Mapping | undefined, key: string): string {
  const text = value?.[key];
  return typeof text === "string" ? text : "";
}

function texts(value: unknown): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.map((item) => typeof item === "string" ? item : "");
}

/** The `cidr` of each item; empty when missing, so that the list can report it. */
function cidrs(value: unknown): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.map((item) => isMapping(item) ? textOf(item, "cidr") : "");
}
