import { asMapping, asText, isMapping } from "../../config/mod.ts";
import { type KubeObject, ownersOf } from "../../kube/mod.ts";
import { injectedAnnotation, injectProxyAnnotation } from "../inject_proxy.ts";
import { fieldManager } from "./kinds.ts";

/** The other manager of a field; undefined when there is none. */
export function foreignOwner(object: KubeObject, path: readonly string[]): string | undefined {
  return ownersOf(object, path).find(({ name }) => name !== fieldManager)?.name;
}

/** `metadata.uid` identifies the object, `metadata.resourceVersion` its state. */
export function uidOf(object: KubeObject): string {
  return metaText(object, "uid");
}

export function versionOf(object: KubeObject): string {
  return metaText(object, "resourceVersion");
}

function metaText({ metadata }: KubeObject, key: string): string {
  return asText(asMapping(metadata)[key]) ?? "";
}

/** Whether a workload requests the proxy's variables or still has ours. */
export function isAskedFor({ metadata }: KubeObject): boolean {
  const annotations = isMapping(metadata) ? metadata["annotations"] : undefined;
  if (!isMapping(annotations)) return false;
  return Object.hasOwn(annotations, injectProxyAnnotation) || Object.hasOwn(annotations, injectedAnnotation);
}
