import { percentDecoded } from "../core/mod.ts";
import { normalHost, type Target, targetOf } from "../words/mod.ts";

/** The protocol to an upstream proxy; each of them sends names unresolved. */
export type ProxyScheme = "http" | "https" | "socks5";

/** The settings of an upstream proxy, as plain data. */
export interface ProxySettings {
  readonly scheme: ProxyScheme;
  readonly host: string;
  readonly port: number;
  readonly user?: string;
  /** From the URL; a password file is read at each use. */
  readonly password?: string;
  readonly passwordFile?: string;
  /** A file of PEM certificates to trust for the proxy, in addition to the system's. */
  readonly ca?: string;
}

/** A proxy as configured. */
export interface WrittenProxy {
  readonly url: URL;
  readonly user?: string;
  readonly passwordFile?: string;
  readonly ca?: string;
}

export interface ProxyProblems {
  readonly wrong: readonly (readonly [key: keyof WrittenProxy, message: string])[];
}

/** Checks a configured proxy; returns its settings or its problems. */
export function readProxy(
  { url, ca, passwordFile, user: givenUser }: WrittenProxy,
): ProxySettings | ProxyProblems {
  const scheme = schemeOf(url);
  const user = givenUser ?? percentDecoded(url.username);
  const password = percentDecoded(url.password);
  const wrong: [key: keyof WrittenProxy, message: string][] = [];
  if (user === undefined || password === undefined) {
    wrong.push([
      "url",
      "must have two hexadecimal digits after each % in its user name and password",
    ]);
  }
  if (!/^\/?$/.test(url.pathname) || url.search !== "" || url.hash !== "") {
    wrong.push(["url", "must end after the port: a proxy has no path"]);
  }
  if (password && passwordFile !== undefined) {
    wrong.push(["passwordFile", "must not be set together with a password in the url"]);
  }
  if (givenUser !== undefined && url.username !== "") {
    wrong.push(["user", "must not be set together with a user name in the url"]);
  }
  if (user === "" && (password || passwordFile !== undefined)) {
    wrong.push(["user", "must be set when a password is set"]);
  }
  if (user && !password && passwordFile === undefined) {
    wrong.push(["passwordFile", "must be set when a user is set"]);
  }
  if (user?.includes(":") && scheme !== "socks5") {
    wrong.push(["user", "must not contain a colon: in HTTP the password follows the first colon"]);
  }
  if (ca !== undefined && scheme !== "https") {
    wrong.push(["ca", "must be set only with an https:// url: postern does not use TLS to this proxy"]);
  }
  if (wrong.length > 0) return { wrong };
  return {
    scheme,
    ...proxyTarget(url),
    ...(user && { user }),
    ...(password && { password }),
    ...(passwordFile !== undefined && { passwordFile }),
    ...(ca !== undefined && { ca }),
  };
}

/** The address of a proxy, with a normalized host. */
export function proxyTarget(url: URL): Target {
  const { host, port } = targetOf(url);
  return { host: normalHost(host), port };
}

function schemeOf({ protocol }: URL): ProxyScheme {
  if (protocol === "http:") return "http";
  return protocol === "https:" ? "https" : "socks5";
}

/** Reads a proxy from a URL alone, as in environment variables; undefined for other URLs. */
export function proxyOfUrl(text: string): ProxySettings | undefined {
  const url = /^(?:https?|socks5h?):\/\/[^\s/]/.test(text) ? URL.parse(text) : null;
  if (!url || url.hostname === "") return undefined;
  const proxy = readProxy({ url });
  return "wrong" in proxy ? undefined : proxy;
}
