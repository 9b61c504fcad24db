import assert from "node:assert/strict";
import { type Conn, Deadlines } from "../../../src/core/mod.ts";
import type { Listening } from "../../../src/world/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { type ListenerDeps, type Serve, serveListener, serveMixed } from "../../../src/listeners/mod.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";
import { bytesOf, FakeDial, fromHex, readExactly, readUntil, toHex } from "../../support/fake_dial.ts";
import { readAll } from "../../support/memory_conn.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { recordingLog } from "../../support/recording_log.ts";

interface OpenListener {
  readonly listening: Listening;
  readonly connect: () => Promise<Conn>;
  readonly served: Promise<void>;
  readonly stop: AbortController;
  readonly dials: FakeDial;
  readonly clock: FakeClock;
  readonly log: ReturnType<typeof recordingLog>;
}

function openListener(
  { connections = 2, serve = serveMixed }: { connections?: number; serve?: Serve } = {},
): OpenListener {
  const clock = new FakeClock();
  const log = recordingLog();
  const dials = new FakeDial();
  const deps: ListenerDeps = {
    dial: dials.dial,
    clock,
    log,
    deadlines: new Deadlines(clock),
    limits: { connections, handshake: 10_000, halfCloseLinger: 30_000 },
  };
  const network = new MemoryNetwork();
  const listening = network.listen({ host: "127.0.0.1", port: 1 });
  const open = () => network.connect(listening.endpoint, { signal: stop.signal });
  const stop = new AbortController();
  return {
    listening,
    connect: open,
    stop,
    dials,
    clock,
    log,
    served: serveListener(listening, serve, deps, { signal: stop.signal }),
  };
}

const request = bytesOf("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n");

Deno.test("serveListener() answers clients over the limit in their own protocol, and serves again after one leaves", async () => {
  const { connect, stop, dials, clock, log, served } = openListener();
  const clients = [await connect(), await connect()];
  for (const client of clients) await client.write(request);
  const first = await dials.nth(0);
  await dials.nth(1);

  const socks = await connect();
  await socks.write(fromHex("050100"));
  assert.equal(toHex(await readExactly(socks, 2)), "0500");
  await socks.write(fromHex("05010001c00002010050"));
  assert.equal(toHex(await readAll(socks)), "05010001000000000000");
  await socks[Symbol.asyncDispose]();

  const http = await connect();
  await http.write(bytesOf("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"));
  const answer = new TextDecoder().decode(await readAll(http));
  assert.match(answer, /^HTTP\/1.1 503 cannot accept another connection: 2 are open\r\n/);
  assert.match(answer, /\r\nConnection: close\r\n/);
  await http[Symbol.asyncDispose]();

  const silent = await connect();
  await settle();
  await clock.advance(1_100);
  await assert.rejects(silent.read(new Uint8Array(1)));
  assert.equal(
    log.lines.filter(({ event }) => event === "instance.full").length,
    1,
    "logged at most once a second",
  );

  clients[0]?.abort();
  first.target.abort();
  await settle();
  await (await connect()).write(request);
  assert.deepEqual((await dials.nth(2)).request.target, { host: "a", port: 1 });
  stop.abort(new PosternError("cancelled", "enough"));
  await served;
});

Deno.test("serveListener() drops the oldest client over the limit without a request when 64 wait", async () => {
  const { connect, stop, clock, served } = openListener({ connections: 0 });
  const waiting = await Promise.all(Array.from({ length: 64 }, connect));
  for (const half of waiting.slice(1)) await half.write(request.subarray(0, 9));
  for (let turn = 0; turn < 64; turn++) await settle();
  for (const [turn, oldest] of waiting.slice(0, 3).entries()) {
    const late = await connect();
    await late.write(request);
    assert.match(new TextDecoder().decode(await readAll(late)), /^HTTP\/1.1 503 /, `client ${turn}`);
    await late[Symbol.asyncDispose]();
    await assert.rejects(oldest.read(new Uint8Array(1)));
    // The dropped client's place is free.
    waiting.push(await connect());
  }
  await clock.advance(1_100);
  for (const client of waiting) await assert.rejects(client.read(new Uint8Array(1)));
  stop.abort();
  await served;
  assert.equal(clock.waiting, 0);
});

