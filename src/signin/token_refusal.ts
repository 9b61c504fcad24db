import { PosternError } from "../words/mod.ts";

/** An API does not take a token: another one may help, as it would not where TLS or a host on the way refuses us. */
export class TokenRefusal extends PosternError {
  constructor(message: string) {
    super("auth", message, { hint: "sign in again: postern login" });
  }
}
