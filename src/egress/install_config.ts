import { asMapping, asText, isMapping, type Mapping } from "../config/mod.ts";
import { type PlatformFacts, readInstallFacts } from "./platform_facts.ts";
import { isWithoutProxy, type ProxySpec, readProxySpec, type SpecProblem } from "./proxy_spec.ts";

/** What an install-config says of the proxy and of the cluster that is to be. */
export interface InstallConfig {
  readonly spec: ProxySpec;
  /** Fields of another type, by their place in the install-config. */
  readonly problems: readonly SpecProblem[];
  readonly facts: PlatformFacts;
  /** Certificates to trust, as they stand there. */
  readonly trustBundle: string | undefined;
  /** Where no proxy can be: the networks of pods, of Services and of the links between nodes. */
  readonly clusterNetworks: readonly string[];
}

/** The ConfigMap that the installer puts the certificates of an install-config into. */
export const installedCaName = "user-ca-bundle";

/** What the installer takes where nothing is written. */
const defaults = {
  clusterNetwork: "10.128.0.0/14",
  serviceNetwork: "172.30.0.0/16",
  machineNetwork: "10.0.0.0/16",
  joinNetworks: ["100.64.0.0/16", "fd98::/64"],
} as const;

/** The platforms of an install-config by the names that a cluster has for them. */
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

/** Reads an install-config that was parsed already; `ca` stands in the place of its certificates. */
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

/** `api-int.NAME.DOMAIN`; empty where one of the two is missing, for the list to complain of. */
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
