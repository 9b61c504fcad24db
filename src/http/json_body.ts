import { jsonIn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";

/** The value of an answer of JSON. `what` is what fails without one: "Cannot list pods". */
export function jsonBody(body: string | Uint8Array, what: string): unknown {
  const value = jsonIn(body);
  if (value !== undefined) return value;
  throw new PosternError("protocol", what, { reason: "the answer is not JSON" });
}
