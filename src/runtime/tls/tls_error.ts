import { PosternError, withContext } from "../../words/mod.ts";

/** What node's TLS says, as one of ours; an error of the connection below is kept as it is. */
export function tlsError(error: unknown, serverName: string): unknown {
  if (!(error instanceof Error) || error instanceof PosternError) return error;
  const code = String((error as { code?: unknown }).code ?? "");
  const what = `Cannot trust "${serverName}"`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return new PosternError("auth", `${what}: its certificate is for other names`, {
      cause: error,
      hint: "use a name that its certificate carries",
    });
  }
  if (expired.has(code)) {
    return new PosternError("auth", what, {
      cause: error,
      reason: "its certificate is not valid at this time",
      hint: "check the clock of this machine, then renew that certificate",
    });
  }
  if (untrusted.has(code)) {
    return new PosternError("auth", what, {
      cause: error,
      reason: "no CA that is trusted here has signed its certificate",
      hint: "name its CA with ca: FILE, or in SSL_CERT_FILE",
    });
  }
  if (/alert/i.test(error.message) && /certificate|unknown.?ca|access.?denied/i.test(error.message)) {
    return new PosternError("auth", `Cannot sign in to "${serverName}"`, {
      cause: error,
      reason: "it refuses our certificate",
      hint: "check cert and key: it may want a client certificate, or another one",
    });
  }
  return withContext(`Cannot speak TLS with "${serverName}"`, error, {
    code: "protocol",
    hint: "check that this port speaks TLS",
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
