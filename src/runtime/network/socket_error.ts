import { PosternError } from "../../words/mod.ts";
import { tooManyFiles } from "./spare_descriptors.ts";

/** What the system says of a socket, as one of ours. `what` is the thing that failed, for the sentence. */
export function socketError(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || error instanceof PosternError) return error;
  const code = (error as { code?: unknown }).code;
  const unreachable = (why: string, detail: "network" | "host" | "overloaded") =>
    new PosternError("unreachable", `Cannot reach ${what}: ${why}`, { cause: error, detail });
  switch (code) {
    case "ECONNREFUSED":
      return new PosternError("refused", `Cannot reach ${what}: connection refused`, { cause: error });
    case "ENETUNREACH":
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
      return unreachable("no way to that network", "network");
    case "EHOSTUNREACH":
    case "EHOSTDOWN":
      return unreachable("no way to that host", "host");
    case "ETIMEDOUT":
      return new PosternError("timeout", `Cannot reach ${what}: no answer`, { cause: error });
    // Of a unix socket: TCP would wait.
    case "EAGAIN":
      return unreachable("too many wait there already", "overloaded");
    case "ENOENT":
      return new PosternError("refused", `Cannot reach ${what}: no such socket`, { cause: error });
    case "EACCES":
    case "EPERM":
      return new PosternError("not_allowed", `Cannot reach ${what}: the system does not allow it`, {
        cause: error,
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
      return new PosternError("unreachable", `Cannot go on with ${what}: it was reset`, {
        cause: error,
        detail: "reset",
      });
  }
  if (error instanceof Deno.errors.NotCapable) {
    return new PosternError(
      "not_allowed",
      `Cannot reach ${what}: postern runs without the permission for it`,
      {
        cause: error,
        hint: "add --allow-net to its flags",
      },
    );
  }
  if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) {
    return new PosternError("cancelled", `Cannot go on with ${what}: it was closed here`, { cause: error });
  }
  return new PosternError("internal", `Cannot go on with ${what}: ${error.message}`, { cause: error });
}
