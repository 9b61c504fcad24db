import { type Endpoint, formatTarget, PosternError } from "../../words/mod.ts";
import { fileError } from "../files/file_error.ts";
import { socketError } from "./socket_error.ts";

/** Why an address cannot be bound, for TCP or for UDP. */
export function listenError(error: unknown, endpoint: Endpoint, protocol: "tcp" | "udp" = "tcp"): unknown {
  const what = ("path" in endpoint ? endpoint.path : formatTarget(endpoint)) +
    (protocol === "udp" ? " for UDP" : "");
  // Node's sockets give a code where Deno's give a class.
  const code = (error as { code?: unknown } | null)?.code;
  if (error instanceof Deno.errors.AddrInUse || code === "EADDRINUSE") {
    return new PosternError("config", `Cannot listen on ${what}: the address is in use`, {
      cause: error,
      exit: 1,
      detail: "in_use",
      hint: "path" in endpoint
        ? `remove ${endpoint.path} if nothing uses it`
        : ownerHint(endpoint.port, protocol),
    });
  }
  // A socket is a file that is made: what keeps it from that is about its path.
  if ("path" in endpoint) return fileError(error, `listen on ${what}`);
  if (error instanceof Deno.errors.AddrNotAvailable || code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT") {
    return new PosternError("config", `Cannot listen on ${what}: this machine has no such address`, {
      cause: error,
      exit: 1,
      detail: "network",
      hint: "listen on localhost, or on an address that this machine has",
    });
  }
  if (error instanceof Deno.errors.PermissionDenied || code === "EACCES" || code === "EPERM") {
    return new PosternError("config", `Cannot listen on ${what}: the system does not allow it`, {
      cause: error,
      exit: 1,
      hint: "take a port of 1024 or more",
    });
  }
  return socketError(error, what);
}

function ownerHint(port: number, protocol: "tcp" | "udp"): string {
  if (Deno.build.os === "windows") return `see who has it: netstat -ano | findstr :${port}`;
  return protocol === "udp"
    ? `see who has it: lsof -iUDP:${port}`
    : `see who has it: lsof -iTCP:${port} -sTCP:LISTEN`;
}
