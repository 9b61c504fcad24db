import type { Schema } from "./schema.ts";

/** A written configuration with `***` for each secret. */
export function masked(value: unknown, schema: Schema<unknown>): unknown {
  return schema.mask ? schema.mask(value) : value;
}
