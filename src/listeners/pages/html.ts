import { escapedMarkup } from "../../core/mod.ts";
/** Text that is safe as HTML. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A template whose parts are escaped, unless they are `Html` already; so that forgetting it is not possible. */
export function html(
  strings: TemplateStringsArray,
  ...parts: readonly (string | number | Html | readonly Html[])[]
): Html {
  let text = strings[0] ?? "";
  for (const [index, part] of parts.entries()) text += escaped(part) + (strings[index + 1] ?? "");
  return new Html(text);
}

function escaped(part: string | number | Html | readonly Html[]): string {
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(({ text }) => text).join("");
  return escapedMarkup(String(part));
}
