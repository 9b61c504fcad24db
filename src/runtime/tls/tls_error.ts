import { PosternError, withContext } from "../../words/mod.ts";

/** Translates an error of node's TLS; keeps an error of the connection below. */
export function tlsError(error: unknown, serverName: string): unknown {
  if (!(error instanceof Error) || error instanceof PosternError) return error;
  const code = String((error as { code?: unknown }).code ?? "");
  const what = `Cannot trust "${serverName}"`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return new PosternError("auth", `${what}: its certificate is for other names`, {
      cause: error,
      hint: "use a name from its certificate",
    });
  }
  if (expired.has(code)) {
    return new PosternError("auth", what, {
      cause: error,
      reason: "its certificate is not valid at this time",
      hint: "check this machine's clock, then renew the certificate",
    });
  }
  if (untrusted.has(code)) {
    return new PosternError("auth", what, {
      cause: error,
      reason: "its certificate is not signed by a trusted certificate authority",
      hint: "set its certificate authority with ca: FILE, or in SSL_CERT_FILE",
    });
  }
  if (/alert/i.test(error.message) && /certificate|unknown.?ca|access.?denied/i.test(error.message)) {
    return new PosternError("auth", `Cannot sign in to "${serverName}"`, {
      cause: error,
      reason: "the server rejected our certificate",
      hint: "check cert and key: the server may require a client certificate, or another one",
    });
  }
  return withContext(`Cannot start TLS with "${serverName}"`, error, {
    code: "protocol",
    hint: "check that the server's port uses TLS",
  });
}

const expired: ReadonlySet<string> = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);

const untrusted: ReadonlySet<string> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_SIGNATURE_FAILURE",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "CERT_REJECTED",
  "INVALID_CA",
  "INVALID_PURPOSE",
]);
