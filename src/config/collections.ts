import { isMapping, mustBe, type Schema, shapeOf, shown } from "./schema.ts";

export interface ListOptions {
  readonly max?: number;
}

/** A list; an empty value is the empty list. */
export function list<T>(item: Schema<T>, { max }: ListOptions = {}): Schema<readonly T[]> {
  const expects = "a list";
  const { mask } = item;
  return {
    expects,
    shapes: ["list", "empty"],
    parse(value, context) {
      if (value === null) return [];
      if (!Array.isArray(value)) {
        const hint = item.shapes?.includes(shapeOf(value) ?? "empty") ? ", write it in brackets" : "";
        const said = item.isSecret ? "" : `: current value is ${shown(value)}${hint}`;
        context.report(`must be a list${said}`);
        return undefined;
      }
      if (max !== undefined && value.length > max) {
        context.report(`must have at most ${max} items: current count is ${value.length}`);
        return undefined;
      }
      const items: T[] = [];
      for (let index = 0; index < value.length; index++) {
        const parsed = item.parse(value[index], context.at(index));
        if (parsed !== undefined) items.push(parsed);
      }
      return items.length === value.length ? items : undefined;
    },
    json: (definitions) => ({
      type: ["array", "null"],
      items: item.json(definitions),
      ...(max !== undefined && { maxItems: max }),
    }),
    ...(mask &&
      { mask: (value: unknown) => Array.isArray(value) ? value.map((one) => mask(one)) : mask(value) }),
  };
}

/** A list, or a single item without a list. */
export function oneOrMore<T>(item: Schema<T>, options: ListOptions = {}): Schema<readonly T[]> {
  const many = list(item, options);
  const expects = `${item.expects ?? "one item"}, or a list of them`;
  return {
    expects,
    ...(item.shapes && { shapes: [...item.shapes, "list"] as const }),
    ...(item.isSecret && { isSecret: true }),
    parse(value, context) {
      if (Array.isArray(value)) {
        if (value.length > 0) return many.parse(value, context);
        context.report(`must be ${expects}: the list is empty`);
        return undefined;
      }
      const parsed = item.parse(value, context);
      return parsed === undefined ? undefined : [parsed];
    },
    json: (definitions) => ({
      anyOf: [item.json(definitions), { ...many.json(definitions), type: "array", minItems: 1 }],
    }),
    ...(many.mask && { mask: many.mask }),
  };
}

export interface DictionaryOptions {
  /** The pattern for keys. */
  readonly key?: RegExp;
  /** A description of valid keys, for messages. */
  readonly describe?: string;
}

/** A mapping with names that the user chooses; an empty value is the empty mapping. */
export function dictionary<T>(
  item: Schema<T>,
  { key: pattern, describe }: DictionaryOptions = {},
): Schema<Readonly<Record<string, T>>> {
  const expects = "a mapping";
  const { mask } = item;
  return {
    expects,
    shapes: ["mapping", "empty"],
    parse(value, context) {
      if (value === null) return {};
      if (!isMapping(value)) return mustBe(expects, value, context);
      const entries: [string, T][] = [];
      let isRight = true;
      for (const key of Object.keys(value)) {
        const place = context.at(key);
        if (pattern && !pattern.test(key)) {
          const message = `the name must be ${describe ?? `of the form ${pattern.source}`}`;
          context.problems.push({ path: place.path, message, on: "key" });
          isRight = false;
        }
        const parsed = item.parse(value[key], place);
        if (parsed === undefined) isRight = false;
        else entries.push([key, parsed]);
      }
      return isRight ? Object.fromEntries(entries) : undefined;
    },
    json: (definitions) => ({
      type: ["object", "null"],
      additionalProperties: item.json(definitions),
      ...(pattern && { propertyNames: { pattern: pattern.source } }),
    }),
    ...(mask && {
      mask: (value: unknown) =>
        isMapping(value)
          ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mask(one)]))
          : value,
    }),
  };
}
