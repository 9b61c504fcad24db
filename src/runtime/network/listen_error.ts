import { type Endpoint, formatTarget, PosternError } from "../../words/mod.ts";
import { fileError } from "../files/file_error.ts";
import { socketError } from "./socket_error.ts";

/** Explains why an address cannot be bound, for TCP or UDP. */
export function listenError(error: unknown, endpoint: Endpoint, protocol: "tcp" | "udp" = "tcp"): unknown {
  const what = ("path" in endpoint ? endpoint.path : formatTarget(endpoint)) +
    (protocol === "udp" ? " for UDP" : "");
  // Node's sockets report a code, Deno's a class.
  const code = (error as { code?: unknown } | null)?.code;
  if (error instanceof Deno.errors.AddrInUse || code === "EADDRINUSE") {
    return new PosternError("config", `Cannot listen on ${what}: address already in use`, {
      cause: error,
      exit: 1,
      detail: "in_use",
      hint: "path" in endpoint
        ? `remove ${endpoint.path} if nothing uses it`
        : ownerHint(endpoint.port, protocol),
    });
  }
  // Binding a unix socket creates a file, so the error concerns its path.
  if ("path" in endpoint) return fileError(error, `listen on ${what}`);
  if (error instanceof Deno.errors.AddrNotAvailable || code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT") {
    return new PosternError("config", `Cannot listen on ${what}: this machine has no such address`, {
      cause: error,
      exit: 1,
      detail: "network",
      hint: "listen on localhost, or on an address of this machine",
    });
  }
  if (error instanceof Deno.errors.PermissionDenied || code === "EACCES" || code === "EPERM") {
    return new PosternError("config", `Cannot listen on ${what}: the system does not allow it`, {
      cause: error,
      exit: 1,
      detail: endpoint.port < 1024 ? "low_port" : undefined,
      hint: "use a port of 1024 or higher",
    });
  }
  return socketError(error, what);
}

function ownerHint(port: number, protocol: "tcp" | "udp"): string {
  if (Deno.build.os === "windows") return `find the program that uses it: netstat -ano | findstr :${port}`;
  return protocol === "udp"
    ? `find the program that uses it: lsof -iUDP:${port}`
    : `find the program that uses it: lsof -iTCP:${port} -sTCP:LISTEN`;
}
