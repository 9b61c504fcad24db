import { isPosternError, PosternError, withContext } from "../../words/mod.ts";
import { plainText } from "../../core/mod.ts";

/** The error for a connection that the server closed without a message. */
export function closedByServer(label: string, { hasKeys }: { readonly hasKeys: boolean }): PosternError {
  const when = hasKeys
    ? "the server closed the connection"
    : "the server closed the connection before the key exchange";
  return new PosternError("unreachable", `Cannot keep the session with ${label}: ${when}`, {
    detail: "host",
  });
}

/** The error for a broken connection; a local cancellation stays unchanged. */
export function lostConnection(label: string, error: unknown): unknown {
  if (isPosternError(error, "cancelled")) return error;
  return new PosternError("unreachable", `Cannot keep the session with ${label}: the connection broke`, {
    cause: error,
    detail: "host",
  });
}

/** The error for a disconnect message of the server (RFC 4253, section 11.1). */
export function disconnected(
  label: string,
  { reason, description }: { readonly reason: number; readonly description: string },
): PosternError {
  const says = plainText(description) || `reason ${reason}`;
  if (/too many authentication failures/i.test(says)) {
    return new PosternError("auth", `Cannot sign in to ${label}: ${says}`, {
      hint: "select the right key for this host: set IdentityFile and IdentitiesOnly yes",
    });
  }
  return new PosternError(
    "unreachable",
    `Cannot keep the session with ${label}: the server disconnected (${says})`,
    {
      detail: "host",
    },
  );
}

/** The error for invalid bytes, or for algorithm lists without a common entry. */
export function protocolFailure(label: string, error: unknown): PosternError {
  const says = error instanceof Error ? error.message : String(error);
  const list = /no matching (.+)$/i.exec(says)?.[1];
  return withContext(`Cannot use the connection to ${label}`, error, {
    code: "protocol",
    ...(list !== undefined && {
      hint:
        `the server and postern have no ${list} in common: check Ciphers, MACs, KexAlgorithms and HostKeyAlgorithms`,
    }),
  });
}
