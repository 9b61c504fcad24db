import { jsonIn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";

/** Parses a JSON response. `what` begins the error: "Cannot list pods". */
export function jsonBody(body: string | Uint8Array, what: string): unknown {
  const value = jsonIn(body);
  if (value !== undefined) return value;
  throw new PosternError("protocol", what, { reason: "the response is not JSON" });
}
