import { type Context, described, file, optional, record, text, transformed, url } from "../config/mod.ts";
import { type ProxySettings, readProxy, type WrittenProxy } from "../http/mod.ts";

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

type Written = Partial<WrittenProxy & ClusterProxySettings>;

function readSettings(
  { url, cluster, ...more }: Written,
  context: Context,
): ProxySettings | ClusterProxySettings | undefined {
  if (cluster === undefined) {
    if (!url) return void context.at("url").report("must be given, or cluster in its place");
    const proxy = readProxy({ url, ...more });
    if (!("wrong" in proxy)) return proxy;
    for (const [key, message] of proxy.wrong) context.at(key).report(message);
    return undefined;
  }
  const beside = url ? ["url"] : Object.keys(more);
  for (const key of beside) context.at(key).report("must not stand beside cluster, which brings all of it");
  return beside.length === 0 ? { cluster } : undefined;
}
