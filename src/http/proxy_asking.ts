import { PosternError, type Target } from "../words/mod.ts";
import type { BasicCredentials } from "../wire/mod.ts";

/** A request to an upstream proxy, for HTTP and SOCKS. */
export interface Asking {
  readonly target: Target;
  /** The proxy's name for messages. */
  readonly proxy: string;
  readonly credentials?: BasicCredentials | undefined;
}

/** The error for a proxy that rejects the user and password, or requires them; `said` is its response. */
export function proxySignInFailure(
  { proxy, credentials }: Omit<Asking, "target">,
  said?: string,
): PosternError {
  const what = `Cannot sign in at ${proxy}`;
  const answer = said === undefined ? "" : ` (${said})`;
  return credentials
    ? new PosternError("auth", what, {
      reason: `it rejected the user name or password${answer}`,
      hint: "correct the proxy's user and password in its URL, or in user and passwordFile",
    })
    : new PosternError("auth", what, {
      reason: `it requires a user name and password${answer}`,
      hint: "set the proxy's user and password in its URL, or in user and passwordFile",
    });
}
