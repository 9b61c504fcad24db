import { suggestion } from "./closest.ts";
import type { Context } from "./context.ts";
import {
  type Infer,
  isMapping,
  type JsonDefinitions,
  type JsonSchema,
  mustBe,
  type Omittable,
  type Schema,
} from "./schema.ts";

/** The schemas of a mapping's keys. */
export type RecordFields = Readonly<Record<string, Schema<unknown>>>;

/** The settings of fields: optional keys without a fallback may be missing. */
export type RecordSettings<F extends RecordFields> = Simplified<
  & { readonly [K in keyof F as F[K] extends Omittable<unknown> ? never : K]: Infer<F[K]> }
  & { readonly [K in keyof F as F[K] extends Omittable<unknown> ? K : never]?: Infer<F[K]> }
>;

type Simplified<T> = { [K in keyof T]: T[K] };

export interface RecordOptions {
  /** A description of the mapping, for messages. */
  readonly describe?: string;
  /** Whether unknown keys stay unchanged, for data of another version. */
  readonly isOpen?: boolean;
}

/** A mapping with known keys. Unless it is open, each unknown key is a problem that lists the known keys. */
export function record<const F extends RecordFields>(
  fields: F,
  { describe, isOpen = false }: RecordOptions = {},
): Schema<RecordSettings<F>> {
  const known = Object.keys(fields);
  const required = known.filter((key) => !fields[key]?.optional);
  const expects = describe ?? `a mapping with ${namedKeys(known)}`;
  const mayBeEmpty = required.length === 0;
  return {
    expects,
    shapes: mayBeEmpty ? ["mapping", "empty"] : ["mapping"],
    parse(value, context) {
      const given = value === null && mayBeEmpty ? {} : value;
      if (!isMapping(given)) return mustBe(expects, value, context);
      const isKnown = isOpen || reportUnknown(given, fields, context);
      const settings = parseFields(given, fields, context);
      return isKnown && settings ? { ...(isOpen && given), ...settings } as RecordSettings<F> : undefined;
    },
    json: (definitions) => ({
      type: mayBeEmpty ? ["object", "null"] : "object",
      properties: propertiesOf(fields, definitions),
      ...(required.length > 0 && { required }),
      additionalProperties: isOpen,
    }),
    mask: (value) => maskFields(value, fields),
  };
}

/** A mapping whose kind is one of its keys, with additional keys that all kinds share. */
export type Kinded<K extends RecordFields, A extends RecordFields> = {
  readonly [Name in keyof K]: Simplified<
    { readonly kind: Name; readonly settings: Infer<K[Name]> } & RecordSettings<A>
  >;
}[keyof K];

export interface KindedOptions<A extends RecordFields> {
  /** Keys that all kinds share. */
  readonly also?: A;
  /** A description of the mapping, for messages: `a transport`. */
  readonly describe?: string;
}

type NoFields = Readonly<Record<never, Schema<unknown>>>;

/** A mapping with exactly one of the kinds' keys: `{ ssh: jump1, via: x }` gives `{ kind: "ssh", settings: "jump1", via: "x" }`. */
export function kinded<const K extends RecordFields, const A extends RecordFields = NoFields>(
  kinds: K,
  options: KindedOptions<A> = {},
): Schema<Kinded<K, A>> {
  const also: RecordFields = options.also ?? {};
  const names = Object.keys(kinds);
  const fields: RecordFields = { ...also, ...kinds };
  const expects = `${options.describe ?? "a mapping"} with exactly one of ${names.join(", ")}`;
  const required = Object.keys(also).filter((key) => !also[key]?.optional);
  return {
    expects,
    shapes: ["mapping"],
    parse(value, context) {
      if (!isMapping(value)) return mustBe(expects, value, context);
      const isKnown = reportUnknown(value, fields, context);
      const chosen = names.filter((name) => Object.hasOwn(value, name));
      const shared = parseFields(value, also, context);
      const [kind] = chosen;
      if (kind === undefined || chosen.length > 1) {
        // An unknown key has been reported already.
        if (isKnown) {
          context.report(
            `must be ${expects}: ${chosen.length > 1 ? `found ${chosen.join(", ")}` : "found none"}`,
          );
        }
        return undefined;
      }
      const settings = kinds[kind]?.parse(value[kind], context.at(kind));
      if (!isKnown || !shared || settings === undefined) return undefined;
      return { kind, settings, ...shared } as Kinded<K, A>;
    },
    json: (definitions) => ({
      type: "object",
      properties: propertiesOf(fields, definitions),
      ...(required.length > 0 && { required }),
      oneOf: names.map((name) => ({ required: [name] })),
      additionalProperties: false,
    }),
    mask: (value) => maskFields(value, fields),
  };
}

function parseFields(
  value: Readonly<Record<string, unknown>>,
  fields: RecordFields,
  context: Context,
): Record<string, unknown> | undefined {
  const settings: Record<string, unknown> = {};
  let isRight = true;
  for (const key in fields) {
    const field = fields[key];
    if (!field) continue;
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    let parsed: unknown;
    if (given !== undefined) {
      parsed = field.parse(given, context.at(key));
      if (parsed === undefined) isRight = false;
    } else if (field.optional) {
      parsed = field.fallback ?? field.parse(undefined, context.at(key));
    } else {
      context.at(key).report(`is missing: must be ${field.expects ?? "given"}`);
      isRight = false;
    }
    if (parsed !== undefined) settings[key] = parsed;
  }
  return isRight ? settings : undefined;
}

function reportUnknown(
  value: Readonly<Record<string, unknown>>,
  fields: RecordFields,
  context: Context,
): boolean {
  let isKnown = true;
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(fields, key)) continue;
    const known = Object.keys(fields);
    const message = `is not a known key${suggestion(key, known) || `: known keys are ${known.join(", ")}`}`;
    context.problems.push({ path: context.at(key).path, message, on: "key" });
    isKnown = false;
  }
  return isKnown;
}

function propertiesOf(
  fields: RecordFields,
  definitions: JsonDefinitions | undefined,
): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, field.json(definitions)]));
}

/** Masks unknown keys too: the value of a misspelled key may be a secret. */
function maskFields(value: unknown, fields: RecordFields): unknown {
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).map(([key, one]): [string, unknown] => {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!field) return [key, "***"];
    return [key, field.mask ? field.mask(one) : one];
  });
  return Object.fromEntries(entries);
}

function namedKeys(keys: readonly string[]): string {
  return keys.length > 12 ? "known keys" : keys.join(", ");
}
