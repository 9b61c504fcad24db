import type { HeaderField } from "./hpack_table.ts";

/** What a list of fields is for. */
export type FieldsKind = "request" | "response" | "trailers";

const requestPseudo = new Set([":method", ":scheme", ":authority", ":path", ":protocol"]);
const responsePseudo = new Set([":status"]);
/** Fields that speak of a connection of HTTP/1.1 (RFC 9113, section 8.2.2). */
const connectionFields = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** What is wrong with a list of fields (sections 8.2 and 8.3); undefined when nothing is. */
export function fieldsProblem(fields: readonly HeaderField[], kind: FieldsKind): string | undefined {
  const pseudo = new Map<string, string>();
  let isPastPseudo = false;
  for (const [name, value] of fields) {
    if (/[\0\r\n]/.test(value) || /^[ \t]|[ \t]$/.test(value)) return "a value has forbidden characters";
    if (name.startsWith(":")) {
      if (isPastPseudo) return `${shown(name)} comes after a plain field`;
      if (pseudo.has(name)) return `${shown(name)} is there twice`;
      pseudo.set(name, value);
      continue;
    }
    isPastPseudo = true;
    if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name)) return `${shown(name)} is no name of a field`;
    if (connectionFields.has(name)) return `${shown(name)} has no place in HTTP/2`;
    if (name === "te" && value !== "trailers") return "te says something else than trailers";
  }
  return pseudoProblem(pseudo, kind);
}

function pseudoProblem(pseudo: ReadonlyMap<string, string>, kind: FieldsKind): string | undefined {
  if (kind === "trailers") return pseudo.size > 0 ? "trailers have a pseudo field" : undefined;
  const known = kind === "request" ? requestPseudo : responsePseudo;
  for (const name of pseudo.keys()) if (!known.has(name)) return `${shown(name)} is not known in a ${kind}`;
  if (kind === "response") {
    return /^[1-9]\d\d$/.test(pseudo.get(":status") ?? "") ? undefined : "there is no status";
  }
  const method = pseudo.get(":method");
  if (!method) return "there is no method";
  if (method === "CONNECT" && !pseudo.has(":protocol")) {
    return pseudo.has(":scheme") || pseudo.has(":path") || !pseudo.get(":authority")
      ? "CONNECT wants an authority and nothing else"
      : undefined;
  }
  if (!pseudo.get(":scheme")) return "there is no scheme";
  return pseudo.get(":path") ? undefined : "there is no path";
}

/** The number of bytes that a message says it has; undefined when it does not, `NaN` when that is no number. */
export function declaredLength(fields: readonly HeaderField[]): number | undefined {
  const values = new Set(fields.filter(([name]) => name === "content-length").map(([, value]) => value));
  if (values.size === 0) return undefined;
  const [value = ""] = values;
  return values.size === 1 && /^\d{1,15}$/.test(value) ? Number(value) : NaN;
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 40));
}
