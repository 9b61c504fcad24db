import type { Endpoint } from "../words/mod.ts";
import { dialForClient } from "./dial_for_client.ts";
import type { Serve } from "./listener.ts";
import { tunnel } from "./http/tunnel.ts";

const none = new Uint8Array();
/** Nothing listens on port 0: a dial function that does not know sockets fails. */
const noTarget = { host: "localhost", port: 0 };

/**
 * Serves the clients of a forward: connects each to `target` without reading a request. If the
 * target cannot be reached, it drops the client; the record of the dial has the reason.
 */
export function serveForward(target: Endpoint, name?: string): Serve {
  const asked = {
    ...("path" in target ? { target: noTarget, socket: target.path } : { target }),
    ...(name !== undefined && { forward: name }),
  };
  return async (client, messages, deps, { signal, deadline }) => {
    deadline?.[Symbol.dispose]();
    let dialed;
    try {
      const request = { ...asked, client: client.peer, protocol: "forward" };
      dialed = await dialForClient(client, messages, request, { deps, signal });
    } catch (error) {
      return client.abort(error);
    }
    return tunnel(client, dialed, { deps, reply: none, messages, signal });
  };
}
