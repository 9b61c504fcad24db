import { isPosternError, PosternError, withContext } from "../../words/mod.ts";
import { plainText } from "../../core/mod.ts";

/** The server has ended the connection without a word. */
export function closedByServer(label: string, { hasKeys }: { readonly hasKeys: boolean }): PosternError {
  const when = hasKeys ? "it closed the connection" : "it closed the connection before the key exchange";
  return new PosternError("unreachable", `Cannot go on with ${label}: ${when}`, { detail: "host" });
}

/** The connection broke; what we ended ourselves stays what it is. */
export function lostConnection(label: string, error: unknown): unknown {
  if (isPosternError(error, "cancelled")) return error;
  return new PosternError("unreachable", `Cannot go on with ${label}: the connection was lost`, {
    cause: error,
    detail: "host",
  });
}

/** The server has taken leave (RFC 4253, section 11.1). */
export function disconnected(
  label: string,
  { reason, description }: { readonly reason: number; readonly description: string },
): PosternError {
  const says = plainText(description) || `reason ${reason}`;
  if (/too many authentication failures/i.test(says)) {
    return new PosternError("auth", `Cannot sign in to ${label}: ${says}`, {
      hint: "name the right key for this host: IdentityFile and IdentitiesOnly yes",
    });
  }
  return new PosternError("unreachable", `Cannot go on with ${label}: it disconnected (${says})`, {
    detail: "host",
  });
}

/** The bytes make no sense, or nothing is left to agree on. */
export function protocolFailure(label: string, error: unknown): PosternError {
  const says = error instanceof Error ? error.message : String(error);
  const list = /no matching (.+)$/i.exec(says)?.[1];
  return withContext(`Cannot go on with ${label}`, error, {
    code: "protocol",
    ...(list !== undefined && {
      hint: `the server and postern share no ${list}: see Ciphers, MACs, KexAlgorithms and HostKeyAlgorithms`,
    }),
  });
}
