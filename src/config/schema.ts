import type { Context } from "./context.ts";
import { maskedUrl } from "./masked_url.ts";

/** A JSON Schema (2020-12) or a part of one. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Where schemas that contain themselves put their definition. */
export interface JsonDefinitions {
  /** The `$ref` to the definition of `owner`, made at its first use. */
  reference(owner: object, make: () => JsonSchema): JsonSchema;
}

/** The kinds of value that a YAML document is made of. */
export type Shape = "text" | "number" | "flag" | "empty" | "list" | "mapping";

/** Turns an unknown value into a typed one, or reports everything that is wrong with it. */
export interface Schema<T> {
  /** The typed value; undefined after an error was reported. */
  parse(value: unknown, context: Context): T | undefined;
  json(definitions?: JsonDefinitions): JsonSchema;
  /** The key may be left out. */
  readonly optional?: true;
  /** What stands for a key that was left out. */
  readonly fallback?: T;
  /** What a value must be, to be read after "must be": `a port from 0 to 65535`. */
  readonly expects?: string;
  /** The only shapes that can be right; any when absent. */
  readonly shapes?: readonly Shape[];
  readonly description?: string;
  /** The value must not appear in any message. */
  readonly isSecret?: true;
  /** A value as it was written, with its secrets hidden; no secrets in it when absent. */
  mask?(value: unknown): unknown;
  /** How a person writes this value, where that differs from the value. */
  write?(value: unknown): unknown;
}

/** An optional schema without fallback: the key is missing from the settings too. */
export interface Omittable<T> extends Schema<T> {
  readonly optional: true;
  readonly fallback?: never;
}

/** The type of the values that a schema gives. */
export type Infer<S> = S extends Schema<infer T> ? T : never;

/** The same schema with some of its members replaced. */
export function derived<T>(schema: Schema<T>, changes: Partial<Schema<T>>): Schema<T> {
  return {
    ...schema,
    parse: (value, context) => schema.parse(value, context),
    json: (definitions) => schema.json(definitions),
    ...changes,
  };
}

/** Which of the shapes a value has. */
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

/** A value as messages show it: short, on one line, containers by their kind only. */
export function shown(value: unknown): string {
  switch (shapeOf(value)) {
    case "empty":
      return "empty";
    case "list":
      return "a list";
    case "mapping":
      return "a mapping";
    case "text": {
      // A URL may stand anywhere by mistake, and have a password in it.
      const text = maskedUrl(String(value));
      return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
    }
    default:
      return String(value);
  }
}

/** Reports that a value is not what it must be; gives undefined so that `return mustBe(…)` reads well. */
export function mustBe(expects: string, value: unknown, context: Context): undefined {
  context.report(`must be ${expects}: current value is ${shown(value)}`);
}

/** Whether an error was reported since there were `before` problems; warnings do not count. */
export function hasErrorSince(context: Context, before: number): boolean {
  for (let i = before; i < context.problems.length; i++) {
    if (context.problems[i]?.severity !== "warning") return true;
  }
  return false;
}

/** A list in a sentence: `a, b or c`. */
export function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
