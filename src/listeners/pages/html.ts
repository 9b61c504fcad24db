import { escapedMarkup } from "../../core/mod.ts";
/** Text that is safe as HTML. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A template that escapes every part except `Html`, so that no part stays unescaped by mistake. */
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
