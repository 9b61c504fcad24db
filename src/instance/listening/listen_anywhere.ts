import { type Endpoint, isPosternError } from "../../words/mod.ts";
import type { Listening, Network } from "../../world/mod.ts";

/** Listens on an endpoint; without a host, on the wildcard addresses of all available families. */
export function listenAnywhere(network: Pick<Network, "listen">, endpoint: Endpoint): Listening {
  if ("path" in endpoint || endpoint.host !== "") return network.listen(endpoint);
  try {
    return network.listen({ host: "::", port: endpoint.port });
  } catch (error) {
    // The kernel has no IPv6.
    if (!isPosternError(error, "config") || error.detail !== "network") throw error;
    return network.listen({ host: "0.0.0.0", port: endpoint.port });
  }
}
