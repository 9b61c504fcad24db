import assert from "node:assert/strict";
import type { Transport } from "../../src/core/mod.ts";
import { frontends, KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurAgent, OurServer } from "../support/konnectivity_programs.ts";
import { readAll } from "../support/memory_conn.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

const { signal } = new AbortController();
const [grpc] = frontends;
assert.ok(grpc);

async function fetchPage(transport: Transport, port: number): Promise<string> {
  await using conn = await transport.dial({ host: "127.0.0.1", port }, { signal });
  await conn.write(new TextEncoder().encode("GET /success HTTP/1.0\r\nHost: a\r\n\r\n"));
  return new TextDecoder().decode(await readAll(conn));
}

/** A target that sends without end to whoever connects. */
function gusher(): { readonly port: number; [Symbol.asyncDispose](): Promise<void> } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const conns: Deno.Conn[] = [];
  const gushing: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const conn of listener) {
      conns.push(conn);
      gushing.push(
        (async () => {
          for (const bytes = new Uint8Array(64 * 1024);;) await conn.write(bytes);
        })().catch(() => {}),
      );
    }
  })().catch(() => {});
  return {
    port: (listener.addr as Deno.NetAddr).port,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const conn of conns) conn.close();
      await Promise.all([accepting, ...gushing]);
    },
  };
}

for (const whose of ["postern", "Go"] as const) {
  peerTest(
    `check 18: a client that does not read keeps no dial beside it waiting: ${whose} agent`,
    konnectivityPeers,
    async (paths) => {
      await using lab = await KonnectivityLab.create(paths);
      await using held = new AsyncDisposableStack();
      const page = await lab.page();
      const server = held.use(new OurServer(lab, grpc));
      if (whose === "Go") await lab.goAgent(server);
      else held.use(new OurAgent(lab, server));
      await eventually("an agent has joined", () => server.known.isReady);
      await using target = gusher();
      await using stalling = konnectivityClient(lab, grpc, server.front);
      const stalled = await stalling.dial({ host: "127.0.0.1", port: target.port }, { signal });
      assert.ok(await stalled.read(new Uint8Array(1000)));
      await using beside = konnectivityClient(lab, grpc, server.front);
      for (let round = 0; round < 100; round++) {
        assert.match(await fetchPage(beside, page), /success test page/);
      }
      stalled.abort();
    },
  );
}

peerTest(
  "check 15: an agent that is frozen is left out, and its twin of the same id is used at once",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    const page = await lab.page();
    await using server = new OurServer(lab, grpc);
    const frozen = await lab.goAgent(server, ["--agent-id=twin"]);
    await eventually("the first has joined", () => server.known.size === 1);
    await using transport = konnectivityClient(lab, grpc, server.front);
    assert.match(await fetchPage(transport, page), /success test page/);
    frozen.kill("SIGSTOP");
    const twin = await lab.goAgent(server, ["--agent-id=twin"]);
    await eventually("the second has joined", () => [...server.known.links].length === 2);
    assert.match(await fetchPage(transport, page), /success test page/);
    await eventually("the frozen one is left out", () => server.known.size === 1);
    assert.match(await fetchPage(transport, page), /success test page/);
    frozen.kill("SIGCONT");
    twin.kill("SIGKILL");
  },
);

peerTest(
  "check 25: an agent killed under traffic ends its connections, and nothing is left of them",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using server = new OurServer(lab, grpc);
    const agent = await lab.goAgent(server);
    await eventually("it has joined", () => server.known.isReady);
    await using target = gusher();
    await using transport = konnectivityClient(lab, grpc, server.front);
    const conn = await transport.dial({ host: "127.0.0.1", port: target.port }, { signal });
    const buffer = new Uint8Array(100_000);
    assert.ok(await conn.read(buffer));
    agent.kill("SIGKILL");
    // The end or an error: either way it does not hang.
    while (await conn.read(buffer).catch(() => null) !== null);
    await eventually("no agent is known", () => server.known.size === 0);
    await assert.rejects(transport.dial({ host: "127.0.0.1", port: 1 }, { signal }), /No agent available/);
  },
);
