// deno-lint-ignore rooms/imports -- node's sockets are the only ones for an inherited descriptor
import type { Socket } from "node:net";
import { formatTarget } from "../../words/mod.ts";
import { FlowingConn } from "./flowing_conn.ts";
import { socketError } from "./socket_error.ts";

/**
 * Wraps a node socket as a connection that `relay` reads with its own buffers. It uses the flowing mode:
 * reading the stream was a third slower.
 */
export class NodeSocketConn extends FlowingConn {
  readonly isSocket = true;

  constructor(socket: Socket, peer: string) {
    const { localAddress: host, localPort: port } = socket;
    super(socket, {
      peer,
      ...(host !== undefined && port !== undefined && { local: formatTarget({ host, port }) }),
      failure: (error) => socketError(error, `the connection to ${peer}`),
      onFull: () => void socket.pause(),
      onRoom: () => void socket.resume(),
    });
  }
}
