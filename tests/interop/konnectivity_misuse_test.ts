import assert from "node:assert/strict";
import type { PacketStream } from "../../src/konnectivity/packet_stream.ts";
import { fieldValue } from "../../src/wire/mod.ts";
import { konnectivityAgentPath } from "../../src/konnectivity/packets.ts";
import { KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurAgent, OurServer } from "../support/konnectivity_programs.ts";
import { nextPacket, RawPeer, secured } from "../support/konnectivity_raw.ts";
import { readAll } from "../support/memory_conn.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

const { signal } = new AbortController();
const bySocket = { mode: "grpc", isSocket: true } as const;
const byTls = { mode: "grpc", isSocket: false } as const;

interface Place extends AsyncDisposable {
  readonly lab: KonnectivityLab;
  readonly server: OurServer;
  readonly page: number;
  /** Whether a well-behaved client still works. */
  untouched(): Promise<void>;
}

/** A server with an agent, and a page that the agent reaches. */
async function openPlace(paths: Parameters<typeof KonnectivityLab.create>[0]): Promise<Place> {
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(await KonnectivityLab.create(paths));
  const page = await lab.page();
  const server = stack.use(new OurServer(lab, bySocket));
  stack.use(new OurAgent(lab, server));
  await eventually("an agent has joined", () => server.known.isReady);
  const client = stack.use(konnectivityClient(lab, bySocket, server.front));
  const kept = stack.move();
  return {
    lab,
    server,
    page,
    async untouched() {
      await using conn = await client.dial({ host: "127.0.0.1", port: page }, { signal });
      await conn.write(asking);
      assert.match(new TextDecoder().decode(await readAll(conn)), /success test page/);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const asking = new TextEncoder().encode("GET /success HTTP/1.0\r\nHost: a\r\n\r\n");

async function dial(stream: PacketStream, port: number, random: bigint): Promise<bigint> {
  await stream.send({ type: "dialRequest", protocol: "tcp", address: `127.0.0.1:${port}`, random });
  const { error, connectId } = await nextPacket(stream, "dialResponse");
  assert.equal(error, "");
  return connectId;
}

async function fetchPage(stream: PacketStream, connectId: bigint): Promise<string> {
  await stream.send({ type: "data", connectId, error: "", data: asking });
  let text = "";
  while (!text.includes("success test page")) {
    const packet = await nextPacket(stream, "data");
    assert.equal(packet.connectId, connectId);
    text += new TextDecoder().decode(packet.data);
  }
  return text;
}

peerTest(
  "checks 9 and 10: unknown, expired and missing certificates on both ports: no stream works",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using server = new OurServer(lab, byTls);
    assert.ok("port" in server.front);
    const ports = [["frontend", server.front.port], ["agent", server.agents]] as const;
    for (const [side, port] of ports) {
      const ca = lab.ca(side);
      const other = side === "agent" ? "frontend" : "agent";
      const wrong = {
        stranger: lab.pair("stranger", "client"),
        "of the other port": lab.pair(other, "client"),
        expired: await lab.expiredPair(side),
        none: {},
      };
      for (const [name, pair] of Object.entries(wrong)) {
        // With TLS 1.3 a client learns of the refusal after its own handshake is done.
        const refused = (async () => {
          const conn = await secured(port, { ca, ...pair });
          await using peer = new RawPeer(conn);
          const stream = await peer.proxy();
          await stream.grpc.exchange.answer;
        })();
        await assert.rejects(refused, Error, `${side}: ${name}`);
      }
      await using conn = await secured(port, { ca, ...lab.pair(side, "client") });
      await using peer = new RawPeer(conn);
      const stream = side === "agent" ? await peer.join("good") : await peer.proxy();
      assert.equal(fieldValue(await stream.grpc.exchange.answer, ":status"), "200");
    }
  },
);

peerTest(
  "checks 21 to 24: a client that violates the protocol gets a response, and others work",
  konnectivityPeers,
  async (paths, context) => {
    await using place = await openPlace(paths);
    await using peer = await RawPeer.atFront(place.server);
    const data = Uint8Array.of(1, 2, 3);

    await context.step("check 22: DATA before a dial gets a close and an error", async () => {
      const stream = await peer.proxy();
      await stream.send({ type: "data", connectId: 0n, error: "", data });
      const { error } = await nextPacket(stream, "closeResponse");
      assert.notEqual(error, "");
      stream.grpc.exchange.reset();
    });

    await context.step("unknown ids get a response, and the connection next to them survives", async () => {
      const stream = await peer.proxy();
      const connectId = await dial(stream, place.page, 7n);
      await stream.send({ type: "data", connectId: connectId + 99n, error: "", data });
      assert.equal((await nextPacket(stream, "closeResponse")).connectId, connectId + 99n);
      await stream.send({ type: "closeRequest", connectId: -5n });
      assert.equal((await nextPacket(stream, "closeResponse")).connectId, -5n);
      assert.match(await fetchPage(stream, connectId), /success/);
      stream.grpc.exchange.reset();
    });

    await context.step("check 21: two dials on one stream are two connections that both work", async () => {
      const stream = await peer.proxy();
      const first = await dial(stream, place.page, 1n);
      const second = await dial(stream, place.page, 2n);
      assert.notEqual(first, second);
      assert.match(await fetchPage(stream, second), /success/);
      stream.grpc.exchange.reset();
      const again = await peer.proxy();
      assert.match(await fetchPage(again, await dial(again, place.page, 3n)), /success/);
      again.grpc.exchange.reset();
    });

    await context.step("check 23: an unknown method ends with status 12", async () => {
      for (const path of ["/ProxyService/Nothing", konnectivityAgentPath, "/"]) {
        const stream = await peer.stream(path);
        assert.equal(await stream.receive(), undefined);
        assert.equal((await stream.grpc.status()).code, 12, path);
      }
    });

    await context.step("check 24: udp and unix are refused", async () => {
      const stream = await peer.proxy();
      for (const protocol of ["udp", "unix"]) {
        await stream.send({ type: "dialRequest", protocol, address: "127.0.0.1:53", random: 4n });
        assert.match((await nextPacket(stream, "dialResponse")).error, /not supported/);
      }
      stream.grpc.exchange.reset();
    });
    await place.untouched();
  },
);

peerTest(
  "check 24: an agent of postern dials only tcp, whatever its server requests",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    const server = await lab.goServer(bySocket);
    await using agent = new OurAgent(lab, server);
    await eventually("the agent has joined", () => agent.agent.isReady);
    await using peer = await RawPeer.atFront(server);
    for (const protocol of ["udp", "unix"]) {
      const stream = await peer.proxy();
      await stream.send({ type: "dialRequest", protocol, address: "127.0.0.1:53", random: 4n });
      assert.match((await nextPacket(stream, "dialResponse")).error, /not supported/);
      stream.grpc.exchange.reset();
    }
  },
);

peerTest(
  "check 20: a message of 5 MB ends its stream with status 8, and no other",
  konnectivityPeers,
  async (paths) => {
    await using place = await openPlace(paths);
    await using peer = await RawPeer.atFront(place.server);
    const other = await peer.proxy();
    const connectId = await dial(other, place.page, 1n);
    const stream = await peer.proxy();
    const large = stream.send({ type: "data", connectId: 1n, error: "", data: new Uint8Array(5_000_000) });
    // The server responds before the whole message has arrived.
    const written = large.catch(() => {});
    assert.equal(await stream.receive().catch(() => undefined), undefined);
    assert.equal((await stream.grpc.status()).code, 8);
    stream.grpc.exchange.reset();
    await written;
    assert.match(await fetchPage(other, connectId), /success/);
    await place.untouched();
  },
);

peerTest(
  "check 34: clients that vanish at any step leave no dial and no connection",
  konnectivityPeers,
  async (paths) => {
    await using place = await openPlace(paths);
    const { known } = place.server;
    const counts = () =>
      [...known.links].reduce((sum, { dialer }) => sum + dialer.pending + dialer.tunnels, 0);
    const steps: ((stream: PacketStream) => Promise<void> | void)[] = [
      () => {},
      async (stream) => void await stream.grpc.exchange.answer,
      (stream) => {
        const address = `127.0.0.1:${place.page}`;
        return stream.send({ type: "dialRequest", protocol: "tcp", address, random: 1n });
      },
      async (stream) => void await dial(stream, place.page, 1n),
      async (stream) => {
        const data = asking;
        await stream.send({ type: "data", connectId: await dial(stream, place.page, 1n), error: "", data });
      },
      async (stream) => void await fetchPage(stream, await dial(stream, place.page, 1n)),
    ];
    for (const [at, step] of steps.entries()) {
      for (const how of ["the stream", "the connection"] as const) {
        await using peer = await RawPeer.atFront(place.server);
        const stream = await peer.proxy();
        await step(stream);
        if (how === "the stream") stream.grpc.exchange.reset();
        else peer.connection.abort();
        await eventually(`nothing is left after step ${at}, ${how}`, () => counts() === 0);
      }
    }
    await place.untouched();
  },
);

peerTest(
  "if an agent answers never, twice or late, the dial ends completely",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using server = new OurServer(lab, bySocket, { dialTimeout: 300 });
    await using peer = await RawPeer.atAgents(lab, server);
    const agent = await peer.join("strange");
    await eventually("the agent has joined", () => server.known.isReady);
    await using client = konnectivityClient(lab, bySocket, server.front);
    const target = { host: "127.0.0.1", port: 9 };
    const [link] = server.known.links;
    assert.ok(link);

    // Never: the dial times out and is canceled.
    await assert.rejects(client.dial(target, { signal }), { code: "timeout" });
    const { random } = await nextPacket(agent, "dialRequest");
    assert.equal((await nextPacket(agent, "closeDial")).random, random);
    assert.equal(link.dialer.pending, 0);

    // Late: the connection made until then is closed.
    await agent.send({ type: "dialResponse", error: "", connectId: 41n, random });
    assert.equal((await nextPacket(agent, "closeRequest")).connectId, 41n);
    assert.equal(link.dialer.tunnels, 0);

    // Twice: the first response counts.
    const dialed = client.dial(target, { signal });
    const asked = await nextPacket(agent, "dialRequest");
    for (const connectId of [42n, 43n]) {
      await agent.send({ type: "dialResponse", error: "", connectId, random: asked.random });
    }
    await using conn = await dialed;
    await conn.write(Uint8Array.of(7));
    assert.equal((await nextPacket(agent, "data")).connectId, 42n);
    assert.equal(link.dialer.tunnels, 1);
  },
);
