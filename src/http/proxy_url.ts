import { normalHost, type Target, targetOf } from "../words/mod.ts";

/** How postern speaks to an upstream proxy; names travel as names with each of them. */
export type ProxyScheme = "http" | "https" | "socks5";

/** The settings of an upstream proxy, as plain data. */
export interface ProxySettings {
  readonly scheme: ProxyScheme;
  readonly host: string;
  readonly port: number;
  readonly user?: string;
  /** From the URL; a password in a file is read when it is used. */
  readonly password?: string;
  readonly passwordFile?: string;
  /** PEM certificates that the TLS proxy may have besides those the system trusts. */
  readonly ca?: string;
}

/** A proxy as it is written. */
export interface WrittenProxy {
  readonly url: URL;
  readonly user?: string;
  readonly passwordFile?: string;
  readonly ca?: string;
}

/** What is wrong with it, by the key where that stands. */
export interface ProxyProblems {
  readonly wrong: readonly (readonly [key: keyof WrittenProxy, message: string])[];
}

/** Reads a proxy, or says what is wrong with it and where. */
export function readProxy(
  { url, ca, passwordFile, user: givenUser }: WrittenProxy,
): ProxySettings | ProxyProblems {
  const scheme = schemeOf(url);
  const user = givenUser ?? decoded(url.username);
  const password = decoded(url.password);
  const wrong: [key: keyof WrittenProxy, message: string][] = [];
  if (user === undefined || password === undefined) {
    wrong.push([
      "url",
      "must have a user name and password in which every % is followed by two hexadecimal digits",
    ]);
  }
  if (!/^\/?$/.test(url.pathname) || url.search !== "" || url.hash !== "") {
    wrong.push(["url", "must end after the port: a proxy has no path"]);
  }
  if (password && passwordFile !== undefined) {
    wrong.push(["passwordFile", "must not stand beside a password in the url"]);
  }
  if (givenUser !== undefined && url.username !== "") {
    wrong.push(["user", "must not stand beside a user name in the url"]);
  }
  if (user === "" && (password || passwordFile !== undefined)) {
    wrong.push(["user", "must be given where there is a password"]);
  }
  if (user && !password && passwordFile === undefined) {
    wrong.push(["passwordFile", "must be given where there is a user"]);
  }
  if (user?.includes(":") && scheme !== "socks5") {
    wrong.push(["user", "must not have a colon: HTTP takes what follows it for the password"]);
  }
  if (ca !== undefined && scheme !== "https") {
    wrong.push(["ca", "must stand beside an https:// url only: this proxy is not spoken to by TLS"]);
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

/** Where a proxy is, its host in the form in which hosts are compared. */
export function proxyTarget(url: URL): Target {
  const { host, port } = targetOf(url);
  return { host: normalHost(host), port };
}

function schemeOf({ protocol }: URL): ProxyScheme {
  if (protocol === "http:") return "http";
  return protocol === "https:" ? "https" : "socks5";
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A proxy by its URL alone, as programs are told of one; undefined for what is none. */
export function proxyOfUrl(text: string): ProxySettings | undefined {
  const url = /^(?:https?|socks5h?):\/\/[^\s/]/.test(text) ? URL.parse(text) : null;
  if (!url || url.hostname === "") return undefined;
  const proxy = readProxy({ url });
  return "wrong" in proxy ? undefined : proxy;
}
