import { type Conn, DuplexConn, whenAborted } from "../../core/mod.ts";
import { formatTarget, PosternError, reasonOf, type Target } from "../../words/mod.ts";
import { socketError } from "./socket_error.ts";

/** Connects from one of this machine's addresses; uses node's sockets because Deno's cannot select one. */
export async function connectFrom(
  local: string,
  { host, port }: Target,
  { signal }: { signal: AbortSignal },
): Promise<Conn> {
  const what = formatTarget({ host, port });
  // deno-lint-ignore rooms/imports -- Deno has no such call, and the result is a Conn
  const { connect } = await import("node:net");
  signal.throwIfAborted();
  const socket = connect({ host, port, localAddress: local, allowHalfOpen: true, noDelay: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  using _stop = whenAborted(signal, () => reject(signal.reason));
  socket.once("connect", resolve).once("error", reject);
  try {
    await promise;
  } catch (error) {
    socket.on("error", () => {}).destroy();
    if (signal.aborted) throw signal.reason;
    const failure = socketError(error, what);
    if (!(failure instanceof PosternError)) throw failure;
    // Add the local address to the reason: the caller names only the target.
    throw failure.with({ reason: `${reasonOf(failure)} (from ${local})` });
  } finally {
    socket.off("error", reject);
  }
  const { localAddress: from = local, localPort = 0 } = socket;
  return new DuplexConn(socket, {
    peer: what,
    local: formatTarget({ host: from, port: localPort }),
    failure: (error) => socketError(error, `the connection to ${what}`),
  });
}
