import type { JsonDefinitions, JsonSchema, Schema } from "./schema.ts";

export interface JsonSchemaOptions {
  readonly title: string;
  readonly id?: string;
}

/** The JSON Schema (draft 2020-12) of a schema, for editors and other validators. */
export function jsonSchema(schema: Schema<unknown>, { title, id }: JsonSchemaOptions): JsonSchema {
  const definitions = new Definitions();
  const body = schema.json(definitions);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...(id !== undefined && { $id: id }),
    title,
    ...body,
    ...(definitions.named.size > 0 && { $defs: Object.fromEntries(definitions.named) }),
  };
}

class Definitions implements JsonDefinitions {
  readonly named = new Map<string, JsonSchema>();
  readonly #names = new Map<object, string>();

  reference(owner: object, make: () => JsonSchema): JsonSchema {
    let name = this.#names.get(owner);
    if (name === undefined) {
      name = `recursive${this.#names.size + 1}`;
      this.#names.set(owner, name);
      this.named.set(name, make());
    }
    return { $ref: `#/$defs/${name}` };
  }
}
