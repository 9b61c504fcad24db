import { describe, PosternError } from "../words/mod.ts";
import type { Context } from "./context.ts";
import {
  alternatives,
  derived,
  hasErrorSince,
  type Infer,
  type JsonSchema,
  type Omittable,
  type Schema,
  shapeOf,
  shown,
} from "./schema.ts";

/** A key that may be missing; `fallback` is its default. */
export function optional<T>(schema: Schema<T>): Omittable<T>;
export function optional<T>(schema: Schema<T>, fallback: T): Schema<T>;
export function optional<T>(schema: Schema<T>, fallback?: T): Schema<T> {
  return derived(schema, {
    optional: true,
    ...(fallback !== undefined && { fallback }),
    parse: (value, context) => value === undefined ? fallback : schema.parse(value, context),
    json: (definitions): JsonSchema => ({
      ...schema.json(definitions),
      ...(fallback !== undefined && { default: schema.write?.(fallback) ?? fallback }),
    }),
  });
}

/** The first schema that accepts the value. Schemas of different shapes report their specific messages. */
export function either<const A extends readonly Schema<unknown>[]>(...schemas: A): Schema<Infer<A[number]>> {
  const choices: readonly Schema<unknown>[] = schemas;
  const expects = alternatives(choices.map((schema) => schema.expects ?? "another value"));
  const shapes = choices.every((schema) => schema.shapes)
    ? choices.flatMap((schema) => schema.shapes ?? [])
    : undefined;
  const isSecret = choices.some((schema) => schema.isSecret);
  const takers = (value: unknown) => {
    const shape = shapeOf(value);
    return choices.filter(({ shapes }) => !shapes || (shape !== undefined && shapes.includes(shape)));
  };
  return {
    expects,
    ...(shapes && { shapes }),
    ...(isSecret && { isSecret }),
    parse(value, context) {
      const fitting = takers(value);
      const [only] = fitting;
      if (only && fitting.length === 1) return only.parse(value, context) as Infer<A[number]> | undefined;
      for (const schema of fitting) {
        const trial = context.trial();
        const result = schema.parse(value, trial);
        if (result === undefined || hasErrorSince(trial, 0)) continue;
        context.problems.push(...trial.problems);
        return result as Infer<A[number]>;
      }
      context.report(`must be ${expects}${isSecret ? "" : `: current value is ${shown(value)}`}`);
      return undefined;
    },
    json: (definitions) => ({ anyOf: choices.map((schema) => schema.json(definitions)) }),
    // Masks what any matching schema masks.
    mask: (value) =>
      takers(value).reduce((masked, schema) => schema.mask ? schema.mask(masked) : masked, value),
  };
}

/** The maximum depth of recursive schemas. */
const deepest = 100;

/** A schema created at its first use, so that it can contain itself. */
export function lazy<T>(make: () => Schema<T>): Schema<T> {
  let made: Schema<T> | undefined;
  const schema = () => made ??= make();
  const self: Schema<T> = {
    parse(value, context) {
      if (context.depth <= deepest) return schema().parse(value, context);
      context.report(`is nested more than ${deepest} levels deep`);
      return undefined;
    },
    json: (definitions) => definitions?.reference(self, () => schema().json(definitions)) ?? {},
    mask: (value) => schema().mask?.(value) ?? value,
  };
  return self;
}

/** Adds a condition: `check` reports problems, or returns a message. */
export function refine<S extends Schema<unknown>>(
  schema: S,
  check: (value: Infer<S>, context: Context) => string | undefined | void,
): S {
  const inner = schema as Schema<Infer<S>>;
  const refined: Schema<Infer<S>> = derived(inner, {
    parse(value, context) {
      const parsed = inner.parse(value, context);
      if (parsed === undefined) return undefined;
      const before = context.problems.length;
      const message = check(parsed, context);
      if (typeof message === "string") context.report(message);
      return hasErrorSince(context, before) ? undefined : parsed;
    },
  });
  return refined as S;
}

/** Converts the parsed value. `make` returns undefined after it reported a problem, or throws a `PosternError`. */
export function transformed<T, U>(
  schema: Schema<T>,
  make: (value: T, context: Context) => U | undefined,
): Schema<U> {
  const { fallback: _ofTheOther, ...rest } = schema;
  return {
    ...rest,
    parse(value, context) {
      const parsed = schema.parse(value, context);
      if (parsed === undefined) return undefined;
      try {
        return make(parsed, context);
      } catch (error) {
        if (!(error instanceof PosternError)) throw error;
        context.report(error.hint === undefined ? describe(error) : `${describe(error)}, ${error.hint}`);
        return undefined;
      }
    },
    json: (definitions) => schema.json(definitions),
  };
}

/** Adds a description for the JSON Schema and the reference pages. */
export function described<S extends Schema<unknown>>(schema: S, description: string): S {
  const inner: Schema<unknown> = schema;
  const result = derived(inner, {
    description,
    json: (definitions): JsonSchema => ({ ...inner.json(definitions), description }),
  });
  return result as S;
}
