import { maskedUrl } from "./masked_url.ts";
import { alternatives, type Schema, shapeOf } from "./schema.ts";

export interface UrlOptions {
  /** Without the colon: `https`. */
  readonly schemes: readonly string[];
}

/** A URL with a host. A password inside is a warning, since files get copied, and shows nowhere. */
export function url({ schemes }: UrlOptions): Schema<URL> {
  const expects = `a URL that begins with ${alternatives(schemes.map((scheme) => `${scheme}://`))}`;
  const begins = new RegExp(
    `^(?:${schemes.map((scheme) => scheme.replace(/[+.]/g, "\\$&")).join("|")})://[^\\s/]`,
  );
  return {
    expects,
    shapes: ["text"],
    parse(value, context) {
      const parsed = typeof value === "string" && begins.test(value) ? URL.parse(value) : null;
      if (!parsed || parsed.hostname === "") {
        const current = typeof value === "string"
          ? JSON.stringify(maskedUrl(value).slice(0, 200))
          : shapeOf(value);
        context.report(`must be ${expects}: current value is ${current}`);
        return undefined;
      }
      if (parsed.password !== "") {
        context.report("has a password inside: put it into a file of its own and name that file", "warning");
      }
      return parsed;
    },
    json: () => ({ type: "string", pattern: begins.source }),
    mask: (value) => typeof value === "string" ? maskedUrl(value) : value,
    write: (value) => value instanceof URL ? maskedUrl(value.href) : value,
  };
}
