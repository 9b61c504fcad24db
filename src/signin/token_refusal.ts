import { PosternError } from "../words/mod.ts";

/**
 * An API rejected a token, so another token may help. A TLS failure, or a refusal by a host on the path, is a
 * different error.
 */
export class TokenRefusal extends PosternError {
  constructor(message: string) {
    super("auth", message, { hint: "sign in again: postern login" });
  }
}
