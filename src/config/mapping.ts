import { isMapping } from "./schema.ts";

// What an object of JSON or YAML has where it should: what is of another type counts as missing.

export type Mapping = Readonly<Record<string, unknown>>;

const nothing: Mapping = {};

export function asMapping(value: unknown): Mapping {
  return isMapping(value) ? value : nothing;
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text that is not empty. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
