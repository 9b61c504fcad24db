import type { Context } from "./context.ts";
import { maskedUrl } from "./masked_url.ts";

/** A JSON Schema (2020-12) or a part of one. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The definitions of recursive schemas. */
export interface JsonDefinitions {
  /** The `$ref` to the definition of `owner`, which the first call creates. */
  reference(owner: object, make: () => JsonSchema): JsonSchema;
}

/** The kinds of value that a YAML document is made of. */
export type Shape = "text" | "number" | "flag" | "empty" | "list" | "mapping";

/** Converts an unknown value to a typed value, or reports all its problems. */
export interface Schema<T> {
  /** The typed value; undefined after a reported error. */
  parse(value: unknown, context: Context): T | undefined;
  json(definitions?: JsonDefinitions): JsonSchema;
  /** The key may be missing. */
  readonly optional?: true;
  /** The default of a missing key. */
  readonly fallback?: T;
  /** A description of valid values, for use after "must be": `a port from 0 to 65535`. */
  readonly expects?: string;
  /** The shapes of valid values; undefined allows all. */
  readonly shapes?: readonly Shape[];
  readonly description?: string;
  /** Messages must not contain the value. */
  readonly isSecret?: true;
  /** Masks the secrets of a written value; undefined if the schema has none. */
  mask?(value: unknown): unknown;
  /** The written form of a value, if it differs from the value. */
  write?(value: unknown): unknown;
}

/** An optional schema without fallback: the settings may lack the key too. */
export interface Omittable<T> extends Schema<T> {
  readonly optional: true;
  readonly fallback?: never;
}

/** The type of a schema's values. */
export type Infer<S> = S extends Schema<infer T> ? T : never;

/** A copy of a schema with some members replaced. */
export function derived<T>(schema: Schema<T>, changes: Partial<Schema<T>>): Schema<T> {
  return {
    ...schema,
    parse: (value, context) => schema.parse(value, context),
    json: (definitions) => schema.json(definitions),
    ...changes,
  };
}

export function shapeOf(value: unknown): Shape | undefined {
  if (value === null || value === undefined) return "empty";
  if (Array.isArray(value)) return "list";
  switch (typeof value) {
    case "string":
      return "text";
    case "number":
    case "bigint":
      return "number";
    case "boolean":
      return "flag";
    case "object":
      return "mapping";
    default:
      return undefined;
  }
}

/** Whether a value is a mapping; lists and null are not. */
export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return shapeOf(value) === "mapping";
}

/** A value for messages: short, on one line, containers by their kind only. */
export function shown(value: unknown): string {
  switch (shapeOf(value)) {
    case "empty":
      return "empty";
    case "list":
      return "a list";
    case "mapping":
      return "a mapping";
    case "text": {
      // Any value may be a misplaced URL with a password.
      const text = maskedUrl(String(value));
      return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
    }
    default:
      return String(value);
  }
}

/** Reports an invalid value; returns undefined so that callers can write `return mustBe(…)`. */
export function mustBe(expects: string, value: unknown, context: Context): undefined {
  context.report(`must be ${expects}: current value is ${shown(value)}`);
}

/** Whether an error was reported after the first `before` problems; warnings do not count. */
export function hasErrorSince(context: Context, before: number): boolean {
  for (let i = before; i < context.problems.length; i++) {
    if (context.problems[i]?.severity !== "warning") return true;
  }
  return false;
}

/** Joins words for a sentence: `a, b or c`. */
export function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
