import { isWithoutProxy, type ProxySpec, type ProxyStatus } from "../proxy_spec.ts";
import { noProxyItems } from "./check_no_proxy.ts";
import { byBytes } from "./go_text.ts";
import { parseNetworkRange } from "./network_range.ts";
import type { InfrastructureFacts, PlatformFacts } from "../platform_facts.ts";
import { parseRequestUri } from "./request_uri.ts";

/** Changes to the platform's list; none by default. */
export interface AutomaticSettings {
  /** Also lists the names of etcd's members. */
  readonly etcdNames?: boolean;
  /** Automatic entries to leave out. */
  readonly exclude?: readonly string[];
  /** Leaves out the API server's internal name, for hosted control planes that reach it through the proxy. */
  readonly proxiesInternalApi?: boolean;
}

/** The automatic entries of a platform. */
export interface AutomaticNoProxy {
  /** Sorted, without duplicates. */
  readonly entries: readonly string[];
  /** Automatic entries that `exclude` removed. */
  readonly excluded: readonly string[];
  /** Why there is no list; `entries` is then empty. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** The automatic list of a platform, sorted by bytes, or a problem for every missing fact. */
export function automaticNoProxy(facts: PlatformFacts, settings: AutomaticSettings = {}): AutomaticNoProxy {
  const { infrastructure, network, install } = facts;
  const problems: string[] = [];
  const warnings: string[] = [];
  const found = { problems, warnings };
  const entries = new Set(["127.0.0.1", "localhost", ".svc", ".cluster.local"]);
  const add = (...items: string[]) => items.forEach((item) => entries.add(item));
  if (infrastructure.isHosted) add(".hypershift.local");
  add(...machineNetworks(install, found));
  if (!settings.proxiesInternalApi) add(...internalApi(infrastructure, found));
  add(...clusterNetworks(network, found));
  add(...platformEntries(infrastructure, found));
  if (settings.etcdNames) add(...etcdNames(facts, found));
  const excluded = [...entries].filter((entry) => settings.exclude?.includes(entry));
  for (const entry of settings.exclude ?? []) {
    if (!entries.has(entry)) {
      warnings.push(`exclude names ${JSON.stringify(entry)}, which is not an automatic entry`);
    }
  }
  for (const entry of excluded) entries.delete(entry);
  const isUsable = problems.length === 0;
  return { entries: isUsable ? [...entries].sort(byBytes) : [], excluded, problems, warnings };
}

/** The accepted values: all empty without a proxy; a no-proxy list `*` gets no automatic entries. */
export function acceptedStatus(spec: ProxySpec, automatic: readonly string[]): ProxyStatus {
  const { httpProxy = "", httpsProxy = "", noProxy = "" } = spec;
  if (isWithoutProxy(spec) || (httpProxy === "" && httpsProxy === "")) {
    return { httpProxy: "", httpsProxy: "", noProxy: "" };
  }
  return { httpProxy, httpsProxy, noProxy: mergedNoProxy(noProxy, automatic) };
}

/** The user's trimmed items and the automatic entries, sorted by bytes, without duplicates. */
export function mergedNoProxy(noProxy: string, automatic: readonly string[]): string {
  if (noProxy === "*") return "*";
  return [...new Set([...automatic, ...noProxyItems(noProxy)])].sort(byBytes).join(",");
}

interface Found {
  readonly problems: string[];
  readonly warnings: string[];
}

const everyIPv4 = "0.0.0.0/0";

function machineNetworks(
  { machineCidr = "", machineNetworks }: PlatformFacts["install"],
  found: Found,
): string[] {
  const kept = machineCidr === "" || machineCidr === everyIPv4 ? [] : [machineCidr];
  machineNetworks.forEach((cidr, index) => {
    if (parseNetworkRange(cidr)) {
      if (cidr !== everyIPv4) kept.push(cidr);
      return;
    }
    const what = cidr === "" ? "is empty" : `is not a network: ${JSON.stringify(cidr.slice(0, 100))}`;
    found.problems.push(`networking.machineNetwork[${index}] of the install-config ${what}`);
  });
  if (kept.some((cidr) => parseNetworkRange(cidr)?.bits === 0)) {
    found.warnings.push("with the machine network ::/0, every IPv6 address bypasses the proxy");
  }
  return kept;
}

function internalApi({ internalApi }: InfrastructureFacts, found: Found): string[] {
  const field = "status.apiServerInternalURI of Infrastructure/cluster";
  if (internalApi === "") {
    found.problems.push(`${field} is empty`);
    return [];
  }
  const uri = parseRequestUri(internalApi);
  const host = "problem" in uri ? "" : uri.host;
  // The operator adds an empty item here, which clients ignore.
  if (host === "") found.warnings.push(`${field} has no host: the no-proxy list lacks the internal API`);
  return [host];
}

function clusterNetworks(
  { serviceNetworks, clusterNetworks }: PlatformFacts["network"],
  found: Found,
): string[] {
  if (serviceNetworks.length === 0) {
    found.problems.push("status.serviceNetwork of Network/cluster is empty");
  }
  if (clusterNetworks.length === 0) {
    found.problems.push("status.clusterNetwork of Network/cluster is empty");
  }
  return [...serviceNetworks, ...clusterNetworks];
}

/** The metadata service of cloud providers. */
const metadataAddress = "169.254.169.254";

function platformEntries(infrastructure: InfrastructureFacts, found: Found): string[] {
  switch (infrastructure.platform) {
    case "AWS":
      return [metadataAddress, ...awsEntries(infrastructure, found)];
    case "Azure":
      return [metadataAddress, ...azureEntries(infrastructure, found)];
    case "GCP":
      return [metadataAddress, "metadata", "metadata.google.internal", "metadata.google.internal."];
    case "OpenStack":
      return [metadataAddress];
    default:
      return [];
  }
}

function awsEntries({ aws }: InfrastructureFacts, found: Found): string[] {
  if (!aws) {
    found.problems.push("status.platformStatus.aws of Infrastructure/cluster is missing");
    return [];
  }
  if (aws.region === "") {
    found.warnings.push("the AWS region is empty: the no-proxy list lacks the names of AWS instances");
  }
  return [aws.region === "us-east-1" ? ".ec2.internal" : `.${aws.region}.compute.internal`];
}

function azureEntries({ azure }: InfrastructureFacts, found: Found): string[] {
  if (!azure) {
    found.problems.push("status.platformStatus.azure of Infrastructure/cluster is missing");
    return [];
  }
  const { cloudName, armEndpoint } = azure;
  if (cloudName === "AzurePublicCloud") return [];
  const platform = "168.63.129.16";
  if (cloudName !== "AzureStackCloud" || armEndpoint === "") return [platform];
  found.warnings.push(
    "the no-proxy list contains the Azure Stack endpoint as a full URL, which no client matches",
  );
  return [platform, armEndpoint];
}

function etcdNames({ infrastructure, install }: PlatformFacts, found: Found): string[] {
  const uri = parseRequestUri(infrastructure.internalApi);
  const api = "problem" in uri ? "" : uri.host;
  const domain = infrastructure.etcdDomain ??
    (api.startsWith("api-int.") ? api.slice("api-int.".length) : "");
  if (domain === "") {
    found.warnings.push("etcdNames is set, but the domain of etcd's names is unknown");
    return [];
  }
  const count = Math.min(install.controlPlaneReplicas ?? 3, mostMembers);
  return Array.from({ length: count }, (_, index) => `etcd-${index}.${domain}`);
}

/** An upper limit; etcd has fewer members. */
const mostMembers = 99;
