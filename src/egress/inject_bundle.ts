import { isMapping } from "../config/mod.ts";
import { bundleKey } from "./ca_bundle.ts";

/** The label that requests the bundle; its value must be `true`. */
export const injectBundleLabel = "config.openshift.io/inject-trusted-cabundle";

/** Whether a ConfigMap requests the bundle. */
export function wantsBundle(configMap: unknown): boolean {
  const metadata = isMapping(configMap) ? configMap["metadata"] : undefined;
  const labels = isMapping(metadata) ? metadata["labels"] : undefined;
  return isMapping(labels) && labels[injectBundleLabel] === "true";
}

/**
 * The server-side apply that puts the bundle into a ConfigMap; it touches only our key. Undefined when the
 * ConfigMap already has the bundle or does not request it (an injected bundle stays).
 */
export function bundleInjection(
  configMap: unknown,
  bundle: string,
): Readonly<Record<string, unknown>> | undefined {
  if (!isMapping(configMap) || !wantsBundle(configMap)) return undefined;
  const { metadata, data } = configMap;
  if (!isMapping(metadata) || (isMapping(data) && data[bundleKey] === bundle)) return undefined;
  const { name, namespace } = metadata;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace },
    data: { [bundleKey]: bundle },
  };
}
