import { asPosternError, type Conn, describe, relay } from "../../core/mod.ts";
import {
  grpcAnswer,
  grpcRefusal,
  GrpcStream,
  Http2Connection,
  type Http2Exchange,
  isMarked,
  PacketAnswerer,
  PacketStream,
  posternMark,
} from "../../sessions/mod.ts";
import { fieldValue, grpcCodes, konnectivity } from "../../wire/mod.ts";
import type { ListenerDeps } from "../listener.ts";

/** Serves a client of the gRPC frontend: it may dial on each of its streams, more than once too. */
export async function serveGrpcFront(
  conn: Conn,
  deps: ListenerDeps,
  { signal, draining }: { signal: AbortSignal; draining?: AbortSignal },
): Promise<void> {
  const serving = new Set<Promise<void>>();
  await using connection = new Http2Connection(conn, {
    role: "server",
    clock: deps.clock,
    maxStreams: deps.limits.connections,
    onRequest: (exchange) => {
      const served = serveStream(exchange, deps, { signal }).finally(() => serving.delete(served));
      serving.add(served);
    },
  });
  const stop = () => connection.abort(signal.reason);
  const drain = () => void connection.drain({ signal }).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  draining?.addEventListener("abort", drain, { once: true });
  if (draining?.aborted) drain();
  try {
    await connection.ended;
  } finally {
    signal.removeEventListener("abort", stop);
    draining?.removeEventListener("abort", drain);
    await Promise.all(serving);
  }
}

async function serveStream(
  exchange: Http2Exchange,
  deps: ListenerDeps,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const path = fieldValue(exchange.requestFields, ":path");
  try {
    if (path !== konnectivity.proxyPath) {
      const refusal = { code: grpcCodes.unimplemented, message: `unknown method ${path}` };
      return exchange.respond(grpcRefusal(refusal), { isEnd: true });
    }
    const isPostern = isMarked(exchange.requestFields);
    exchange.respond(grpcAnswer(isPostern ? [posternMark] : []));
    const grpc = new GrpcStream(exchange);
    await serveDials(grpc, deps, signal);
    grpc.end();
  } catch (error) {
    deps.log.debug("client.gone", {
      client: exchange.peer,
      protocol: "konnectivity",
      reason: describe(error),
    });
    exchange.reset();
  }
}

async function serveDials(grpc: GrpcStream, deps: ListenerDeps, signal: AbortSignal): Promise<void> {
  const client = grpc.exchange.peer;
  const answerer = new PacketAnswerer(new PacketStream(grpc), {
    clock: deps.clock,
    isShared: false,
    most: 100,
    onError: (error) =>
      deps.log.error("client.failed", { client, protocol: "konnectivity", reason: describe(error) }),
    answer: async (target, { signal }) => {
      const dialed = await deps.dial({ target, client, protocol: "konnectivity" }, { signal });
      return async (asker) => {
        const { tally, conn } = dialed;
        const { halfCloseLinger } = deps.limits;
        const { outcome, error } = await relay(asker, conn, { clock: deps.clock, tally, halfCloseLinger });
        dialed.finish(outcome, error);
      };
    },
  });
  try {
    await answerer.run({ signal });
  } catch (error) {
    if (asPosternError(error).detail !== "too_large") throw error;
    grpc.end({ code: grpcCodes.resourceExhausted, message: "a message is larger than 4 MiB" });
  }
}
