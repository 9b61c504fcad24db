import assert from "node:assert/strict";
import { frontends, KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurAgent, OurServer } from "../support/konnectivity_programs.ts";
import { isLongRun } from "../support/long_runs.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

const { signal } = new AbortController();
const [, bySocket] = frontends;
assert.ok(bySocket);
const count = isLongRun() ? 1_000_000 : 3000;

peerTest(`check 33: ${count} closed tunnels leave nothing open`, konnectivityPeers, async (paths) => {
  await using lab = await KonnectivityLab.create(paths);
  const page = await lab.page();
  await using server = new OurServer(lab, bySocket);
  await using agent = new OurAgent(lab, server);
  await eventually("an agent has joined", () => server.known.isReady);
  await using client = konnectivityClient(lab, bySocket, server.front);
  const dialMany = async (many: number) => {
    let left = many;
    await Promise.all(Array.from({ length: 16 }, async () => {
      while (left-- > 0) {
        const conn = await client.dial({ host: "127.0.0.1", port: page }, { signal });
        await conn[Symbol.asyncDispose]();
      }
    }));
  };
  await dialMany(500);
  const before = Deno.memoryUsage().rss;
  await dialMany(count);
  const open = () =>
    [...server.known.links].reduce((sum, { dialer }) => sum + dialer.tunnels + dialer.pending, 0);
  await eventually("nothing is open", () => open() === 0 && agent.agent.connections === 0);
  const grown = Deno.memoryUsage().rss - before;
  assert.ok(grown < 100e6, `${Math.round(grown / 1e6)} MB are left`);
});
