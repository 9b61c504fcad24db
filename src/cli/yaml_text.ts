import { stringify } from "yaml";

/** A value as YAML; lines are never folded, so that what is copied from them is whole. Loaded when it is asked for. */
export function yamlText(value: unknown): string {
  return stringify(value, { lineWidth: 0 });
}
