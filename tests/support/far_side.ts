import { formatTarget, parseTarget } from "../../src/words/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { ProxyServer, type ProxyServerOptions } from "./proxy_server.ts";

/**
 * Starts an upstream proxy on loopback that resolves private names: it maps each to an address of the test
 * (`web.lab.example:80` to `127.0.0.1:34567`) and dials other targets unchanged.
 */
export function farSide(
  names: Readonly<Record<string, string>>,
  options: ProxyServerOptions = { protocol: "socks5" },
): ProxyServer & { readonly address: string } {
  const network = createNetwork();
  const known = {
    ...network,
    connect: (endpoint: Parameters<typeof network.connect>[0], given: { signal: AbortSignal }) => {
      const address = "host" in endpoint ? names[formatTarget(endpoint)] : undefined;
      return network.connect(address === undefined ? endpoint : parseTarget(address), given);
    },
  };
  const server = new ProxyServer(known, { host: "127.0.0.1", port: 0 }, options);
  const address = "port" in server.endpoint ? formatTarget(server.endpoint) : "";
  return Object.assign(server, { address });
}
