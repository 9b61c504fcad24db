import assert from "node:assert/strict";
import type { Conn } from "../../../../src/core/mod.ts";
import { serveAgent } from "../../../../src/konnectivity/server/agent_port.ts";
import { Agents } from "../../../../src/konnectivity/server/agents.ts";
import { Http2Connection } from "../../../../src/mux/mod.ts";
import { fieldValue, grpcRequest } from "../../../../src/wire/mod.ts";
import { konnectivityAgentPath } from "../../../../src/konnectivity/packets.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const hour = 3_600_000;

/** Holds back writes to a connection while a test needs it. */
function holding(conn: Conn): { readonly conn: Conn; hold(): void; release(): void } {
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const write = conn.write.bind(conn);
  conn.write = async (bytes) => {
    await gate.promise;
    await write(bytes);
  };
  return { conn, hold: () => gate = Promise.withResolvers(), release: () => gate.resolve() };
}

Deno.test("serveAgent() keeps an agent across sleeps and clock jumps, and drops a silent one", async () => {
  const clock = new FakeClock();
  const log = recordingLog();
  const stop = new AbortController();
  const { signal } = stop;
  const agents = new Agents({ clock, strategies: ["default"], dialTimeout: 10_000, random: () => 0 });
  const [near, far] = memoryPair();
  const hold = holding(near);
  const served = serveAgent(far, { agents, clock, log, server: { id: "server", count: () => 1 } }, {
    signal,
  });
  await using agent = new Http2Connection(hold.conn, { role: "client", clock: new FakeClock() });
  const metadata = [["agentid", "a"]] as const;
  const path = konnectivityAgentPath;
  const request = grpcRequest({ path, authority: "server", scheme: "https", metadata });
  const answer = await (await agent.request(request, { signal })).answer;
  assert.equal(fieldValue(answer, "serverid"), "server");
  assert.equal(agents.size, 1);

  for (const jump of [hour, -2 * hour]) {
    clock.jumpDate(jump);
    await clock.advance(10_000);
    assert.equal(agents.size, 1);
  }
  // Sleeps between two pings, and while a ping response is in flight.
  await clock.skip(hour);
  await clock.advance(10_000);
  assert.equal(agents.size, 1);
  hold.hold();
  await clock.advance(3000);
  await clock.skip(hour);
  assert.equal(agents.size, 1);
  hold.release();
  await clock.advance(60_000);
  assert.equal(agents.size, 1);

  hold.hold();
  await clock.advance(7000);
  await served;
  hold.release();
  assert.equal(agents.size, 0);
  assert.equal(log.lines.filter(({ event }) => event === "agent.lost").length, 1);
});
