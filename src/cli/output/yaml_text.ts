import { Document, isScalar, visit } from "yaml";
import { escaped, isOdd } from "./odd_characters.ts";

/** A value as YAML; lines are never folded, so that what is copied from them is whole. Loaded when it is asked for. */
export function yamlText(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Scalar(_key, scalar) {
      // Only there is an escape one.
      if (isScalar<unknown>(scalar) && isOdd(scalar.value)) scalar.type = "QUOTE_DOUBLE";
    },
  });
  return escaped(document.toString({ lineWidth: 0 }));
}
