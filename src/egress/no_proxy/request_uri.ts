import { parseIPv6 } from "../../words/mod.ts";

/**
 * A URL as parsed by Go's `url.ParseRequestURI`, which the operator and most consumers use for proxy URLs.
 */
export interface RequestUri {
  /** In lowercase; empty when the text is only a path. */
  readonly scheme: string;
  /** `scheme:something` without a slash, which has no host. */
  readonly isOpaque: boolean;
  /** Still percent-encoded; undefined without an `@`. */
  readonly userinfo?: string;
  /** Without brackets; empty if there is none. */
  readonly host: string;
  /** Digits; undefined without a colon, empty when nothing follows the colon. */
  readonly port?: string;
}

/** Parses a URL or returns a problem. The problem does not quote the URL, which may hold a password. */
export function parseRequestUri(text: string): RequestUri | { readonly problem: string } {
  if (/\p{Cc}/u.test(text.replace(/[\u0080-\u009f]/g, ""))) {
    return { problem: "must have no control characters" };
  }
  if (text === "") return { problem: "must not be empty" };
  const [, named] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text) ?? [];
  if (text.startsWith(":")) return { problem: "must begin with a scheme" };
  const scheme = (named ?? "").toLowerCase();
  const whole = named === undefined ? text : text.slice(named.length + 1);
  const rest = whole.split("?", 1)[0] ?? "";
  if (!rest.startsWith("/")) {
    if (named === undefined) return { problem: "must begin with a scheme, http:// or https://" };
    return { scheme, isOpaque: true, host: "" };
  }
  const hasAuthority = named !== undefined && rest.startsWith("//");
  const slash = hasAuthority ? rest.indexOf("/", 2) : 0;
  const path = slash < 0 ? "" : rest.slice(slash);
  const authority = hasAuthority ? rest.slice(2, slash < 0 ? undefined : slash) : "";
  const parsed = parseAuthority(authority);
  if ("problem" in parsed) return parsed;
  if (hasBadEscape(path)) return { problem: badEscape };
  return { scheme, isOpaque: false, ...parsed };
}

type Authority = Pick<RequestUri, "userinfo" | "host" | "port">;

function parseAuthority(authority: string): Authority | { readonly problem: string } {
  const at = authority.lastIndexOf("@");
  const hosted = parseHost(authority.slice(at + 1));
  if ("problem" in hosted || at < 0) return hosted;
  const userinfo = authority.slice(0, at);
  if (!/^[A-Za-z0-9._:~!$&'()*+,;=%@-]*$/.test(userinfo)) {
    return {
      problem: "must percent-encode special characters in its user and password, for example # as %23",
    };
  }
  return hasBadEscape(userinfo) ? { problem: badEscape } : { userinfo, ...hosted };
}

function parseHost(text: string): Authority | { readonly problem: string } {
  const bracket = text.lastIndexOf("[") === 0 ? text.lastIndexOf("]") : -1;
  if (text.includes("[") && bracket < 0) {
    return { problem: "must have brackets only around an IPv6 address" };
  }
  const colon = bracket >= 0 ? bracket + 1 : text.indexOf(":");
  const behind = colon < 0 ? "" : text.slice(colon);
  if (behind.includes(":", 1)) {
    return { problem: "must have brackets around an IPv6 address and at most one port" };
  }
  if (!/^(?::[0-9]*)?$/.test(behind)) return { problem: "must have a number after the colon of its port" };
  const port = behind === "" ? {} : { port: behind.slice(1) };
  if (bracket >= 0) {
    const host = text.slice(1, bracket);
    if (parseIPv6(host)) return { host, ...port };
    return { problem: "must have an IPv6 address, without a zone, between its brackets" };
  }
  const host = colon < 0 ? text : text.slice(0, colon);
  const problem = hostProblem(host);
  return problem === undefined ? { host: decodedHost(host), ...port } : { problem };
}

/** A host may percent-encode only non-ASCII characters and the percent sign. */
function hostProblem(host: string): string | undefined {
  const plain = host.replace(/%(?:25|[89A-Fa-f][0-9A-Fa-f])/g, "");
  if (plain.includes("%")) return badEscape;
  const isPlain = /^[A-Za-z0-9_.~!$&'()*+,;=\]<>"\u0080-\uffff-]*$/.test(plain);
  return isPlain ? undefined : "must not have whitespace or other invalid characters in its host";
}

const badEscape = "must have two hexadecimal digits after each %, and no encoded letter in its host";

function hasBadEscape(text: string): boolean {
  return /%(?![0-9A-Fa-f]{2})/.test(text);
}

function decodedHost(host: string): string {
  if (!host.includes("%")) return host;
  const bytes = Array.from(
    host.matchAll(/%([0-9A-Fa-f]{2})|[^%]+/g),
    ([plain, digits]) =>
      digits === undefined ? [...new TextEncoder().encode(plain)] : [Number.parseInt(digits, 16)],
  );
  return new TextDecoder().decode(Uint8Array.from(bytes.flat()));
}
