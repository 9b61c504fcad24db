import { PosternError } from "../words/mod.ts";

/**
 * An API rejects a token, so another token may help. A failure of TLS, or of a host on the path, is not a
 * `TokenRefusal`.
 */
export class TokenRefusal extends PosternError {
  constructor(message: string) {
    super("auth", message, { hint: "sign in again: postern login" });
  }
}
