import { type Context, described, file, optional, record, text, transformed, url } from "../config/mod.ts";
import { type ProxySettings, readProxy, type WrittenProxy } from "../http/mod.ts";

/** The proxy that a cluster has accepted for itself; `cluster` names the transport to its API server. */
export interface ClusterProxySettings {
  readonly cluster: string;
}

const written = record({
  url: optional(described(
    url({ schemes: ["http", "https", "socks5", "socks5h"] }),
    "The URL of the proxy (default port: 80 for http, 443 for https, 1080 for socks5 and socks5h).",
  )),
  cluster: optional(described(
    text({ max: 63 }),
    "Instead of url: a kubernetes transport. postern uses the proxy that its cluster has accepted in Proxy/cluster, with its no-proxy list and certificates.",
  )),
  user: optional(described(text({ max: 255 }), "The user name for the proxy.")),
  passwordFile: optional(described(file(), "A file with the password on one line.")),
  ca: optional(
    described(
      file(),
      "A PEM file with certificate authorities for an https proxy, in addition to the system's.",
    ),
  ),
}, { describe: "a mapping with url, user, passwordFile, ca, or with cluster" });

/** `proxy: { url, user, passwordFile, ca }`, or `proxy: { cluster }`. */
export const proxySettings = described(
  transformed(written, readSettings),
  "Connects through another proxy: HTTP or SOCKS5.",
);

type Written = Partial<WrittenProxy & ClusterProxySettings>;

function readSettings(
  { url, cluster, ...more }: Written,
  context: Context,
): ProxySettings | ClusterProxySettings | undefined {
  if (cluster === undefined) {
    if (!url) return void context.at("url").report("must be set, or cluster instead");
    const proxy = readProxy({ url, ...more });
    if (!("wrong" in proxy)) return proxy;
    for (const [key, message] of proxy.wrong) context.at(key).report(message);
    return undefined;
  }
  const conflicting = url ? ["url"] : Object.keys(more);
  for (const key of conflicting) {
    context.at(key).report("cannot be used with cluster, which provides these settings");
  }
  return conflicting.length === 0 ? { cluster } : undefined;
}
