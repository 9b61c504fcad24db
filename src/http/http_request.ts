import { type Bytes, joinBytes } from "../core/mod.ts";
import { encodeRequestHead } from "../wire/mod.ts";

export interface EncodedRequest {
  /** Default: GET. */
  readonly method?: string | undefined;
  readonly target: string;
  /** The value of Host. */
  readonly host: string;
  readonly fields?: Iterable<readonly [name: string, value: string]>;
  readonly body?: string | Bytes | undefined;
}

/** Encodes a request with its body for a single write. */
export function encodeRequest({ method = "GET", target, host, fields = [], body }: EncodedRequest): Bytes {
  const content = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const head = encodeRequestHead({
    method,
    target,
    fields: [
      ["Host", host],
      ["User-Agent", "postern"],
      ...fields,
      ...(content ? [["Content-Length", String(content.length)] as const] : []),
    ],
  });
  return content ? joinBytes([head, content]) : head;
}
