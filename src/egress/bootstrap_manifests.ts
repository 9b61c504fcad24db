import { bundleKey } from "./ca_bundle.ts";
import { installedCaName } from "./install_config.ts";
import type { ProxySpec, ProxyStatus } from "./proxy_spec.ts";

/** The input of a cluster's first objects. */
export interface BootstrapParts {
  readonly spec: ProxySpec;
  readonly status: ProxyStatus;
  /** The certificates to trust, in PEM; undefined when there are none. */
  readonly trustBundle: string | undefined;
  /** The trust bundle merged with the system's certificates. */
  readonly merged: string;
}

/** A new cluster's objects: the proxy with spec and status, its CA, the merged bundle. */
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

/** The environment file for a node's services, without empty variables. */
export function environmentFile({ httpProxy, httpsProxy, noProxy }: ProxyStatus): string {
  const variables = [["HTTP_PROXY", httpProxy], ["HTTPS_PROXY", httpsProxy], ["NO_PROXY", noProxy]] as const;
  return variables.filter(([, value]) => value !== "").map(([name, value]) => `${name}=${quoted(value)}\n`)
    .join("");
}

/** Quotes a value for systemd (systemd.exec, EnvironmentFile), which does not expand percent signs there. */
function quoted(value: string): string {
  if (/^[A-Za-z0-9_.,:/@%~+*=?&[\]-]*$/.test(value)) return value;
  return `"${value.replace(/["\\`$]/g, "\\$&")}"`;
}
