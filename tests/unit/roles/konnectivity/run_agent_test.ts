import assert from "node:assert/strict";
import { runKonnectivityAgent } from "../../../../src/roles/mod.ts";
import { Deadlines, type Dial } from "../../../../src/core/mod.ts";
import { serveAgent } from "../../../../src/konnectivity/server/agent_port.ts";
import { Agents } from "../../../../src/konnectivity/server/agents.ts";
import { serveConnectFront } from "../../../../src/konnectivity/server/connect_front.ts";
import { memoryPair, readAll } from "../../../support/memory_conn.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const loopback = "127.0.0.1";
const silent = "192.0.2.1";
const settings: Parameters<typeof runKonnectivityAgent>[0] = {
  server: { host: loopback, port: 8091 },
  tls: { ca: "/pki/ca.crt" },
  id: "agent",
  identifiers: "",
  health: { host: loopback, port: 8093 },
  admin: { host: loopback, port: 8094 },
  alpn: [],
  pulse: 3000,
  looksForever: false,
  retry: { first: 1000, most: 10_000 },
  allowed: [],
};

Deno.test("check 13: an agent trusts only its CA, waits five seconds for a silent target, and the client gets 504", async () => {
  const world = new MemoryWorld({ files: { "/pki/ca.crt": "authority" } });
  const { clock, network } = world;
  network.tls = (conn) => Promise.resolve(conn);
  network.faults.set(silent, "silent");
  const log = recordingLog();
  const stop = new AbortController();
  const { signal } = stop;
  const agents = new Agents({ clock, strategies: ["default"], dialTimeout: 10_000, random: () => 0 });
  await using port = network.listen({ host: loopback, port: 8091 });
  const serving = port.accept().then(async (conn) => {
    assert.ok(conn);
    await serveAgent(conn, { agents, clock, log, server: { id: "server", count: () => 1 } }, { signal });
  });
  const ready = Promise.withResolvers<unknown>();
  const running = runKonnectivityAgent(
    settings,
    world,
    { log, onReady: (addresses) => Promise.resolve(ready.resolve(addresses)), draining: signal, signal },
  );
  await Promise.race([ready.promise, running]);
  await clock.advance(10);
  assert.equal(agents.size, 1);
  // A server with a certificate from a system CA must not get the agent's token.
  assert.deepEqual(network.secured.map(({ ca, trust }) => ({ ca, trust })), [{
    ca: "authority",
    trust: "ca",
  }]);

  const [near, far] = memoryPair();
  using deadlines = new Deadlines(clock);
  const dial: Dial = async ({ target }, { signal }) => {
    const conn = await agents.dial(target, { signal });
    return { conn, tally: { up: 0, down: 0 }, finish: () => void conn[Symbol.asyncDispose]() };
  };
  const limits = { connections: 10, handshake: 60_000, halfCloseLinger: 1000 };
  const served = serveConnectFront(far, { dial, clock, log, deadlines, limits }, { signal });
  await near.write(new TextEncoder().encode(`CONNECT ${silent}:80 HTTP/1.1\r\nHost: ${silent}\r\n\r\n`));
  let said: string | undefined;
  const hearing = readAll(near).then((bytes) => said = new TextDecoder().decode(bytes));
  // Advance in steps: the request passes through client, server and agent.
  for (let step = 0; step < 100; step++) await clock.advance(0);
  assert.deepEqual(network.connects.at(-1), `${silent}:80`);
  await clock.advance(4999);
  assert.equal(said, undefined);
  await clock.advance(1);
  for (let step = 0; step < 100; step++) await clock.advance(0);
  await Promise.all([hearing, served]);
  assert.match(said ?? "", /^HTTP\/1\.1 504 [^]*i\/o timeout/);

  stop.abort(new Error("the test has ended"));
  let isOver = false;
  const ended = Promise.all([running, serving]).finally(() => isOver = true);
  while (!isOver) await clock.advance(100);
  await ended;
});

Deno.test("an agent with unreadable certificates leaves no connection open", async () => {
  const world = new MemoryWorld({ files: { "/pki/ca.crt": "authority" } });
  const { clock, network } = world;
  network.tls = (conn) => Promise.resolve(conn);
  const log = recordingLog();
  const stop = new AbortController();
  const { signal } = stop;
  const agents = new Agents({ clock, strategies: ["default"], dialTimeout: 10_000, random: () => 0 });
  const port = network.listen({ host: loopback, port: 8091 });
  const leave = new AbortController();
  const serving = (async () => {
    const conn = await port.accept();
    assert.ok(conn);
    const server = { id: "server", count: () => 1 };
    await serveAgent(conn, { agents, clock, log, server }, { signal: leave.signal });
  })();
  const ready = Promise.withResolvers<unknown>();
  const running = runKonnectivityAgent(
    settings,
    world,
    { log, onReady: (addresses) => Promise.resolve(ready.resolve(addresses)), draining: signal, signal },
  );
  await Promise.race([ready.promise, running]);
  await clock.advance(10);
  assert.equal(agents.size, 1);
  await world.files.remove("/pki/ca.crt");
  leave.abort(new Error("the server stops"));
  for (let ms = 0; ms < 30_000; ms += 100) await clock.advance(100);
  await serving;
  assert.ok(log.lines.filter(({ event }) => event === "server.unreachable").length > 3);
  assert.equal(network.open, 0);

  stop.abort(new Error("the test has ended"));
  let isOver = false;
  const ended = running.finally(() => isOver = true);
  while (!isOver) await clock.advance(100);
  await ended;
  port.close();
});
