import { parseIPv6, type Target } from "../core/mod.ts";
import type { RequestHead } from "./http1.ts";
import { Http1Problem } from "./http1_problem.ts";
import { quoted } from "./http1_text.ts";

/** The four forms of a request target (RFC 9112, section 3.2). */
export type RequestTarget =
  /** `path` with its query: a request for this very server. */
  | { readonly form: "origin"; readonly path: string }
  /** A request for a proxy; `authority` is what Host must say, `path` what the origin is asked for. */
  | {
    readonly form: "absolute";
    readonly scheme: string;
    readonly target: Target;
    readonly authority: string;
    readonly path: string;
  }
  /** CONNECT. */
  | { readonly form: "authority"; readonly target: Target }
  | { readonly form: "asterisk" };

/** Reads which form a request's target has; a malformed one throws 400. */
export function requestTarget({ method, target }: Pick<RequestHead, "method" | "target">): RequestTarget {
  if (method === "CONNECT") return { form: "authority", target: parseAuthority(target) };
  if (target.startsWith("/")) return { form: "origin", path: target };
  if (target === "*" && method === "OPTIONS") return { form: "asterisk" };
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^#]*)$/.exec(target);
  const [, scheme, authority, rest] = match ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) {
    throw new Http1Problem(400, `Cannot read the request target ${quoted(target)}`, {
      hint: "write /path, or http://HOST/path to a proxy",
    });
  }
  const lowered = scheme.toLowerCase();
  return {
    form: "absolute",
    scheme: lowered,
    target: parseAuthority(authority, lowered === "https" || lowered === "wss" ? 443 : 80),
    authority: authority.replace(/:$/, ""),
    // RFC 9112, section 3.2.4: OPTIONS without a path asks about the server as a whole.
    path: rest === "" ? (method === "OPTIONS" ? "*" : "/") : rest.startsWith("?") ? `/${rest}` : rest,
  };
}

/** Reads `HOST:PORT` as it stands in a request line or in Host; without a default port it must name one. */
export function parseAuthority(text: string, defaultPort?: number): Target {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._~!$&'()*+,;=%-]+))(?::([0-9]{0,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  if (!match || host === undefined || host.length > 255 || (match[1] !== undefined && !parseIPv6(match[1]))) {
    throw new Http1Problem(400, `Cannot read ${quoted(text)} as HOST:PORT`, {
      hint: "write example.com:443, 192.0.2.1:443 or [2001:db8::1]:443, without user or password",
    });
  }
  const port = match[3] ? Number(match[3]) : defaultPort;
  if (port === undefined || port < 1 || port > 65535) {
    throw new Http1Problem(400, `Cannot read ${quoted(text)} as HOST:PORT: ${portFault(port)}`, {
      hint: `write ${match[1] === undefined ? host : `[${host}]`}:443`,
    });
  }
  return { host, port };
}

function portFault(port: number | undefined): string {
  return port === undefined ? "no port" : "the port is not in 1 to 65535";
}
