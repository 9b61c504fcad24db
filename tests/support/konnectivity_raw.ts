import type { Conn } from "../../src/core/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { GrpcStream, Http2Connection } from "../../src/mux/mod.ts";
import { PacketStream } from "../../src/konnectivity/packet_stream.ts";
import { fieldValue, grpcRequest, type HeaderField } from "../../src/wire/mod.ts";
import { konnectivityAgentPath, konnectivityProxyPath, type Packet } from "../../src/konnectivity/packets.ts";
import type { KonnectivityLab, Pair } from "./konnectivity_lab.ts";
import type { OurServer } from "./konnectivity_programs.ts";

const { signal } = new AbortController();

/** A client or an agent that sends arbitrary packets. */
export class RawPeer implements AsyncDisposable {
  readonly connection: Http2Connection;

  constructor(conn: Conn) {
    this.connection = new Http2Connection(conn, { role: "client", clock: systemClock });
  }

  /** Connects to a server's frontend, which is a socket. */
  static async atFront(server: Pick<OurServer, "front">): Promise<RawPeer> {
    return new RawPeer(await connectFront(server));
  }

  /** Connects to a server's port for agents. */
  static async atAgents(lab: KonnectivityLab, server: OurServer): Promise<RawPeer> {
    const pair = { ...lab.pair("agent", "client"), ca: lab.ca("agent") };
    return new RawPeer(await secured(server.agents, pair));
  }

  /** Opens one stream. */
  async stream(path: string, metadata: readonly HeaderField[] = []): Promise<PacketStream> {
    const fields = grpcRequest({ path, authority: "server", scheme: "https", metadata });
    return new PacketStream(new GrpcStream(await this.connection.request(fields, { signal })));
  }

  /** Opens a stream on which a client dials. */
  proxy(): Promise<PacketStream> {
    return this.stream(konnectivityProxyPath);
  }

  /** Joins as an agent and returns the stream with the server's dial requests. */
  async join(id: string): Promise<PacketStream> {
    const stream = await this.stream(konnectivityAgentPath, [["agentid", id]]);
    const answer = await stream.grpc.exchange.answer;
    if (fieldValue(answer, "serverid") === undefined) throw new Error("the server did not accept the agent");
    return stream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connection[Symbol.asyncDispose]();
  }
}

/** Connects to a frontend that is a socket. */
export async function connectFront(server: Pick<OurServer, "front">): Promise<Conn> {
  if (!("path" in server.front)) throw new Error("the frontend is not a socket");
  return await createNetwork().connect(server.front, { signal });
}

/** Connects with TLS to a loopback port. */
export async function secured(
  port: number,
  { ca, cert, key }: { readonly ca: string } & Partial<Pair>,
): Promise<Conn> {
  const network = createNetwork();
  const read = (path: string) => Deno.readTextFile(path);
  const conn = await network.connect({ host: "127.0.0.1", port }, { signal });
  return await network.secure(conn, {
    serverName: "127.0.0.1",
    alpn: ["h2"],
    ca: await read(ca),
    ...(cert !== undefined && key !== undefined && { cert: await read(cert), key: await read(key) }),
    signal,
  });
}

/** Returns the next packet of a kind and skips others. */
export async function nextPacket<Type extends Packet["type"]>(
  stream: PacketStream,
  type: Type,
): Promise<Packet & { type: Type }> {
  for (let packet; (packet = await stream.receive());) {
    if (packet.type === type) return packet as Packet & { type: Type };
  }
  throw new Error(`the stream ended before ${type}`);
}
