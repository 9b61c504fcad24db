import { PosternError } from "../words/mod.ts";

/** The error of a dial after the transport's disposal. */
export function transportClosed(name: string): PosternError {
  return new PosternError("cancelled", `The transport "${name}" was closed`);
}
