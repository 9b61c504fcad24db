export * from "./closest.ts";
export * from "./collections.ts";
export * from "./context.ts";
export * from "./document.ts";
export * from "./duration.ts";
export * from "./file.ts";
export * from "./json_schema.ts";
export * from "./listen_address.ts";
export * from "./masked.ts";
export * from "./masked_url.ts";
export * from "./modifiers.ts";
export * from "./problems.ts";
export * from "./record.ts";
export * from "./scalars.ts";
export {
  type Infer,
  isMapping,
  type JsonDefinitions,
  type JsonSchema,
  type Omittable,
  type Schema,
  type Shape,
} from "./schema.ts";
export * from "./url.ts";
