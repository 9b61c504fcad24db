import { PosternError } from "../words/mod.ts";

/**
 * An API rejects a token, so another one may help; that is not so if TLS fails or a host on the path refuses
 * the connection.
 */
export class TokenRefusal extends PosternError {
  constructor(message: string) {
    super("auth", message, { hint: "sign in again: postern login" });
  }
}
