import { configSchema } from "../src/plan/mod.ts";
import { duration, listenAddress, port, url } from "../src/config/mod.ts";
import type { JsonSchema } from "../src/config/schema.ts";
import { madeOf, table } from "./reference_page.ts";

/** The published JSON Schema, byte for byte what `postern config schema` prints. */
export async function schemaFile(): Promise<string> {
  return `${JSON.stringify(await configSchema(), null, 2)}\n`;
}

/** The page of the configuration: every key with its type, its default and what it is for. */
export async function configurationPage(): Promise<string> {
  const schema = part(await configSchema());
  const sections = Object.entries(propertiesOf(schema)).map(([key, value]) => {
    const rows = [...keysOf(key, value, false)];
    return `## ${key}\n\n${table(["key", "type", "default", "is"], rows)}`;
  });
  return [
    madeOf("the schemas in src/"),
    "# The configuration, key by key",
    "[The guide](../guide/configuration.md) explains them by example. `*` marks a key that has to be there where\n" +
    "the mapping around it is; `NAME` is a name of your own choice. `postern config schema` prints the same for\n" +
    "an editor: [postern.schema.json](postern.schema.json).",
    ...sections,
    "## Types",
    table(["type", "written as"], [
      ["address", '`127.0.0.1:12000`, `"[::1]:12000"`, `localhost:12000` (both loopbacks), or a port alone'],
      ["duration", "`10s`, `1m30s`, `500ms`, `24h`; a bare `0` where that makes sense"],
      ["pattern", "see [patterns](../guide/configuration.md#patterns)"],
      ["file", "a path: absolute, from `~`, or relative to the configuration file"],
      ["url", "`http://`, `https://`, `socks5://` or `socks5h://`"],
    ]),
  ].join("\n\n") + "\n";
}

/** Keys whose texts are more than texts: what the schema for editors cannot tell apart. */
const finer: readonly (readonly [key: RegExp, type: string])[] = [
  [/(^|\.)passwordFile$|\.ca$|^routesFrom$|^listen\.unix(\[\])?(\.address)?$/, "file"],
  [/^routes\[\]\.to$|^direct$|\.only$/, "pattern"],
];

const words = new Map<string, string>([
  [JSON.stringify(listenAddress().json()), "address"],
  [JSON.stringify(port().json()), "port"],
  [JSON.stringify(duration().json()), "duration"],
  [JSON.stringify(duration({ min: 1 }).json()), "duration"],
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

/** The mapping inside a value with what leads to it: nothing, `.NAME` of a dictionary, `[]` of a list. */
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
    return [...new Set(choices.map((choice) => typeOf(path, choice)))].join(" or ");
  }
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
      return finer.find(([key]) => key.test(path))?.[1] ?? "text";
  }
}

function plural(type: string): string {
  return type.split(" or ").map((word) => word === "address" ? "addresses" : `${word}s`).join(" or ");
}

/** A schema without what an author added to it. */
function bare({ description: _told, default: _standard, ...rest }: JsonSchema): JsonSchema {
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
