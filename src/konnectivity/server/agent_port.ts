import { type Clock, type Conn, type Log, whenAborted } from "../../core/mod.ts";
import { describe, isPosternError } from "../../words/mod.ts";
import { grpcAnswer, grpcRefusal, GrpcStream, Http2Connection, type Http2Exchange } from "../../mux/mod.ts";
import { isMarked, type PacketCount, PacketStream, posternMark } from "../packet_stream.ts";
import { PacketDialer } from "../packet_dialer.ts";
import { fieldValue, grpcCodes, type GrpcStatus } from "../../wire/mod.ts";
import { konnectivityAgentPath } from "../packets.ts";
import { readIdentifiers } from "./agent_identifiers.ts";
import type { AgentLink, Agents } from "./agents.ts";

export interface AgentPortDeps {
  readonly agents: Agents;
  readonly clock: Clock;
  readonly log: Log;
  /** The id and count sent to agents, so that each finds all servers. */
  readonly server: { readonly id: string; count(): number };
  /**
   * Checks an agent's token where certificates do not; throws `auth` to reject it. Without it tokens are not
   * required.
   */
  readonly authenticate?: ((token: string, options: { signal: AbortSignal }) => Promise<void>) | undefined;
  /** In ms: send a ping after this time without data from an agent. The built-in interval is the maximum. */
  readonly pulse?: number;
  readonly packets?: PacketCount;
  /** Called when an agent responds to an unknown dial. */
  readonly onStray?: () => void;
}

/** Serves an agent's connection until it ends; each stream counts as one agent. */
export async function serveAgent(
  conn: Conn,
  deps: AgentPortDeps,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const serving = new Set<Promise<void>>();
  await using connection = new Http2Connection(conn, {
    role: "server",
    clock: deps.clock,
    maxStreams: 100,
    onRequest: (exchange) => {
      const served = serveStream(exchange, deps, { signal }).finally(() => serving.delete(served));
      serving.add(served);
    },
  });
  using _stop = whenAborted(signal, () => connection.abort(signal.reason));
  try {
    await Promise.race([connection.ended, watch(connection, deps, signal)]);
  } finally {
    connection.abort(signal.aborted ? signal.reason : undefined);
    await Promise.all(serving);
  }
}

/** Drops an agent's connection and its tunnels when the agent stops responding. */
async function watch(
  connection: Http2Connection,
  { log, pulse = usualPulse }: AgentPortDeps,
  signal: AbortSignal,
): Promise<void> {
  try {
    await connection.keepAlive({ every: Math.min(pulse, usualPulse), deadAfter, signal });
  } catch (error) {
    log.warn("agent.lost", { peer: connection.peer, reason: describe(error) });
  }
}

async function serveStream(
  exchange: Http2Exchange,
  deps: AgentPortDeps,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const { agents, clock, log, server } = deps;
  try {
    const refusal = await refusalOf(exchange, deps, signal);
    if (refusal) {
      const { reason, ...status } = refusal;
      log.warn("agent.refused", { peer: exchange.peer, reason });
      return exchange.respond(grpcRefusal(status), { isEnd: true });
    }
    const id = fieldValue(exchange.requestFields, "agentid") ?? "";
    const isPostern = isMarked(exchange.requestFields);
    exchange.respond(grpcAnswer([
      ["serverid", server.id],
      ["servercount", String(server.count())],
      ...isPostern ? [posternMark] : [],
    ]));
    const grpc = new GrpcStream(exchange);
    const dialer = new PacketDialer(new PacketStream(grpc, deps.packets), {
      clock,
      isShared: true,
      ...deps.onStray && { onStray: deps.onStray },
      onDrain: () => {
        link.isDraining = true;
        log.info("agent.drains", { agent: id, peer: exchange.peer });
      },
    });
    const link: AgentLink = {
      id,
      identifiers: readIdentifiers(fieldValue(exchange.requestFields, "agentidentifiers") ?? ""),
      peer: exchange.peer,
      dialer,
      isDraining: false,
    };
    using _known = agents.add(link);
    log.info("agent.joined", { agent: id, peer: exchange.peer });
    const failure = await dialer.run();
    log.info("agent.left", {
      agent: id,
      peer: exchange.peer,
      ...failure !== undefined && { reason: describe(failure) },
    });
    grpc.end();
  } catch (error) {
    log.debug("agent.failed", { peer: exchange.peer, reason: describe(error) });
    exchange.reset();
  }
}

async function refusalOf(
  exchange: Http2Exchange,
  { authenticate }: AgentPortDeps,
  signal: AbortSignal,
): Promise<GrpcStatus & { readonly reason: string } | undefined> {
  const path = fieldValue(exchange.requestFields, ":path");
  if (path !== konnectivityAgentPath) {
    return refused(grpcCodes.unimplemented, `unknown method ${path}`);
  }
  const ids = exchange.requestFields.filter(([name]) => name === "agentid");
  if (ids.length !== 1 || ids[0]?.[1] === "") {
    return refused(grpcCodes.invalidArgument, "exactly one agentid is required");
  }
  if (!authenticate) return undefined;
  const [, token] = /^Bearer (\S+)$/.exec(fieldValue(exchange.requestFields, "authorization") ?? "") ?? [];
  if (token === undefined) return refused(grpcCodes.unauthenticated, "a bearer token is required");
  try {
    await authenticate(token, { signal });
    return undefined;
  } catch (error) {
    // The peer is not authenticated: only our log gets the reason.
    return isPosternError(error, "auth")
      ? refused(grpcCodes.unauthenticated, "the token is rejected", describe(error))
      : refused(grpcCodes.unavailable, "the server cannot check the token now", describe(error));
  }
}

function refused(code: number, message: string, reason = message): GrpcStatus & { readonly reason: string } {
  return { code, message, reason };
}

/** In ms: the interval and timeout of pings to silent agents; together less than ten seconds. */
const usualPulse = 3000;
const deadAfter = 4000;
