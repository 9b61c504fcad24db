import type { RequestHead, ResponseHead } from "./http1.ts";
import { trimmed } from "./blanks.ts";
import { Http1Problem } from "./http1_problem.ts";
import { quoted } from "./http1_text.ts";

/** How a body ends: no body, a length, a last chunk, or the end of the connection. */
export type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly length: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "close" };

const none: Framing = { kind: "none" };
const chunked: Framing = { kind: "chunked" };
const close: Framing = { kind: "close" };

/**
 * Determines how a request body ends (RFC 9112, section 6.3). Rejects every ambiguity, because ambiguity
 * allows request smuggling.
 */
export function requestFraming(head: RequestHead): Framing {
  const framing = statedFraming(head, 400) ?? none;
  if (head.method === "CONNECT" && framing.kind !== "none") {
    throw new Http1Problem(400, "Cannot serve CONNECT with a body");
  }
  return framing;
}

/** Determines how the body of a response to `method` ends. */
export function responseFraming(head: ResponseHead, method: string): Framing {
  const { status } = head;
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return none;
  if (method === "CONNECT" && status < 300) return none;
  return statedFraming(head, 502) ?? close;
}

function statedFraming({ version, fields }: RequestHead | ResponseHead, status: number): Framing | undefined {
  const length = contentLength(fields.all("content-length"), status);
  if (!fields.has("transfer-encoding")) {
    if (length === undefined) return undefined;
    return length === 0 ? none : { kind: "length", length };
  }
  if (length !== undefined) {
    throw new Http1Problem(status, "Cannot read a body with both Content-Length and Transfer-Encoding");
  }
  if (version === "1.0") {
    throw new Http1Problem(status, "Cannot read an HTTP/1.0 body with Transfer-Encoding");
  }
  const codings = fields.tokens("transfer-encoding");
  if (codings.length === 1 && codings[0] === "chunked") return chunked;
  const strange = codings.find((coding) => coding !== "chunked");
  if (strange !== undefined && codings.indexOf("chunked") === codings.length - 1) {
    throw new Http1Problem(
      status === 400 ? 501 : status,
      `Cannot read the body: unsupported transfer coding ${quoted(strange)}`,
      { hint: "send only chunked" },
    );
  }
  throw new Http1Problem(
    status,
    "Cannot determine the end of the body: Transfer-Encoding does not end with a single chunked",
  );
}

/**
 * Identical repeated values count as one (RFC 9110, section 8.6); rejects everything else than a single
 * number.
 */
function contentLength(lines: readonly string[], status: number): number | undefined {
  if (lines.length === 0) return undefined;
  const values = lines.join(",").split(",").map((value) => trimmed(value));
  const first = values[0] ?? "";
  if (!/^[0-9]{1,15}$/.test(first) || values.some((value) => value !== first)) {
    throw new Http1Problem(status, `Cannot read Content-Length ${quoted(values.join(", "))}`);
  }
  return Number(first);
}
