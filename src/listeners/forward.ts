import type { Target } from "../words/mod.ts";
import { dialForClient } from "./dial_for_client.ts";
import type { Serve } from "./listener.ts";
import { tunnel } from "./http/tunnel.ts";

const none = new Uint8Array();

/**
 * Serves the clients of a forward: connects each to `target` without reading a request. A client whose target
 * cannot be reached sees a reset; the record of the dial has the reason.
 */
export function serveForward(target: Target): Serve {
  return async (client, messages, deps, { signal, deadline }) => {
    deadline?.[Symbol.dispose]();
    let dialed;
    try {
      const request = { target, client: client.peer, protocol: "forward" };
      dialed = await dialForClient(client, messages, request, { deps, signal });
    } catch (error) {
      return client.abort(error);
    }
    return tunnel(client, dialed, { deps, reply: none, messages, signal });
  };
}
