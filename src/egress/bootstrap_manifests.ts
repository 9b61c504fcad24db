import { bundleKey } from "./ca_bundle.ts";
import { installedCaName } from "./install_config.ts";
import type { ProxySpec, ProxyStatus } from "./proxy_spec.ts";

/** What a cluster begins with. */
export interface BootstrapParts {
  readonly spec: ProxySpec;
  readonly status: ProxyStatus;
  /** The certificates to trust, in PEM, where there are some. */
  readonly trustBundle: string | undefined;
  /** They and the system's. */
  readonly merged: string;
}

/** The objects that a cluster begins with: the proxy with spec and status, its CA, the merged bundle. */
export function bootstrapManifests({ spec, status, trustBundle, merged }: BootstrapParts): unknown[] {
  const configMap = (namespace: string, name: string, text: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace },
    data: { [bundleKey]: text },
  });
  return [
    {
      apiVersion: "config.openshift.io/v1",
      kind: "Proxy",
      metadata: { name: "cluster" },
      spec: { ...spec, trustedCA: spec.trustedCA ?? { name: "" } },
      status,
    },
    ...(trustBundle === undefined ? [] : [configMap("openshift-config", installedCaName, trustBundle)]),
    configMap("openshift-config-managed", "trusted-ca-bundle", merged),
  ];
}

/** The environment file of a node's services, with the variables that are not empty. */
export function environmentFile({ httpProxy, httpsProxy, noProxy }: ProxyStatus): string {
  const variables = [["HTTP_PROXY", httpProxy], ["HTTPS_PROXY", httpsProxy], ["NO_PROXY", noProxy]] as const;
  return variables.filter(([, value]) => value !== "").map(([name, value]) => `${name}=${quoted(value)}\n`)
    .join("");
}

/** As systemd reads such a file (systemd.exec, EnvironmentFile); a percent sign is itself there. */
function quoted(value: string): string {
  if (/^[A-Za-z0-9_.,:/@%~+*=?&[\]-]*$/.test(value)) return value;
  return `"${value.replace(/["\\`$]/g, "\\$&")}"`;
}
