// deno-lint-ignore rooms/imports -- of a socket that somebody else has opened only node's have the descriptor
import type { Socket } from "node:net";
import { formatTarget } from "../../words/mod.ts";
import { FlowingConn } from "./flowing_conn.ts";
import { socketError } from "./socket_error.ts";

/**
 * A socket of node's as a connection that `relay` moves with its own buffers. Bytes are taken in the flowing mode:
 * reading the stream was a third slower.
 */
export class NodeSocketConn extends FlowingConn {
  readonly isSocket = true;

  constructor(socket: Socket, peer: string) {
    const { localAddress: host, localPort: port } = socket;
    super(socket, {
      peer,
      ...(host !== undefined && port !== undefined && { local: formatTarget({ host, port }) }),
      failure: (error) => socketError(error, `the connection with ${peer}`),
      onFull: () => void socket.pause(),
      onRoom: () => void socket.resume(),
    });
  }
}
