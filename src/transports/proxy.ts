import { clusterProblem, proxyOfTransport } from "./cluster_proxy.ts";
import { defineTransport } from "./define_transport.ts";
import { proxySettings } from "./proxy_settings.ts";
import { UpstreamProxy } from "../http/mod.ts";

/** `proxy: { url }`: another HTTP or SOCKS5 proxy, or the one of a cluster. */
export default defineTransport({
  type: "proxy",
  settings: proxySettings,
  references: (settings) =>
    "cluster" in settings ? [{ name: settings.cluster, path: ["cluster"], problem: clusterProblem }] : [],
  create: (settings, deps) =>
    "cluster" in settings ? proxyOfTransport(settings, deps) : new UpstreamProxy(settings, deps),
});
