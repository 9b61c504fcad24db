import { PosternError, type Target } from "../words/mod.ts";

/** What an upstream proxy is asked for, by either protocol. */
export interface Asking {
  readonly target: Target;
  /** The proxy, as sentences name it. */
  readonly proxy: string;
  readonly credentials?: { readonly user: string; readonly password: string } | undefined;
}

/** The error for a proxy that ended the connection before it answered. */
export function noAnswer(): PosternError {
  return new PosternError("unreachable", "Cannot read an answer: the connection was closed before it");
}
