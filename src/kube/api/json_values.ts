import { isMapping } from "../../config/mod.ts";

// What an object of the API has where it should: what is of another type counts as missing.

export type Mapping = Readonly<Record<string, unknown>>;

const nothing: Mapping = {};

export function mapping(value: unknown): Mapping {
  return isMapping(value) ? value : nothing;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text that is not empty. */
export function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
