import assert from "node:assert/strict";
import type { Transport } from "../../src/core/mod.ts";
import { agentCommand, metricOf, serverCommand } from "../support/konnectivity_commands.ts";
import { frontends, KonnectivityLab, konnectivityPeers, untilReady } from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurAgent, OurServer } from "../support/konnectivity_programs.ts";
import { isLongRun } from "../support/long_runs.ts";
import { readAll } from "../support/memory_conn.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

const { signal } = new AbortController();
const [grpc] = frontends;
assert.ok(grpc);

async function fetchPage(transport: Transport, port: number): Promise<string> {
  await using conn = await transport.dial({ host: "127.0.0.1", port }, { signal });
  await conn.write(new TextEncoder().encode("GET /success HTTP/1.0\r\nHost: a\r\n\r\n"));
  return new TextDecoder().decode(await readAll(conn));
}

/** A target that sends endless data to every client. */
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
    `check 18: a client that does not read does not delay other dials: ${whose} agent`,
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
      await using other = konnectivityClient(lab, grpc, server.front);
      for (let round = 0; round < 100; round++) {
        assert.match(await fetchPage(other, page), /success test page/);
      }
      stalled.abort();
    },
  );
}

/**
 * The time in ms until a server stops using a frozen agent: the promised time, plus some for a loaded
 * machine.
 */
const leftOutWithin = isLongRun() ? 10_000 : 60_000;

peerTest(
  "check 14: dials through an agent frozen by SIGSTOP fail over or fail clearly, and SIGCONT restores it",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using home = await Household.open();
    const page = await lab.page();
    const server = await serverCommand(home, lab);
    const ours = (await agentCommand(home, lab, { agents: server.agents })).program;
    const go = await lab.goAgent(server, ["--sync-interval=500ms", "--sync-interval-cap=1s"]);
    const known = 'konnectivity_network_proxy_server_ready_backends{proxy_strategy="default"}';
    const areKnown = (count: number) => async () => await metricOf(server.health, known) === count;
    const isReady = async () => {
      const answer = await fetch(`http://127.0.0.1:${server.health}/readyz`);
      await answer.body?.cancel();
      return answer.status;
    };
    await eventually("both have joined", areKnown(2));
    await using client = konnectivityClient(lab, grpc, { port: server.front });
    const dialMany = async () => {
      const from = performance.now();
      const dials = await Promise.allSettled(Array.from({ length: 10 }, () => fetchPage(client, page)));
      return { dials, took: performance.now() - from };
    };
    try {
      ours.kill("SIGSTOP");
      const over = dialMany();
      await eventually("the server stops using our agent", areKnown(1), leftOutWithin);
      assert.equal(await isReady(), 200);
      // Half of the dials went to the frozen agent, unless the server stopped using it; in both cases the Go
      // agent serves them.
      for (const dial of (await over).dials) {
        assert.match(dial.status === "fulfilled" ? dial.value : String(dial.reason), /success test page/);
      }

      go.kill("SIGSTOP");
      const lost = dialMany();
      await eventually(
        "the server stops using the Go agent too",
        async () => await isReady() === 500,
        leftOutWithin,
      );
      assert.equal(await metricOf(server.health, known), 0);
      const { dials, took } = await lost;
      for (const dial of dials) {
        assert.equal(dial.status, "rejected");
        assert.equal(dial.reason.name, "PosternError", String(dial.reason));
      }
      assert.ok(took < leftOutWithin, `${Math.round(took)} ms`);
      await assert.rejects(fetchPage(client, page), /No agent available/);

      ours.kill("SIGCONT");
      await untilReady(server.health);
      assert.match(await fetchPage(client, page), /success test page/);
    } finally {
      ours.kill("SIGCONT");
      go.kill("SIGCONT");
    }
    await eventually("both are back", areKnown(2));
    for (let round = 0; round < 10; round++) {
      assert.match(await fetchPage(client, page), /success test page/);
    }
  },
);

peerTest(
  "check 15: the server replaces a frozen agent at once by another one with the same id",
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
    await eventually("the server stops using the frozen one", () => server.known.size === 1);
    assert.match(await fetchPage(transport, page), /success test page/);
    frozen.kill("SIGCONT");
    twin.kill("SIGKILL");
  },
);

peerTest(
  "check 25: killing an agent under load ends its connections completely",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using server = new OurServer(lab, grpc);
    const agent = await lab.goAgent(server);
    await eventually("the agent has joined", () => server.known.isReady);
    await using target = gusher();
    await using transport = konnectivityClient(lab, grpc, server.front);
    const conn = await transport.dial({ host: "127.0.0.1", port: target.port }, { signal });
    const buffer = new Uint8Array(100_000);
    assert.ok(await conn.read(buffer));
    agent.kill("SIGKILL");
    // The connection may end or fail, but it must not hang.
    while (await conn.read(buffer).catch(() => null) !== null);
    await eventually("no agent is connected", () => server.known.size === 0);
    await assert.rejects(transport.dial({ host: "127.0.0.1", port: 1 }, { signal }), /No agent available/);
  },
);
