import {
  choice,
  type Context,
  described,
  dictionary,
  duration,
  either,
  file,
  flag,
  formatPath,
  integer,
  kinded,
  list,
  listenAddress,
  oneOrMore,
  optional,
  port,
  record,
  rootContext,
  type Schema,
  secret,
  text,
  url,
} from "../../../src/config/mod.ts";
import { lazy } from "../../../src/config/modifiers.ts";

/** The context of a document in a test world. */
export function worldContext(): Context {
  const variables: Record<string, string> = { NAME: "value", EMPTY: "" };
  return rootContext({
    base: "/etc/postern",
    home: "/home/me",
    runtime: "/run/user/1/postern",
    env: (name) => variables[name],
  });
}

/** Parses a value; returns the result, and `path message` for each problem. */
export function parsed<T>(schema: Schema<T>, value: unknown): { value: T | undefined; said: string[] } {
  const context = worldContext();
  const result = schema.parse(value, context);
  const said = context.problems.map(({ path, message, severity }) =>
    [severity === "warning" && "warning:", formatPath(path), message].filter(Boolean).join(" ")
  );
  return { value: result, said };
}

interface Group {
  readonly name: string;
  readonly groups?: readonly Group[];
}
const group: Schema<Group> = record({ name: text(), groups: optional(list(lazy(() => group))) });

/** A schema that uses every combinator. */
export const everything = record({
  text: optional(text({ min: 2, max: 4 })),
  word: optional(described(choice("http", "socks"), "Which protocol.")),
  pattern: optional(text({ pattern: /^[a-z.-]+$/ })),
  number: optional(integer({ min: -1, max: 9 }), 3),
  port: optional(port()),
  flag: optional(flag(), false),
  wait: optional(duration(), 10_000),
  refresh: optional(duration({ min: 1000, off: true })),
  secret: optional(secret()),
  file: optional(file()),
  url: optional(url({ schemes: ["http", "https"] })),
  listen: optional(
    oneOrMore(either(listenAddress(), record({ address: listenAddress(), only: optional(text()) }))),
  ),
  list: optional(list(integer(), { max: 2 })),
  dictionary: optional(dictionary(flag(), { key: /^[a-z]+$/ })),
  transports: optional(dictionary(
    kinded({ ssh: text(), direct: record({ fast: optional(flag()) }) }, { also: { via: optional(text()) } }),
  )),
  group: optional(group),
});
