import assert from "node:assert/strict";
import { agentCommand } from "../support/konnectivity_commands.ts";
import { FullTarget } from "../support/full_target.ts";
import { frontends, KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurServer } from "../support/konnectivity_programs.ts";
import { connectFront } from "../support/konnectivity_raw.ts";
import { isLongRun } from "../support/long_runs.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

const { signal } = new AbortController();
const [, grpc, , connect] = frontends;
assert.ok(grpc && connect);
/** The maximum duration in ms of a dial that the agent ends after five seconds. */
const mostWait = isLongRun() ? 7000 : 45_000;

for (const whose of ["postern", "Go"] as const) {
  peerTest(
    `check 13: a dial to a target with a full backlog fails after five seconds with that reason: ${whose} agent`,
    konnectivityPeers,
    async (paths) => {
      await using lab = await KonnectivityLab.create(paths);
      await using home = await Household.open();
      await using target = await FullTarget.create();
      await using byGrpc = new OurServer(lab, grpc, { dialTimeout: 60_000 });
      await using byConnect = new OurServer(lab, connect, { dialTimeout: 60_000 });
      for (const server of [byGrpc, byConnect]) {
        if (whose === "Go") await lab.goAgent(server);
        else await agentCommand(home, lab, { agents: server.agents });
        await eventually("an agent has joined", () => server.known.isReady);
      }
      await using client = konnectivityClient(lab, grpc, byGrpc.front);
      const from = performance.now();
      const to = `127.0.0.1:${target.port}`;
      await Promise.all([
        assert.rejects(client.dial({ host: "127.0.0.1", port: target.port }, { signal }), {
          code: "timeout",
        }),
        (async () => {
          await using conn = await connectFront(byConnect);
          await conn.write(new TextEncoder().encode(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n`));
          const into = new Uint8Array(4096);
          const said = new TextDecoder().decode(into.subarray(0, await conn.read(into) ?? 0));
          assert.match(said, /^HTTP\/1\.1 504 [^]*timeout/);
        })(),
      ]);
      const took = performance.now() - from;
      assert.ok(took > 4000 && took < mostWait, `${Math.round(took)} ms`);
    },
  );
}
