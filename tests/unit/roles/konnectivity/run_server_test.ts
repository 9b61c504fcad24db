import assert from "node:assert/strict";
import type { KonnectivityServerSettings } from "../../../../src/roles/konnectivity/run_server.ts";
import { runKonnectivityServer } from "../../../../src/roles/mod.ts";
import { Http2Connection } from "../../../../src/mux/mod.ts";
import { grpcRequest } from "../../../../src/wire/mod.ts";
import { konnectivityProxyPath } from "../../../../src/konnectivity/packets.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const loopback = "127.0.0.1";
const path = "/run/konnectivity.sock";

/** A server with a Unix socket for clients and its other ports from `port` upward. */
function settings(id: string, port: number): KonnectivityServerSettings {
  return {
    mode: "grpc",
    id,
    count: 1,
    strategies: ["default"],
    front: { path },
    agents: { host: loopback, port },
    health: { host: loopback, port: port + 1 },
    admin: { host: loopback, port: port + 2 },
    replacesSocket: true,
    frontTls: {},
    agentTls: {},
    cluster: {},
    dialTimeout: 10_000,
    drain: 40_000,
    pulse: { agents: 3000, clients: 3_600_000 },
  };
}

Deno.test("runKonnectivityServer() keeps the socket of a new server that started during its drain", async () => {
  const world = new MemoryWorld();
  const { clock, network, files } = world;
  const log = recordingLog();
  const start = async (id: string, port: number) => {
    const stop = new AbortController();
    const ready = Promise.withResolvers<void>();
    const state = { isOver: false };
    const running = runKonnectivityServer(settings(id, port), world, {
      log,
      onReady: () => Promise.resolve(ready.resolve()),
      signal: stop.signal,
    }).finally(() => state.isOver = true);
    await Promise.race([ready.promise, running]);
    return { stop, running, state };
  };
  const { signal } = new AbortController();
  const former = await start("former", 9000);
  const client = new Http2Connection(await network.connect({ path }, { signal }), { role: "client", clock });
  const request = grpcRequest({ path: konnectivityProxyPath, authority: "localhost", scheme: "http" });
  const exchange = await client.request(request, { signal });
  await exchange.answer;
  former.stop.abort();
  await clock.advance(1000);
  assert.equal(former.state.isOver, false);

  const next = await start("next", 9100);
  exchange.end();
  const end = async ({ stop, running, state }: typeof former) => {
    stop.abort();
    while (!state.isOver) await clock.advance(100);
    await running;
  };
  await end(former);
  assert.ok(await files.info(path), "the socket is gone");
  await end(next);
  await client[Symbol.asyncDispose]();
});
