import { percentDecoded } from "../core/mod.ts";
import {
  type Context,
  described,
  file,
  optional,
  record,
  rootContext,
  text,
  transformed,
  url,
} from "../config/mod.ts";
import { normalHost } from "../words/mod.ts";

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

/** The proxy that a cluster has accepted for itself, by the name of the transport that leads to its API server. */
export interface ClusterProxySettings {
  readonly cluster: string;
}

const written = record({
  url: optional(described(
    url({ schemes: ["http", "https", "socks5", "socks5h"] }),
    "The proxy; the port is 80, 443 or 1080 unless it stands there",
  )),
  cluster: optional(described(
    text({ max: 63 }),
    "In place of a url: a kubernetes transport whose cluster has a Proxy/cluster; what it has accepted is used, with its no-proxy list and its certificates.",
  )),
  user: optional(described(text({ max: 255 }), "The user name at the proxy")),
  passwordFile: optional(described(file(), "A file with the password, in one line")),
  ca: optional(described(file(), "PEM certificates trusted for an https proxy besides the system's")),
}, { describe: "a mapping with url, user, passwordFile, ca, or with cluster" });

/** `proxy: { url, user, passwordFile, ca }`, or `proxy: { cluster }`. */
export const proxySettings = described(
  transformed(written, readSettings),
  "Goes through another proxy: HTTP or SOCKS5.",
);

const defaultPorts: Readonly<Record<ProxyScheme, number>> = { http: 80, https: 443, socks5: 1080 };

interface Written {
  readonly url?: URL;
  readonly cluster?: string;
  readonly user?: string;
  readonly passwordFile?: string;
  readonly ca?: string;
}

function readSettings(
  { url, cluster, ...more }: Written,
  context: Context,
): ProxySettings | ClusterProxySettings | undefined {
  if (cluster === undefined) {
    if (url) return readProxy({ url, ...more }, context);
    context.at("url").report("must be given, or cluster in its place");
    return undefined;
  }
  const beside = url ? ["url"] : Object.keys(more);
  for (const key of beside) context.at(key).report("must not stand beside cluster, which brings all of it");
  return beside.length === 0 ? { cluster } : undefined;
}

function readProxy(
  { url, ca, passwordFile, user: givenUser }: Written & { readonly url: URL },
  context: Context,
): ProxySettings | undefined {
  const scheme = schemeOf(url);
  const user = givenUser ?? percentDecoded(url.username);
  const password = percentDecoded(url.password);
  const wrong: [key: string, message: string][] = [];
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
  for (const [key, message] of wrong) context.at(key).report(message);
  if (wrong.length > 0) return undefined;
  return {
    scheme,
    host: normalHost(url.hostname),
    port: url.port === "" ? defaultPorts[scheme] : Number(url.port),
    ...(user && { user }),
    ...(password && { password }),
    ...(passwordFile !== undefined && { passwordFile }),
    ...(ca !== undefined && { ca }),
  };
}

function schemeOf({ protocol }: URL): ProxyScheme {
  if (protocol === "http:") return "http";
  return protocol === "https:" ? "https" : "socks5";
}

/** A proxy by its URL alone, as programs are told of one; undefined for what is none. */
export function proxySettingsOf(url: string): ProxySettings | undefined {
  const settings = proxySettings.parse({ url }, rootContext({ base: "/" }));
  return settings && !("cluster" in settings) ? settings : undefined;
}
