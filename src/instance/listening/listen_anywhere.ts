import { type Endpoint, isPosternError } from "../../words/mod.ts";
import type { Listening, Network } from "../../world/mod.ts";

/** Listens; where no host is given, on every address of the machine, of both families where it has both. */
export function listenAnywhere(network: Pick<Network, "listen">, endpoint: Endpoint): Listening {
  if ("path" in endpoint || endpoint.host !== "") return network.listen(endpoint);
  try {
    return network.listen({ host: "::", port: endpoint.port });
  } catch (error) {
    // A kernel without IPv6.
    if (!isPosternError(error, "config") || error.detail !== "network") throw error;
    return network.listen({ host: "0.0.0.0", port: endpoint.port });
  }
}
