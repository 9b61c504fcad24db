import { PosternError } from "../../../src/words/mod.ts";
import type { TransportsSettings } from "../../../src/transports/mod.ts";
import { ProxyServer, type ProxyServerOptions } from "../../support/proxy_server.ts";
import { isNeverClosed, type TransportSetting, type TransportTried } from "../transport_contract.ts";
import { Surroundings } from "./surroundings.ts";

/** A transport through proxies, with the first proxy server at `192.0.2.100` and the next at `192.0.2.101`. */
export function proxySetting(
  settings: TransportsSettings,
  servers: readonly ProxyServerOptions[],
): TransportSetting {
  const all = new Surroundings({ "/password": "secret\n" });
  return all.build(settings, { cut: proxyServers(all, servers) });
}

export function upstream(at: number, scheme: string, more: object = {}): TransportsSettings[string] {
  return { kind: "proxy", settings: { scheme, host: `192.0.2.10${at}`, port: 3128, ...more } };
}

/** Starts the proxy servers of the settings, the first one at `192.0.2.100`. */
export function proxyServers(all: Surroundings, servers: readonly ProxyServerOptions[]): () => void {
  const proxies = servers.map((options, at) =>
    new ProxyServer(all.farSide, { host: `192.0.2.10${at}`, port: 3128 }, options)
  );
  all.after(async () => {
    for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
  });
  return () => all.network.faults.set("192.0.2.100", refusing());
}

const refusing = () => new PosternError("refused", "Cannot reach it: connection refused");

export function proxies(): readonly TransportTried[] {
  const signedIn = { user: "me", passwordFile: "/password" };
  const credentials = { user: "me", password: "secret" };
  const http = { refused: "unreachable", unknown: "unreachable" } as const;
  const socks5 = { refused: "refused", unknown: "unreachable" } as const;
  const tried = (
    name: string,
    codes: TransportTried["codes"],
    settings: TransportsSettings,
    servers: readonly ProxyServerOptions[],
  ): TransportTried => ({
    name: `proxy (${name})`,
    kind: "proxy",
    of: "UpstreamProxy",
    codes,
    open: () => Promise.resolve(proxySetting(settings, servers)),
    cannot: isNeverClosed,
  });
  return [
    tried("http", http, { it: upstream(0, "http") }, [{ protocol: "http" }]),
    tried("http, signed in", http, { it: upstream(0, "http", signedIn) }, [{
      protocol: "http",
      credentials,
    }]),
    tried("https", http, { it: upstream(0, "https") }, [{ protocol: "http" }]),
    tried("socks5", socks5, { it: upstream(0, "socks5") }, [{ protocol: "socks5" }]),
    tried("socks5, signed in", socks5, { it: upstream(0, "socks5", signedIn) }, [{
      protocol: "socks5",
      credentials,
    }]),
    tried("socks5, via http", socks5, {
      it: { ...upstream(0, "socks5"), via: "outer" },
      outer: upstream(1, "http"),
    }, [{ protocol: "socks5" }, { protocol: "http" }]),
    tried("http, via socks5", http, {
      it: { ...upstream(0, "http"), via: "outer" },
      outer: upstream(1, "socks5"),
    }, [{ protocol: "http" }, { protocol: "socks5" }]),
  ];
}
