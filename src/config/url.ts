import { maskedUrl } from "./masked_url.ts";
import { alternatives, type Schema, shapeOf } from "./schema.ts";

export interface UrlOptions {
  /** Schemes without the colon: `https`. */
  readonly schemes: readonly string[];
}

/** A URL with a host. A password is a warning, because users copy files; postern never shows it. */
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
        context.report("contains a password: move it to a separate file and name that file", "warning");
      }
      return parsed;
    },
    json: () => ({ type: "string", pattern: begins.source }),
    mask: (value) => typeof value === "string" ? maskedUrl(value) : value,
    write: (value) => value instanceof URL ? maskedUrl(value.href) : value,
  };
}
