import { isMapping } from "../config/mod.ts";
import { bundleKey } from "./ca_bundle.ts";

/** The label that asks for the bundle; only with the text `true`. */
export const injectBundleLabel = "config.openshift.io/inject-trusted-cabundle";

/** Whether a ConfigMap asks for the bundle. */
export function wantsBundle(configMap: unknown): boolean {
  const metadata = isMapping(configMap) ? configMap["metadata"] : undefined;
  const labels = isMapping(metadata) ? metadata["labels"] : undefined;
  return isMapping(labels) && labels[injectBundleLabel] === "true";
}

/**
 * What to apply so that a ConfigMap has the bundle: our one key and nothing else, for a server-side apply that leaves
 * all others alone. Undefined where it has it already or did not ask (what was injected stays).
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
