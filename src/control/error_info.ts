import { asPosternError, PosternError } from "../words/mod.ts";
import type { ErrorInfo } from "./instance_state.ts";

/** An error without its causes, to send to another process. */
export function errorInfo(error: unknown): ErrorInfo {
  const { code, message, hint, detail, exit } = asPosternError(error);
  return {
    code,
    message,
    ...(hint !== undefined && { hint }),
    ...(detail !== undefined && { detail }),
    ...(exit !== undefined && { exit }),
  };
}

/** Reverses `errorInfo`. The info comes from another process, so invalid fields are dropped. */
export function errorFromInfo({ code, message, hint, detail, exit }: ErrorInfo): PosternError {
  const isExit = Number.isInteger(exit) && Number(exit) > 0 && Number(exit) < 256;
  return new PosternError(code, message, {
    ...(typeof hint === "string" && { hint }),
    ...(typeof detail === "string" && { detail }),
    ...(isExit && exit !== undefined && { exit }),
  });
}