Deno.test("serveListener() immediately closes a client over the limit when 64 get answers", async () => {
  const { connect, stop, served } = openListener({
    connections: 0,
    serve: (_client, _messages, _deps, { signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
  });
  for (let count = 0; count < 64; count++) await connect();
  for (let turn = 0; turn < 64; turn++) await settle();
  await assert.rejects((await connect()).read(new Uint8Array(1)));
  stop.abort();
  await served;
});

Deno.test("serveListener() drops every client when its signal aborts, in every state", async () => {
  const { connect, stop, dials, clock, served } = openListener({ connections: 9 });
  const clients: Conn[] = [];
  for (
    const sent of ["", "\x05", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\n\r\n"]
  ) {
    const client = await connect();
    await client.write(bytesOf(sent));
    clients.push(client);
  }
  await dials.nth(1);
  await settle();
  stop.abort(new PosternError("cancelled", "The instance is stopping"));
  await served;
  for (const client of clients) await assert.rejects(readAll(client));
  for (const { outcome } of dials.made) assert.notEqual(outcome, undefined);
  assert.equal(clock.waiting, 0);
});

Deno.test("serveListener() drops an HTTP client without a pending read when its signal aborts", async () => {
  const { connect, stop, dials, clock, served } = openListener({ connections: 9 });
  const get = "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n";
  for (
    const sent of [
      get.repeat(1000),
      `POST http://a/ HTTP/1.1\r\nContent-Length: 200000\r\n\r\n${"x".repeat(150_000)}`,
    ]
  ) {
    const client = await connect();
    void client.write(bytesOf(sent)).catch(() => {});
  }
  await dials.nth(1);
  await settle();
  stop.abort(new PosternError("cancelled", "The instance is stopping"));
  await served;
  for (const { outcome } of dials.made) assert.equal(outcome, "client_gone");
  assert.equal(clock.waiting, 0);
});

Deno.test("serveListener() drops idle clients when its socket closes, and waits for the others", async () => {
  const { connect, listening, dials, served } = openListener({ connections: 9 });
  const idle = await connect();
  await idle.write(bytesOf("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"));
  const origin = await dials.nth(0);
  await origin.target.write(bytesOf("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  await readUntil(idle, "\r\n\r\n");
  const busy = await connect();
  await busy.write(request);
  const tunnel = await dials.nth(1);
  await readUntil(busy, "\r\n\r\n");
  let isServed = false;
  const watched = served.then(() => isServed = true);
  listening.close();
  await assert.rejects(readAll(idle));
  await busy.write(bytesOf("still"));
  assert.deepEqual(await readExactly(tunnel.target, 5), bytesOf("still"));
  assert.equal(isServed, false);
  await busy.closeWrite();
  await tunnel.target.closeWrite();
  await watched;
  assert.equal(tunnel.outcome, "done");
});

Deno.test("serveListener() waits only briefly for silent clients when its socket closes", async () => {
  const { connect, listening, dials, clock, served } = openListener({ connections: 9 });
  const silent = await connect();
  const late = await connect();
  const half = await connect();
  await half.write(request.subarray(0, 9));
  await settle();
  listening.close();
  await clock.advance(400);
  await late.write(request);
  const { target } = await dials.nth(0);
  await readUntil(late, "\r\n\r\n");
  await clock.advance(100);
  await assert.rejects(silent.read(new Uint8Array(1)), "the silent client is dropped");
  await half.write(request.subarray(9));
  const other = await dials.nth(1);
  await readUntil(half, "\r\n\r\n");
  for (const [client, far] of [[late, target], [half, other.target]] as const) {
    await client.closeWrite();
    await far.closeWrite();
  }
  await served;
  assert.equal(clock.waiting, 0);
});

Deno.test("serveListener() logs a failure while serving a client, and continues", async () => {
  let count = 0;
  const { connect, stop, log, served } = openListener({
    serve: async (client) => {
      if (count++ === 0) throw new Error("an internal error");
      await client[Symbol.asyncDispose]();
    },
  });
  assert.equal((await readAll(await connect())).length, 0);
  assert.equal((await readAll(await connect())).length, 0);
  assert.deepEqual(log.lines.map(({ event, reason }) => [event, reason]), [[
    "client.failed",
    "an internal error",
  ]]);
  stop.abort();
  await served;
});
