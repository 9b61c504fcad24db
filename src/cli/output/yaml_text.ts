import { Document, isScalar, visit } from "yaml";
import { escaped, isOdd } from "./odd_characters.ts";

/** A value as YAML. Never folds lines, so that users can copy them. */
export function yamlText(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Scalar(_key, scalar) {
      // Only double quotes allow escapes.
      if (isScalar<unknown>(scalar) && isOdd(scalar.value)) scalar.type = "QUOTE_DOUBLE";
    },
  });
  return escaped(document.toString({ lineWidth: 0 }));
}
