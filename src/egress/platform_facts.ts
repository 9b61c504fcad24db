import { isMapping, type Mapping } from "../config/mod.ts";

/** What a cluster says of itself, as far as the automatic list needs it. */
export interface PlatformFacts {
  readonly infrastructure: InfrastructureFacts;
  readonly network: NetworkFacts;
  readonly install: InstallFacts;
}

/** Of `Infrastructure/cluster`, its status. */
export interface InfrastructureFacts {
  /** The URL of the API server inside of the cluster. */
  readonly internalApi: string;
  /** `AWS`, `Azure`, `GCP`, `OpenStack`, `BareMetal`, `VSphere`, `None` and others; absent where the status has none. */
  readonly platform?: string | undefined;
  /** Absent where the status has no part of its own for AWS. */
  readonly aws?: { readonly region: string };
  readonly azure?: { readonly cloudName: string; readonly armEndpoint: string };
  /** Where etcd's names are, as clusters said it once. */
  readonly etcdDomain?: string;
  /** The control plane runs in another cluster. */
  readonly isHosted: boolean;
}

/** Of `Network/cluster`, its status. */
export interface NetworkFacts {
  readonly serviceNetworks: readonly string[];
  readonly clusterNetworks: readonly string[];
}

/** Of the install-config: what machines there are. */
export interface InstallFacts {
  /** The former field with one network. */
  readonly machineCidr?: string;
  readonly machineNetworks: readonly string[];
  readonly controlPlaneReplicas?: number;
  /** Networks of the links between nodes, which no proxy may lie in. */
  readonly joinNetworks?: readonly string[];
}

/** Reads `Infrastructure/cluster`, whatever it holds: what is missing is for the list to complain of. */
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

/** Reads an install-config that was parsed already: the text of its YAML is for `parseDocument`. */
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

/** The `cidr` of each item; an item without one is an empty text, so that it can be complained of. */
function cidrs(value: unknown): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.map((item) => isMapping(item) ? textOf(item, "cidr") : "");
}
