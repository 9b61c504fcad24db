import type { HeaderField } from "./hpack_table.ts";

/** The role of a field list. */
export type FieldsKind = "request" | "response" | "trailers";

const requestPseudo = new Set([":method", ":scheme", ":authority", ":path", ":protocol"]);
const responsePseudo = new Set([":status"]);
/** Fields about an HTTP/1.1 connection (RFC 9113, section 8.2.2). */
const connectionFields = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Returns the problem of a field list (sections 8.2 and 8.3); undefined when it is valid. */
export function fieldsProblem(fields: readonly HeaderField[], kind: FieldsKind): string | undefined {
  const pseudo = new Map<string, string>();
  let isPastPseudo = false;
  for (const [name, value] of fields) {
    if (/[\0\r\n]/.test(value) || /^[ \t]|[ \t]$/.test(value)) return "a value has forbidden characters";
    if (name.startsWith(":")) {
      if (isPastPseudo) return `${shown(name)} follows a regular field`;
      if (pseudo.has(name)) return `${shown(name)} occurs twice`;
      pseudo.set(name, value);
      continue;
    }
    isPastPseudo = true;
    if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name)) return `${shown(name)} is not a valid field name`;
    if (connectionFields.has(name)) return `HTTP/2 forbids ${shown(name)}`;
    if (name === "te" && value !== "trailers") return "te has another value than trailers";
  }
  return pseudoProblem(pseudo, kind);
}

function pseudoProblem(pseudo: ReadonlyMap<string, string>, kind: FieldsKind): string | undefined {
  if (kind === "trailers") return pseudo.size > 0 ? "trailers contain a pseudo-header field" : undefined;
  const known = kind === "request" ? requestPseudo : responsePseudo;
  for (const name of pseudo.keys()) if (!known.has(name)) return `a ${kind} must not contain ${shown(name)}`;
  if (kind === "response") {
    return /^[1-9]\d\d$/.test(pseudo.get(":status") ?? "") ? undefined : "the status is missing or invalid";
  }
  const method = pseudo.get(":method");
  if (!method) return "the method is missing";
  if (method === "CONNECT" && !pseudo.has(":protocol")) {
    return pseudo.has(":scheme") || pseudo.has(":path") || !pseudo.get(":authority")
      ? "CONNECT must have only an authority"
      : undefined;
  }
  if (!pseudo.get(":scheme")) return "the scheme is missing";
  return pseudo.get(":path") ? undefined : "the path is missing";
}

/**
 * Returns the declared length of a message; undefined when it declares none, `NaN` when the value is invalid.
 */
export function declaredLength(fields: readonly HeaderField[]): number | undefined {
  const values = new Set(fields.filter(([name]) => name === "content-length").map(([, value]) => value));
  if (values.size === 0) return undefined;
  const [value = ""] = values;
  return values.size === 1 && /^\d{1,15}$/.test(value) ? Number(value) : NaN;
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 40));
}
