import { asMapping, asText, isMapping, type Mapping } from "../config/mod.ts";
import { type PlatformFacts, readInstallFacts } from "./platform_facts.ts";
import { isWithoutProxy, type ProxySpec, readProxySpec, type SpecProblem } from "./proxy_spec.ts";

/** The facts in an install-config about the proxy and the future cluster. */
export interface InstallConfig {
  readonly spec: ProxySpec;
  /** Fields with a wrong type, with their paths in the install-config. */
  readonly problems: readonly SpecProblem[];
  readonly facts: PlatformFacts;
  /** The certificates to trust, unparsed. */
  readonly trustBundle: string | undefined;
  /** The pod, Service and inter-node networks. A proxy cannot have an address there. */
  readonly clusterNetworks: readonly string[];
}

/** The ConfigMap in which the installer stores an install-config's certificates. */
export const installedCaName = "user-ca-bundle";

const defaults = {
  clusterNetwork: "10.128.0.0/14",
  serviceNetwork: "172.30.0.0/16",
  machineNetwork: "10.0.0.0/16",
  joinNetworks: ["100.64.0.0/16", "fd98::/64"],
} as const;

/** Maps an install-config's platform to the cluster's name for it. */
const platforms: Readonly<Record<string, string>> = {
  aws: "AWS",
  azure: "Azure",
  baremetal: "BareMetal",
  external: "External",
  gcp: "GCP",
  ibmcloud: "IBMCloud",
  none: "None",
  nutanix: "Nutanix",
  openstack: "OpenStack",
  powervs: "PowerVS",
  vsphere: "VSphere",
};

/** Reads a parsed install-config; `ca` replaces its certificates. */
export function readInstallConfig(
  config: unknown,
  { ca }: { readonly ca?: string | undefined } = {},
): InstallConfig {
  const fields = isMapping(config) ? config : {};
  const networking = asMapping(fields["networking"]);
  const serviceNetworks = textsOr(networking["serviceNetwork"], defaults.serviceNetwork);
  const clusterNetworks = cidrsOr(networking["clusterNetwork"], defaults.clusterNetwork);
  const hasMachines = networking["machineCIDR"] !== undefined || networking["machineNetwork"] !== undefined;
  const install = readInstallFacts(config);
  const { spec: written, problems } = readProxySpec(fields["proxy"]);
  const bundle = ca ?? fields["additionalTrustBundle"];
  const trustBundle = typeof bundle === "string" && bundle !== "" ? bundle : undefined;
  const isWired = !isWithoutProxy(written) || fields["additionalTrustBundlePolicy"] === "Always";
  return {
    spec: {
      ...written,
      ...(trustBundle !== undefined && isWired && { trustedCA: { name: installedCaName } }),
    },
    problems: problems.map((problem) => ({ ...problem, path: ["proxy", ...problem.path.slice(1)] })),
    facts: {
      infrastructure: {
        internalApi: internalApi(fields),
        isHosted: false,
        ...platformOf(asMapping(fields["platform"])),
      },
      network: { serviceNetworks, clusterNetworks },
      install: hasMachines ? install : { ...install, machineNetworks: [defaults.machineNetwork] },
    },
    trustBundle,
    clusterNetworks: [
      ...clusterNetworks,
      ...serviceNetworks,
      ...install.joinNetworks ?? defaults.joinNetworks,
    ],
  };
}

/** `https://api-int.NAME.DOMAIN:6443`; empty when a part is missing, which the list reports. */
function internalApi(fields: Mapping): string {
  const name = asText(asMapping(fields["metadata"])["name"]) ?? "";
  const domain = asText(fields["baseDomain"]) ?? "";
  return name === "" || domain === "" ? "" : `https://api-int.${name}.${domain}:6443`;
}

function platformOf(platform: Mapping): Pick<PlatformFacts["infrastructure"], "platform" | "aws" | "azure"> {
  const [key] = Object.keys(platform);
  if (key === undefined) return {};
  const settings = asMapping(platform[key]);
  const name = platforms[key] ?? key;
  if (name === "AWS") return { platform: name, aws: { region: asText(settings["region"]) ?? "" } };
  if (name !== "Azure") return { platform: name };
  const cloudName = asText(settings["cloudName"]) ?? "AzurePublicCloud";
  return { platform: name, azure: { cloudName, armEndpoint: asText(settings["armEndpoint"]) ?? "" } };
}

function textsOr(value: unknown, standard: string): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.length === 0 ? [standard] : items.map((item) => asText(item) ?? "");
}

function cidrsOr(value: unknown, standard: string): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.length === 0 ? [standard] : items.map((item) => asText(asMapping(item)["cidr"]) ?? "");
}
