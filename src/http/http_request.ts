import { type Bytes, joinBytes } from "../core/mod.ts";
import { encodeRequestHead } from "../wire/mod.ts";

export interface EncodedRequest {
  /** GET when absent. */
  readonly method?: string | undefined;
  readonly target: string;
  /** What Host says. */
  readonly host: string;
  readonly fields?: Iterable<readonly [name: string, value: string]>;
  readonly body?: string | Bytes | undefined;
}

/** A request with its body, ready to be written in one piece. */
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
