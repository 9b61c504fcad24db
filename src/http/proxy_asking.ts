import { PosternError, type Target } from "../words/mod.ts";
import type { BasicCredentials } from "../wire/mod.ts";

/** What an upstream proxy is asked for, by either protocol. */
export interface Asking {
  readonly target: Target;
  /** The proxy, as sentences name it. */
  readonly proxy: string;
  readonly credentials?: BasicCredentials | undefined;
}

/** The error for a proxy that takes a user and a password, and not what we gave; `said` is its own answer. */
export function proxySignInFailure({ proxy, credentials }: Asking, said?: string): PosternError {
  const what = `Cannot sign in at ${proxy}`;
  const answer = said === undefined ? "" : ` (${said})`;
  return credentials
    ? new PosternError("auth", what, {
      reason: `it refused the user name or the password${answer}`,
      hint: "correct the user and the password of this proxy: in its URL, or in user and passwordFile",
    })
    : new PosternError("auth", what, {
      reason: `it wants a user name and a password${answer}`,
      hint: "set a user and a password for this proxy: in its URL, or in user and passwordFile",
    });
}
