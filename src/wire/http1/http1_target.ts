import { canonicalHost, formatTarget, type Target } from "../../words/mod.ts";
import type { RequestHead } from "./http1.ts";
import { Http1Problem } from "./http1_problem.ts";
import { latin1Bytes, quoted } from "./http1_text.ts";

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
  const wanted = parseAuthority(authority, lowered === "https" || lowered === "wss" ? 443 : 80);
  return {
    form: "absolute",
    scheme: lowered,
    target: wanted,
    authority: authorityOf(wanted, authority),
    // RFC 9112, section 3.2.4: OPTIONS without a path asks about the server as a whole.
    path: rest === "" ? (method === "OPTIONS" ? "*" : "/") : rest.startsWith("?") ? `/${rest}` : rest,
  };
}

/** Reads `HOST:PORT` as it stands in a request line or in Host; without a default port it must name one. */
export function parseAuthority(text: string, defaultPort?: number): Target {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._~!$&'()*+,;=%\x80-\xff-]+))(?::([0-9]{0,5}))?$/
    .exec(text);
  const written = match?.[1] ?? match?.[2];
  if (written === undefined || match?.[1]?.includes(":") === false) {
    throw unreadable(
      text,
      "",
      "write example.com:443, 192.0.2.1:443 or [2001:db8::1]:443, without user or password",
    );
  }
  const host = canonicalHost(inUnicode(written));
  if (typeof host !== "string") throw unreadable(text, `: ${host.problem}`, host.hint);
  const port = match?.[3] ? Number(match[3]) : defaultPort;
  if (port === undefined || port < 1 || port > 65535) {
    throw unreadable(text, `: ${portFault(port)}`, `write ${formatTarget({ host, port: 443 })}`);
  }
  return { host, port };
}

function unreadable(text: string, why: string, hint: string): Http1Problem {
  return new Http1Problem(400, `Cannot read ${quoted(text)} as HOST:PORT${why}`, { hint });
}

/** What Host must say: the canonical host, and the port where the client named one. */
function authorityOf({ host }: Target, written: string): string {
  return (host.includes(":") ? `[${host}]` : host) + (/:[0-9]+$/.exec(written)?.[0] ?? "");
}

/** A host as its client meant it: a request line is read as bytes, one character each, and may be UTF-8. */
function inUnicode(sent: string): string {
  return /[\x80-\xff]/.test(sent) ? utf8.decode(latin1Bytes(sent)) : sent;
}

function portFault(port: number | undefined): string {
  return port === undefined ? "no port" : "the port is not in 1 to 65535";
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
