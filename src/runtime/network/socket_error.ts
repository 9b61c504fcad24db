import { PosternError, withContext } from "../../words/mod.ts";
import { tooManyFiles } from "./spare_descriptors.ts";

/** What the system says of a socket, as one of ours. `what` is the thing that failed, for the sentence. */
export function socketError(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || error instanceof PosternError) return error;
  const code = (error as { code?: unknown }).code;
  const reaching = `Cannot reach ${what}`;
  const unreachable = (reason: string, detail: "network" | "host" | "overloaded") =>
    new PosternError("unreachable", reaching, { cause: error, reason, detail });
  switch (code) {
    case "ECONNREFUSED":
      return new PosternError("refused", reaching, { cause: error, reason: "connection refused" });
    case "ENETUNREACH":
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
      return unreachable("no way to that network", "network");
    case "EHOSTUNREACH":
    case "EHOSTDOWN":
      return unreachable("no way to that host", "host");
    case "ETIMEDOUT":
      return new PosternError("timeout", reaching, { cause: error, reason: "no answer" });
    // Of a unix socket: TCP would wait.
    case "EAGAIN":
      return unreachable("too many wait there already", "overloaded");
    case "ENOENT":
      return new PosternError("refused", reaching, { cause: error, reason: "no such socket" });
    case "EACCES":
    case "EPERM":
      return new PosternError("not_allowed", reaching, {
        cause: error,
        reason: "the system does not allow it",
        hint: "see the rights of that socket, and the firewall of this machine",
      });
    case "EINVAL":
      return unreachable("not an address to connect to", "host");
    case "EMFILE":
    case "ENFILE":
      return tooManyFiles(what, error);
    case "ECONNRESET":
    case "ECONNABORTED":
    case "EPIPE":
    case "ENOTCONN":
      return new PosternError("unreachable", `Cannot go on with ${what}`, {
        cause: error,
        reason: "it was reset",
        detail: "reset",
      });
  }
  if (error instanceof Deno.errors.NotCapable) {
    return new PosternError("not_allowed", reaching, {
      cause: error,
      reason: "postern runs without the permission for it",
      hint: "add --allow-net to its flags",
    });
  }
  if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) {
    return new PosternError("cancelled", `Cannot go on with ${what}`, {
      cause: error,
      reason: "it was closed here",
    });
  }
  return withContext(`Cannot go on with ${what}`, error);
}
