import { type Message, message, text } from "@optique/core/message";
import type { NonEmptyString } from "@optique/core/nonempty";
import { optional, withDefault } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { choice, integer, string, type ValueParser } from "@optique/core/valueparser";
import { alternatives, parseDuration } from "../../config/mod.ts";
import { optionNames } from "../../permissions/mod.ts";
import type { ArgumentParser } from "./command.ts";

export type OutputFormat = "table" | "json" | "yaml";

/** `--id ID`; undefined when the command line has no `--id`. */
export function instanceOption(
  about = "Instance ID (default: default).",
): ArgumentParser<string | undefined> {
  return optional(option(optionNames.id, string({ metavar: "ID" }), { description: words(about) }));
}

export function outputOption<const F extends OutputFormat | "hosts">(
  formats: readonly F[],
  standard: NoInfer<F>,
): ArgumentParser<F> {
  return withDefault(
    option("-o", "--output", oneOf(formats, "FORMAT"), {
      description: words(`Output format: ${alternatives(formats)} (default: ${standard}).`),
    }),
    standard,
  );
}

export function oneOf<const T extends string>(
  values: readonly T[],
  metavar: NonEmptyString,
): ValueParser<"sync", T> {
  const invalidChoice = (input: string) => message`must be ${text(alternatives(values))}, not ${input}`;
  return choice(values, { metavar, errors: { invalidChoice } });
}

/** A whole number. A number beyond the safe integers gets the same error as any other number out of range. */
export function wholeNumber(
  { metavar, min, max = Number.MAX_SAFE_INTEGER }: {
    readonly metavar: "N" | "NUMBER" | "PORT" | "SECONDS";
    readonly min: number;
    readonly max?: number;
  },
): ValueParser<"sync", number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const wrong = (input: string | number) => message`must be a whole number ${text(range)}, not ${`${input}`}`;
  const errors = { unsafeInteger: wrong, invalidInteger: wrong, belowMinimum: wrong, aboveMaximum: wrong };
  return integer({ metavar, min, max, errors });
}

/** A duration such as `3m` or `1m30s`, in milliseconds. */
export function durationValue(): ValueParser<"sync", number> {
  return {
    mode: "sync",
    metavar: "DURATION",
    placeholder: 0,
    parse(input) {
      const value = parseDuration(input);
      if (value !== undefined && value > 0) return { success: true, value };
      return {
        success: false,
        error: message`${text(`"${shortened(input)}" is not a duration such as 3m or 1m30s`)}`,
      };
    },
    format: (value) => `${value}ms`,
  };
}

/** A duration, or 0 for never. */
export function durationOrNever(): ValueParser<"sync", number> {
  const duration = durationValue();
  return {
    ...duration,
    parse: (input) => /^0+(h|m|s|ms)?$/.test(input) ? { success: true, value: 0 } : duration.parse(input),
  };
}

/**
 * A path that the shell completes. The path type of `@optique/run` adds about 20 ms to `postern --help`: it loads
 * node's file system for checks that postern does not use.
 */
export function pathValue(metavar: "PATH" | "FILE"): ValueParser<"sync", string> {
  return {
    mode: "sync",
    metavar,
    placeholder: ".",
    parse: (input) =>
      input.trim() === ""
        ? { success: false, error: message`must not be empty` }
        : { success: true, value: input },
    format: (value) => value,
    *suggest(prefix) {
      const name = prefix.replace(/^.*[/\\]/s, "");
      const includeHidden = name.startsWith(".") && name !== "..";
      yield {
        kind: "file",
        pattern: prefix,
        type: "any",
        includeHidden,
        description: message`File or directory`,
      };
    },
  };
}

/** Turns a plain sentence into a description for the parser. */
export function words(sentence: string): Message {
  return [text(sentence)];
}

function shortened(input: string): string {
  return input.length > 60 ? `${input.slice(0, 60)}…` : input;
}
