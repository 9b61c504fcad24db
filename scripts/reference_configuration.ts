import { configSchema } from "../src/plan/mod.ts";
import { duration, listenAddress, port, url } from "../src/config/mod.ts";
import type { JsonSchema } from "../src/config/schema.ts";
import { madeOf, table } from "./reference_page.ts";

/** The published JSON Schema, identical to the output of `postern config schema`. */
export async function schemaFile(): Promise<string> {
  return `${JSON.stringify(await configSchema(), null, 2)}\n`;
}

/** The page of the configuration: every key with its type, default and purpose. */
export async function configurationPage(): Promise<string> {
  const schema = part(await configSchema());
  const sections = Object.entries(propertiesOf(schema)).map(([key, value]) => {
    const rows = [...keysOf(key, value, false)];
    return `## ${key}\n\n${table(["key", "type", "default", "purpose"], rows)}`;
  });
  return [
    madeOf("the schemas in src/"),
    "# The configuration, key by key",
    "[The guide](../guide/configuration.md) explains the keys by example. `*` marks a key that is required in its\n" +
    "mapping; `NAME` is a name that you choose. `postern config schema` prints the JSON Schema for an editor:\n" +
    "[postern.schema.json](postern.schema.json).",
    ...sections,
    "## Types",
    table(["type", "written as"], [
      ["address", '`127.0.0.1:12000`, `"[::1]:12000"`, `localhost:12000` (IPv4 and IPv6), or only a port'],
      ["duration", "`10s`, `1m30s`, `500ms`, `24h`; some keys also accept `0`"],
      ["pattern", "see [patterns](../guide/configuration.md#patterns)"],
      ["file", "a path: absolute, from `~`, or relative to the configuration file"],
      ["url", "`http://`, `https://`, `socks5://` or `socks5h://`"],
    ]),
  ].join("\n\n") + "\n";
}

/** Types of text keys that the JSON Schema cannot distinguish. */
const finer: readonly (readonly [key: RegExp, type: string])[] = [
  [
    /File$|\.(ca|cert|key|uds|kubeconfig)(\[\])?$|^ssh\.config$|^routesFrom$|^listen\.unix(\[\])?(\.address)?$/,
    "file",
  ],
  [/^routes\[\]\.to$|^direct$|\.only$/, "pattern"],
];

const words = new Map<string, string>([
  [JSON.stringify(listenAddress().json()), "address"],
  [JSON.stringify(port().json()), "port"],
  [JSON.stringify(duration().json()), "duration"],
  [JSON.stringify(duration({ min: 1 }).json()), "duration"],
  [JSON.stringify(duration({ min: 60_000, off: true }).json()), "duration"],
  [JSON.stringify(url({ schemes: ["http", "https", "socks5", "socks5h"] }).json()), "url"],
]);

function* keysOf(path: string, schema: JsonSchema, isNeeded: boolean): Generator<string[]> {
  const { description = "", default: standard } = schema;
  yield [
    `\`${path}\`${isNeeded ? " *" : ""}`,
    typeOf(path, schema),
    standard === undefined ? "" : `\`${JSON.stringify(standard)}\``,
    String(description),
  ];
  const inner = mappingOf(schema);
  if (!inner) return;
  const [suffix, mapping] = inner;
  const required: unknown[] = Array.isArray(mapping["required"]) ? mapping["required"] : [];
  for (const [key, value] of Object.entries(propertiesOf(mapping))) {
    yield* keysOf(`${path}${suffix}.${key}`, value, required.includes(key));
  }
}

/** The mapping inside a value, with its path: empty, `.NAME` of a dictionary or `[]` of a list. */
function mappingOf(schema: JsonSchema): readonly [string, JsonSchema] | undefined {
  if (schema["properties"]) return ["", schema];
  if (isSchema(schema["additionalProperties"])) return [".NAME", schema["additionalProperties"]];
  if (isSchema(schema["items"])) {
    const inner = mappingOf(schema["items"]);
    return inner && [`[]${inner[0]}`, inner[1]];
  }
  const [found] = choicesOf(schema).flatMap((choice) => {
    const inner = mappingOf(choice);
    return inner ? [inner] : [];
  });
  return found;
}

function typeOf(path: string, schema: JsonSchema): string {
  const known = words.get(JSON.stringify(bare(schema)));
  if (known !== undefined) return known;
  const choices = choicesOf(schema);
  if (choices.length > 0) {
    return [...new Set(choices.flatMap((choice) => typeOf(path, choice).split(" or ")))].join(" or ");
  }
  const allowed: unknown = schema["enum"];
  if (Array.isArray(allowed)) return allowed.map((word) => `\`${String(word)}\``).join(" or ");
  const type = [schema["type"]].flat().find((name) => name !== "null");
  switch (type) {
    case "object":
      return "mapping";
    case "array":
      return isSchema(schema["items"]) ? `list of ${plural(typeOf(path, schema["items"]))}` : "list";
    case "integer":
      return `whole number, ${String(schema["minimum"])} to ${String(schema["maximum"])}`;
    case "boolean":
      return "true or false";
    default:
      return finer.find(([key]) => key.test(path))?.[1] ?? "string";
  }
}

function plural(type: string): string {
  return type.split(" or ").map((word) => word === "address" ? "addresses" : `${word}s`).join(" or ");
}

/** A schema without its description and default. */
function bare({ description: _description, default: _standard, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

function choicesOf(schema: JsonSchema): JsonSchema[] {
  const choices: unknown = schema["anyOf"];
  return Array.isArray(choices) ? choices.map(part) : [];
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const properties = schema["properties"];
  if (!isSchema(properties)) return {};
  return Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, part(value)]));
}

function part(value: unknown): JsonSchema {
  if (isSchema(value)) return value;
  throw new Error("Cannot read the schema of the configuration");
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
