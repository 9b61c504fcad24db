import type { Schema } from "./schema.ts";

/** A configuration as it was written, with everything secret replaced by `***`. */
export function masked(value: unknown, schema: Schema<unknown>): unknown {
  return schema.mask ? schema.mask(value) : value;
}
