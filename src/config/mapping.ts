import { isMapping } from "./schema.ts";

// Typed access to JSON or YAML objects: a value of another type counts as missing.

export type Mapping = Readonly<Record<string, unknown>>;

const nothing: Mapping = {};

export function asMapping(value: unknown): Mapping {
  return isMapping(value) ? value : nothing;
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A non-empty string. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
