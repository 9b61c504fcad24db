import { asPosternError, describe } from "../../words/mod.ts";
import { type Conn, relay, whenAborted } from "../../core/mod.ts";
import { grpcAnswer, grpcRefusal, GrpcStream, Http2Connection, type Http2Exchange } from "../../mux/mod.ts";
import { isMarked, type PacketCount, PacketStream, posternMark } from "../packet_stream.ts";
import { PacketAnswerer } from "../packet_answerer.ts";
import { fieldValue, grpcCodes } from "../../wire/mod.ts";
import { konnectivityProxyPath } from "../packets.ts";
import type { ListenerDeps } from "../../listeners/mod.ts";

export interface GrpcFrontOptions {
  readonly signal: AbortSignal;
  readonly draining?: AbortSignal;
  /** In ms: send a ping after this time without data from a client. */
  readonly pulse?: number;
  /** Called once per stream; disposed at its end. */
  readonly count?: () => PacketCount & Disposable;
}

/** Serves a client of the gRPC frontend. Each stream may carry several dials. */
export async function serveGrpcFront(
  conn: Conn,
  deps: ListenerDeps,
  options: GrpcFrontOptions,
): Promise<void> {
  const { signal, draining, pulse: every } = options;
  const serving = new Set<Promise<void>>();
  await using connection = new Http2Connection(conn, {
    role: "server",
    clock: deps.clock,
    maxStreams: deps.limits.connections,
    onRequest: (exchange) => {
      const served = serveStream(exchange, deps, options).finally(() => serving.delete(served));
      serving.add(served);
    },
  });
  using _stop = whenAborted(signal, () => connection.abort(signal.reason));
  using _drain = draining && whenAborted(draining, () => void connection.drain({ signal }).catch(() => {}));
  // The end of the connection reports the failure.
  const watching = every && connection.keepAlive({ every, deadAfter, signal }).catch(() => {});
  try {
    await connection.ended;
    await watching;
  } finally {
    await Promise.all(serving);
  }
}

async function serveStream(
  exchange: Http2Exchange,
  deps: ListenerDeps,
  { signal, count }: GrpcFrontOptions,
): Promise<void> {
  const path = fieldValue(exchange.requestFields, ":path");
  try {
    if (path !== konnectivityProxyPath) {
      const refusal = { code: grpcCodes.unimplemented, message: `unknown method ${path}` };
      return exchange.respond(grpcRefusal(refusal), { isEnd: true });
    }
    const isPostern = isMarked(exchange.requestFields);
    exchange.respond(grpcAnswer(isPostern ? [posternMark] : []));
    const grpc = new GrpcStream(exchange);
    using counted = count?.();
    await serveDials(grpc, deps, { signal, ...counted && { packets: counted } });
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

async function serveDials(
  grpc: GrpcStream,
  deps: ListenerDeps,
  { signal, packets }: { readonly signal: AbortSignal; readonly packets?: PacketCount },
): Promise<void> {
  const client = grpc.exchange.peer;
  const answerer = new PacketAnswerer(new PacketStream(grpc, packets), {
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

/** In ms, like Go servers. */
const deadAfter = 20_000;
