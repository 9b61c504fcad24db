import { alternatives, mustBe, type Schema, shown } from "./schema.ts";
import { suggestion } from "./closest.ts";

export interface TextOptions {
  /** The minimum length in characters (default: 1, because an empty string is usually a mistake). */
  readonly min?: number;
  /** The maximum length in characters. */
  readonly max?: number;
  readonly pattern?: RegExp;
  /** A description of the text, for messages: `a DNS name`. */
  readonly describe?: string;
}

/** A string. Rejects numbers and booleans with the hint to quote them. */
export function text(options: TextOptions = {}): Schema<string> {
  const { min = 1, max, pattern } = options;
  const expects = options.describe ?? expectedText(min, max);
  return {
    expects,
    shapes: ["text"],
    parse(value, context) {
      if (typeof value !== "string") {
        const hint = typeof value === "number" || typeof value === "boolean" ? ", quote it" : "";
        context.report(`must be ${expects}: current value is ${shown(value)}${hint}`);
        return undefined;
      }
      const length = min > 1 || max !== undefined ? characters(value) : value.length;
      const isRight = length >= min && (max === undefined || length <= max) &&
        (pattern === undefined || matches(pattern, value));
      return isRight ? value : mustBe(expects, value, context);
    },
    json: () => ({
      type: "string",
      ...(min > 0 && { minLength: min }),
      ...(max !== undefined && { maxLength: max }),
      // JSON Schema does not support flags of regular expressions.
      ...(pattern && !pattern.ignoreCase && { pattern: pattern.source }),
    }),
  };
}

function expectedText(min: number, max: number | undefined): string {
  if (max !== undefined) return `a string of ${min} to ${max} characters`;
  return min > 1 ? `a string of at least ${min} characters` : min === 1 ? "a non-empty string" : "a string";
}

/** Counts characters as JSON Schema does: an emoji is one character. */
function characters(value: string): number {
  let count = 0;
  for (const _ of value) count++;
  return count;
}

function matches(pattern: RegExp, value: string): boolean {
  pattern.lastIndex = 0;
  return pattern.test(value);
}

/** A string that no output and no message shows. */
export function secret(): Schema<string> {
  return {
    expects: "a non-empty string",
    shapes: ["text"],
    isSecret: true,
    parse(value, context) {
      if (typeof value === "string" && value !== "") return value;
      const hint = typeof value === "number" || typeof value === "boolean" ? ": quote it" : "";
      context.report(`must be a non-empty string${hint}`);
      return undefined;
    },
    json: () => ({ type: "string", minLength: 1, writeOnly: true }),
    mask: () => "***",
  };
}

export interface IntegerOptions {
  readonly min?: number;
  readonly max?: number;
  readonly describe?: string;
}

export function integer(
  { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER, describe }: IntegerOptions = {},
): Schema<number> {
  const expects = describe ?? expectedInteger(min, max);
  return {
    expects,
    shapes: ["number"],
    parse(value, context) {
      if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) {
        return value;
      }
      const hint = typeof value === "string" && /^-?[0-9]+$/.test(value) ? ", remove the quotes" : "";
      context.report(`must be ${expects}: current value is ${shown(value)}${hint}`);
      return undefined;
    },
    json: () => ({ type: "integer", minimum: min, maximum: max }),
  };
}

function expectedInteger(min: number, max: number): string {
  const hasMin = min !== Number.MIN_SAFE_INTEGER;
  const hasMax = max !== Number.MAX_SAFE_INTEGER;
  if (hasMin && hasMax) return `a whole number from ${min} to ${max}`;
  if (hasMin) return `a whole number of at least ${min}`;
  return hasMax ? `a whole number of at most ${max}` : "a whole number";
}

/** A TCP port; 0 picks a free one. */
export function port(): Schema<number> {
  return integer({ min: 0, max: 65535, describe: "a port from 0 to 65535" });
}

export function flag(): Schema<boolean> {
  const expects = "true or false";
  return {
    expects,
    shapes: ["flag"],
    parse: (value, context) => typeof value === "boolean" ? value : mustBe(expects, value, context),
    json: () => ({ type: "boolean" }),
  };
}

export function choice<const W extends string>(...words: readonly W[]): Schema<W> {
  const expects = alternatives(words);
  return {
    expects,
    shapes: ["text"],
    parse(value, context) {
      const word = words.find((word) => word === value);
      if (word !== undefined) return word;
      const hint = typeof value === "string" ? suggestion(value, words) : "";
      context.report(`must be ${expects}: current value is ${shown(value)}${hint}`);
      return undefined;
    },
    json: () => ({ enum: words }),
  };
}
