import { encodeBase64 } from "../../core/mod.ts";
import { canonicalHost, formatTarget, type Target } from "../../words/mod.ts";
import type { RequestHead } from "./http1.ts";
import { Http1Problem } from "./http1_problem.ts";
import { latin1Bytes, quoted } from "./http1_text.ts";

/** The four forms of a request target (RFC 9112, section 3.2). */
export type RequestTarget =
  /** `path` with its query: a request to this server. */
  | { readonly form: "origin"; readonly path: string }
  /**
   * A request to a proxy; `authority` is the Host value and `path` the path for the origin, both without the
   * credentials of the URL.
   */
  | {
    readonly form: "absolute";
    readonly scheme: string;
    readonly target: Target;
    readonly authority: string;
    readonly path: string;
    /** The credentials of the URL as a value of Authorization. */
    readonly authorization?: string;
  }
  /** CONNECT. */
  | { readonly form: "authority"; readonly target: Target }
  | { readonly form: "asterisk" };

/** Parses a request target; throws status 400 when it is malformed. */
export function requestTarget({ method, target }: Pick<RequestHead, "method" | "target">): RequestTarget {
  if (method === "CONNECT") return { form: "authority", target: parseAuthority(target) };
  if (target.startsWith("/")) return { form: "origin", path: target };
  if (target === "*" && method === "OPTIONS") return { form: "asterisk" };
  // A fragment is for the client alone (RFC 9110, section 7.1), but some clients send it.
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^#]*)/.exec(target);
  const [, scheme, sent, rest] = match ?? [];
  if (scheme === undefined || sent === undefined || rest === undefined) {
    throw new Http1Problem(400, `Cannot read the request target ${quoted(target)}`, {
      hint: "write /path, or http://HOST/path to a proxy",
    });
  }
  const lowered = scheme.toLowerCase();
  const { authority, authorization } = withoutUser(sent);
  const wanted = parseAuthority(authority, lowered === "https" || lowered === "wss" ? 443 : 80, target);
  return {
    form: "absolute",
    scheme: lowered,
    target: wanted,
    authority: authorityOf(wanted, authority),
    // RFC 9112, section 3.2.4: OPTIONS without a path means the whole server.
    path: rest === "" ? (method === "OPTIONS" ? "*" : "/") : rest.startsWith("?") ? `/${rest}` : rest,
    ...(authorization !== undefined && { authorization }),
  };
}

/**
 * Separates the user and password of a URL from its host. Like browsers and squid, it takes the last `@`. A backslash
 * is rejected: browsers read it as the end of the host, others as a part of the user.
 */
function withoutUser(sent: string): { authority: string; authorization?: string } {
  const at = sent.lastIndexOf("@");
  if (at < 0) return { authority: sent };
  const [authority, userinfo] = [sent.slice(at + 1), sent.slice(0, at)];
  if (userinfo.includes("\\")) {
    throw new Http1Problem(400, "Cannot read the user of the URL: it contains a backslash");
  }
  if (userinfo === "") return { authority };
  const whole = userinfo.includes(":") ? userinfo : `${userinfo}:`;
  return { authority, authorization: `Basic ${encodeBase64(latin1Bytes(unescaped(whole)))}` };
}

/** Decodes `%40` to one character per byte, as the rest of a request line. */
function unescaped(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

/**
 * Reads `HOST:PORT` from a request line or from Host; the port is required unless there is a default. An error quotes
 * `url` if that contains an `@`: an unescaped `/`, `?` or `#` ends the authority in the middle of a password.
 */
export function parseAuthority(text: string, defaultPort?: number, url = ""): Target {
  const shown = url.includes("@") ? url : text;
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._~!$&'()*+,;=%\x80-\xff-]+))(?::([0-9]{0,5}))?$/
    .exec(text);
  const written = match?.[1] ?? match?.[2];
  if (written === undefined || match?.[1]?.includes(":") === false) {
    throw unreadable(
      shown,
      "",
      "write example.com:443, 192.0.2.1:443 or [2001:db8::1]:443, without user or password",
    );
  }
  const host = canonicalHost(inUnicode(written));
  if (typeof host !== "string") throw unreadable(shown, `: ${host.problem}`, host.hint);
  const port = match?.[3] ? Number(match[3]) : defaultPort;
  if (port === undefined || port < 1 || port > 65535) {
    throw unreadable(shown, `: ${portFault(port)}`, `write ${formatTarget({ host, port: 443 })}`);
  }
  return { host, port };
}

function unreadable(text: string, why: string, hint: string): Http1Problem {
  return new Http1Problem(400, `Cannot read ${quoted(text)} as HOST:PORT${why}`, { hint });
}

/** The Host value: the canonical host, and the port if the client sent one. */
function authorityOf({ host }: Target, written: string): string {
  return (host.includes(":") ? `[${host}]` : host) + (/:[0-9]+$/.exec(written)?.[0] ?? "");
}

/** Decodes a host as UTF-8: request lines are read with one character per byte. */
function inUnicode(sent: string): string {
  return /[\x80-\xff]/.test(sent) ? utf8.decode(latin1Bytes(sent)) : sent;
}

function portFault(port: number | undefined): string {
  return port === undefined ? "no port" : "the port is not from 1 to 65535";
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
