import { PosternError } from "../words/mod.ts";

/** Why a transport that was disposed dials nothing. */
export function transportClosed(name: string): PosternError {
  return new PosternError("cancelled", `The transport "${name}" was closed`);
}
