import { isMapping } from "../../config/mod.ts";
import type { KubeObject } from "./kube_objects.ts";

/** A manager that has written fields of an object. */
export interface FieldManager {
  readonly name: string;
  readonly subresource?: string;
}

/** The managers that own a field, from `managedFields`; the path is `data`, `ca-bundle.crt`. */
export function ownersOf(object: KubeObject, path: readonly string[]): FieldManager[] {
  const metadata = object["metadata"];
  const entries = isMapping(metadata) ? metadata["managedFields"] : undefined;
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry) => {
    if (!isMapping(entry) || typeof entry["manager"] !== "string") return [];
    if (!holds(entry["fieldsV1"], path)) return [];
    const { subresource } = entry;
    return [{ name: entry["manager"], ...(typeof subresource === "string" && { subresource }) }];
  });
}

function holds(fields: unknown, path: readonly string[]): boolean {
  let at: unknown = fields;
  for (const step of path) {
    if (!isMapping(at) || !Object.hasOwn(at, `f:${step}`)) return false;
    at = at[`f:${step}`];
  }
  return true;
}
