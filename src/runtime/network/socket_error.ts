import { PosternError, withContext } from "../../words/mod.ts";
import { tooManyFiles } from "./spare_descriptors.ts";

/** Translates an error of a socket. `what` names the object in the message. */
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
      return unreachable("no route to that network", "network");
    case "EHOSTUNREACH":
    case "EHOSTDOWN":
      return unreachable("no route to that host", "host");
    case "ETIMEDOUT":
      return new PosternError("timeout", reaching, { cause: error, reason: "no answer" });
    // For a unix socket; TCP would wait instead.
    case "EAGAIN":
      return unreachable("its queue of clients is full", "overloaded");
    case "ENOENT":
      return new PosternError("refused", reaching, { cause: error, reason: "no such socket" });
    case "EACCES":
    case "EPERM":
      return new PosternError("not_allowed", reaching, {
        cause: error,
        reason: "the system does not allow it",
        hint: "check the permissions of that socket, and the firewall of this machine",
      });
    case "EINVAL":
      return unreachable("not an address for connections", "host");
    case "EMFILE":
    case "ENFILE":
      return tooManyFiles(what, error);
    case "ECONNRESET":
    case "ECONNABORTED":
    case "EPIPE":
    case "ENOTCONN":
      return new PosternError("unreachable", `Cannot use ${what}`, {
        cause: error,
        reason: "the peer reset the connection",
        detail: "reset",
      });
  }
  if (error instanceof Deno.errors.NotCapable) {
    return new PosternError("not_allowed", reaching, {
      cause: error,
      reason: "postern runs without the network permission",
      hint: "add --allow-net to its flags",
    });
  }
  if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) {
    return new PosternError("cancelled", `Cannot use ${what}`, {
      cause: error,
      reason: "postern closed the connection",
    });
  }
  return withContext(`Cannot use ${what}`, error);
}
