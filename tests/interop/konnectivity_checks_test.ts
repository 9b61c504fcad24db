import assert from "node:assert/strict";
import type { Transport } from "../../src/core/mod.ts";
import { frontends, KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurAgent, OurServer } from "../support/konnectivity_programs.ts";
import { isLongRun } from "../support/long_runs.ts";
import { readAll } from "../support/memory_conn.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

// The numbers refer to tests/konnectivity_checks.md.

const { signal } = new AbortController();
const [grpc] = frontends;
assert.ok(grpc);

async function fetchPage(transport: Transport, port: number, host = "127.0.0.1"): Promise<string> {
  await using conn = await transport.dial({ host, port }, { signal });
  await conn.write(new TextEncoder().encode("GET /success HTTP/1.0\r\nHost: a\r\n\r\n"));
  return new TextDecoder().decode(await readAll(conn));
}

peerTest(
  "check 28: the server chooses an agent by the target, ignoring case",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    const page = await lab.page();
    await using server = new OurServer(lab, grpc, { strategies: ["destHost"] });
    await using _agent = new OurAgent(lab, server, { identifiers: "ipv4=127.0.0.1&host=Local.Example" });
    await eventually("the agent has joined", () => server.known.isReady);
    await using client = konnectivityClient(lab, grpc, server.front);
    assert.match(await fetchPage(client, page), /success test page/);
    await assert.rejects(fetchPage(client, page, "127.0.0.2"), /No agent available/);
    await assert.rejects(fetchPage(client, page, "other.example"), /No agent available/);
    for (const host of ["local.example", "LOCAL.example"]) {
      // The agent gets the dial but cannot resolve the name.
      await assert.rejects(
        fetchPage(client, page, host),
        (error) => !/No agent available/.test(String(error)),
      );
    }
  },
);

peerTest(
  "check 29: a default-route agent handles the remaining targets",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    const page = await lab.page();
    await using server = new OurServer(lab, grpc, { strategies: ["destHost", "defaultRoute"] });
    await using _other = new OurAgent(lab, server, { id: "other", identifiers: "ipv4=10.9.9.9" });
    await eventually("the first has joined", () => server.known.size === 1);
    await using client = konnectivityClient(lab, grpc, server.front);
    await assert.rejects(fetchPage(client, page), /No agent available/);
    await lab.goAgent(server, ["--agent-identifiers=default-route=true"]);
    await eventually("the second has joined", () => server.known.size === 2);
    assert.match(await fetchPage(client, page), /success test page/);
  },
);

peerTest("check 31: an idle agent that drains notifies its server", konnectivityPeers, async (paths) => {
  await using lab = await KonnectivityLab.create(paths);
  await using server = new OurServer(lab, grpc);
  await using ours = new OurAgent(lab, server);
  await eventually("the agent has joined", () => server.known.isReady);
  await ours.agent.drain({ signal });
  await eventually("the server knows", () => [...server.known.links].every((link) => link.isDraining));
});

peerTest(
  "check 33: after many dials neither server nor agent has open tunnels",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    const page = await lab.page();
    await using server = new OurServer(lab, grpc);
    await using ours = new OurAgent(lab, server);
    await eventually("the agent has joined", () => server.known.isReady);
    await using client = konnectivityClient(lab, grpc, server.front);
    const rounds = isLongRun() ? 100 : 10;
    for (let round = 0; round < rounds; round++) {
      const pages = await Promise.all(Array.from({ length: 10 }, () => fetchPage(client, page)));
      for (const text of pages) assert.match(text, /success test page/);
    }
    const open = () =>
      [...server.known.links].reduce((sum, { dialer }) => sum + dialer.tunnels + dialer.pending, 0);
    await eventually("nothing is open", () => open() === 0 && ours.agent.connections === 0);
  },
);

peerTest(
  "check 34: the server drops a dial that its client aborts",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using server = new OurServer(lab, grpc);
    const agent = await lab.goAgent(server);
    await eventually("the agent has joined", () => server.known.isReady);
    agent.kill("SIGSTOP");
    await using client = konnectivityClient(lab, grpc, server.front);
    const stop = new AbortController();
    const dialing = client.dial({ host: "127.0.0.1", port: 1 }, { signal: stop.signal }).catch((error) =>
      error
    );
    const pending = () => [...server.known.links].reduce((sum, { dialer }) => sum + dialer.pending, 0);
    await eventually("the server waits for the agent", () => pending() === 1);
    stop.abort(new Error("aborted"));
    assert.match(String(await dialing), /aborted/);
    await eventually("the server has dropped the dial", () => pending() === 0);
    agent.kill("SIGCONT");
  },
);

peerTest(
  "check 35: a client survives a server that ends after 200 streams",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    const page = await lab.page();
    await using client = await (async () => {
      await using server = new OurServer(lab, grpc);
      await using _agent = new OurAgent(lab, server);
      await eventually("the agent has joined", () => server.known.isReady);
      const client = konnectivityClient(lab, grpc, server.front);
      for (let round = 0; round < 20; round++) {
        await Promise.all(Array.from({ length: 10 }, () => fetchPage(client, page)));
      }
      return client;
    })();
    await assert.rejects(fetchPage(client, page), { name: "PosternError" });
  },
);
