import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Conn } from "../../../src/core/mod.ts";
import { type HeaderField, http2Codes } from "../../../src/wire/mod.ts";
import { Http2Connection, type Http2Exchange } from "../../../src/mux/mod.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";
import { memoryPair } from "../../support/memory_conn.ts";
import { patternBytes } from "../../support/pattern_bytes.ts";

const request: readonly HeaderField[] = [
  [":method", "POST"],
  [":scheme", "https"],
  [":authority", "test"],
  [":path", "/echo"],
];
const { signal } = new AbortController();

type Serve = (exchange: Http2Exchange) => Promise<void>;

/** A client and a server in memory, and the errors of the server's handler. */
function pair(serve: Serve, options: { streamWindow?: number; maxStreams?: number; capacity?: number } = {}) {
  const { capacity, ...limits } = options;
  const clock = new FakeClock();
  const [near, far] = memoryPair(capacity === undefined ? {} : { capacity });
  const failures: unknown[] = [];
  const work: Promise<void>[] = [];
  const server = new Http2Connection(far, {
    role: "server",
    clock,
    ...limits,
    onRequest: (exchange) => void work.push(serve(exchange).catch((error) => void failures.push(error))),
  });
  const client = new Http2Connection(near, { role: "client", clock, ...limits });
  return {
    clock,
    client,
    server,
    failures,
    far,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await Promise.all(work);
    },
  };
}

async function echo(exchange: Http2Exchange): Promise<void> {
  exchange.respond([[":status", "200"], ["x-first", "1"]]);
  const buffer = new Uint8Array(30_000);
  let all = 0;
  for (let count; (count = await exchange.read(buffer)) !== null; all += count) {
    await exchange.write(buffer.subarray(0, count));
  }
  exchange.end([["x-all", String(all)]]);
}

async function readAll(exchange: Http2Exchange, size: number): Promise<Uint8Array> {
  const all = new Uint8Array(size);
  let at = 0;
  for (let count; (count = await exchange.read(all.subarray(at))) !== null; at += count) {
    if (at === size) break;
  }
  return all.subarray(0, at);
}

/** The error code of the GOAWAY frame (type 7) before the end. */
async function farewellOf(conn: Conn): Promise<number | undefined> {
  const said: number[] = [];
  const buffer = new Uint8Array(4096);
  for (let count; (count = await conn.read(buffer).catch(() => null)) !== null;) {
    said.push(...buffer.subarray(0, count));
  }
  const at = said.findIndex((byte, at) => byte === 7 && said[at + 1] === 0 && said[at + 9] === 0);
  return at < 0 ? undefined : said[at + 13];
}

for (
  const { name, size, ...options } of [
    { name: "small", size: 10 },
    { name: "larger than all windows", size: 3_000_000, streamWindow: 65_535 },
    { name: "through a small buffer", size: 300_000, capacity: 1000 },
  ]
) {
  Deno.test(`Http2Connection carries a request and its answer: ${name}`, async () => {
    await using world = pair(echo, options);
    const exchange = await world.client.request(request, { signal });
    const sent = patternBytes(size);
    const sending = exchange.write(sent).then(() => exchange.end());
    assert.deepEqual((await exchange.answer)[1], ["x-first", "1"]);
    const received = await readAll(exchange, size + 1);
    assert.ok(Buffer.from(received).equals(sent));
    await sending;
    assert.deepEqual(exchange.trailers, [["x-all", String(size)]]);
    await exchange.over;
    assert.deepEqual([world.client.openStreams, world.server.openStreams], [0, 0]);
  });
}

Deno.test("a stalled reader does not block the other streams", async () => {
  await using world = pair(echo, { streamWindow: 65_535 });
  const stalled = await world.client.request(request, { signal });
  const much = stalled.write(new Uint8Array(1_000_000)).catch(() => {});
  for (let round = 0; round < 20; round++) {
    const other = await world.client.request(request, { signal });
    await other.write(patternBytes(50_000), { isEnd: true });
    assert.equal((await readAll(other, 50_001)).length, 50_000);
  }
  stalled.reset();
  await much;
  while (world.failures.length === 0) await new Promise<void>((resolve) => setTimeout(resolve));
  assert.match(String(world.failures[0]), /cancel/);
});

Deno.test("a client waits at the server's stream limit", async () => {
  await using world = pair(echo, { maxStreams: 2 });
  const first = await world.client.request(request, { signal });
  await world.client.request(request, { signal });
  const third = world.client.request(request, { signal });
  const early = await Promise.race([third, first.answer.then(() => "answered")]);
  assert.equal(early, "answered");
  first.end();
  assert.equal(await first.read(new Uint8Array(1)), null);
  await (await third).answer;
});

Deno.test("a waiting request ends with its signal", async () => {
  await using world = pair(echo, { maxStreams: 1 });
  const first = await world.client.request(request, { signal });
  await first.answer;
  const stop = new AbortController();
  const second = world.client.request(request, { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(second, /enough/);
});

Deno.test("a reset reaches the peer, from client and server", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  await using world = pair((exchange) => exchange.read(new Uint8Array(1)).then(() => {}, resolve));
  const exchange = await world.client.request(request, { signal });
  exchange.reset(new Error("mine"));
  await assert.rejects(exchange.answer, /mine/);
  assert.match(String(await promise), /cancel/);
});

Deno.test("drain() waits for open streams and opens no more", async () => {
  await using world = pair(echo);
  const exchange = await world.client.request(request, { signal });
  await exchange.answer;
  const drained = world.server.drain({ signal });
  while (world.client.isOpen) await Promise.resolve();
  await assert.rejects(world.client.request(request, { signal }), /has ended/);
  await exchange.write(patternBytes(100), { isEnd: true });
  assert.equal((await readAll(exchange, 101)).length, 100);
  await drained;
});

Deno.test("ping() gets an answer, or rejects after its timeout", async () => {
  await using world = pair(echo);
  await world.client.ping({ signal, ms: 1000 });
  world.far.read = () => new Promise(() => {});
  await using frozen = pair(echo);
  const [near] = memoryPair();
  await using lonely = new Http2Connection(near, { role: "client", clock: frozen.clock });
  const late = assert.rejects(lonely.ping({ signal, ms: 1000 }), { code: "timeout" });
  await frozen.clock.advance(1000);
  await late;
  const closed = lonely[Symbol.asyncDispose]();
  await frozen.clock.advance(200);
  await closed;
});

Deno.test("ping() leaks no memory over months on an idle connection", async () => {
  await using world = pair(echo);
  const pings = async (count: number) => {
    for (let at = 0; at < count; at++) {
      await world.client.ping({ signal, ms: 1000 });
      // More pings per second would count as an attack.
      if (at % 500 === 0) await world.clock.advance(1000);
    }
  };
  await pings(5000);
  // Measures the heap of the whole process.
  const before = Deno.memoryUsage().heapUsed;
  await pings(40_000);
  const grown = Deno.memoryUsage().heapUsed - before;
  assert.ok(grown < 25e6, `${grown} bytes more`);
});

Deno.test("ping() rejects when the connection ends", async () => {
  const clock = new FakeClock();
  const [near] = memoryPair();
  await using lonely = new Http2Connection(near, { role: "client", clock });
  const failed = assert.rejects(lonely.ping({ signal, ms: 1000 }), { code: "unreachable" });
  await settle();
  lonely.abort(new Error("enough"));
  await failed;
  assert.equal(clock.waiting, 0);
});

Deno.test("a protocol error is sent to the peer and ends every stream", async () => {
  const clock = new FakeClock();
  const [near, far] = memoryPair();
  await using client = new Http2Connection(near, { role: "client", clock });
  await far.write(Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 0, 0));
  const exchange = await client.request(request, { signal });
  await far.write(Uint8Array.of(0, 0, 1, 6, 0, 0, 0, 0, 0, 7));
  await assert.rejects(exchange.answer, /a ping has a wrong size/);
  assert.match(String(await client.ended), /frame size error/);
  assert.equal(await farewellOf(far), http2Codes.frameSizeError);
});

Deno.test("a protocol error is sent to the peer even if the connection is disposed in the same turn", async () => {
  const turns: (() => void)[] = [];
  class SlowTurns extends FakeClock {
    override turn = () => new Promise<void>((resolve) => void turns.push(resolve));
  }
  const [near, far] = memoryPair();
  const client = new Http2Connection(near, { role: "client", clock: new SlowTurns() });
  await far.write(Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 7));
  await client.ended;
  const disposed = client[Symbol.asyncDispose]();
  await settle();
  for (const end of turns) end();
  assert.equal(await farewellOf(far), http2Codes.frameSizeError);
  await disposed;
});

Deno.test("a waiting write rejects when another call ends the stream", async () => {
  const failed = Promise.withResolvers<unknown>();
  await using world = pair(async (exchange) => {
    exchange.respond([[":status", "200"]]);
    exchange.write(new Uint8Array(200_000)).catch(failed.resolve);
    assert.equal(await exchange.read(new Uint8Array(1)), null);
    exchange.end();
    await settle();
    failed.resolve("still waiting");
  }, { streamWindow: 65_535 });
  const exchange = await world.client.request(request, { signal });
  // The server reads nothing, so the client can send no more.
  exchange.end();
  assert.match(String(await failed.promise), /after the end/);
});

Deno.test("the end of a connection ends its streams", async () => {
  await using world = pair(echo);
  const exchange = await world.client.request(request, { signal });
  await exchange.answer;
  const reading = exchange.read(new Uint8Array(1));
  world.far.abort();
  await assert.rejects(reading, { code: "unreachable" });
  await assert.rejects(exchange.write(new Uint8Array(1)), { code: "unreachable" });
});

Deno.test("unread canceled streams do not reduce the connection's window", async () => {
  const gush = async (exchange: Http2Exchange) => {
    exchange.respond([[":status", "200"]]);
    await exchange.write(new Uint8Array(60_000), { isEnd: true });
  };
  await using world = pair(gush, { streamWindow: 65_535 });
  for (let round = 0; round < 20; round++) {
    const exchange = await world.client.request(request, { signal, isEnd: round % 2 === 0 });
    await exchange.answer;
    // Only some of the received bytes are read.
    assert.ok(await exchange.read(new Uint8Array(10)));
    exchange.reset();
  }
  const last = await world.client.request(request, { signal, isEnd: true });
  assert.equal((await readAll(last, 60_001)).length, 60_000);
});

Deno.test("keepAlive() pings a silent peer, and ends with the connection", async () => {
  await using world = pair(echo);
  await (await world.client.request(request, { signal })).answer;
  const watching = world.client.keepAlive({ every: 3000, deadAfter: 4000, signal });
  const before = world.client.heard;
  await world.clock.advance(3000);
  while (world.client.heard === before) await new Promise<void>((resolve) => setTimeout(resolve));
  assert.ok(world.client.isOpen);
  world.client.abort();
  await watching;
});

Deno.test("keepAlive() continues after GOAWAY, for the remaining streams", async () => {
  await using world = pair(echo);
  const exchange = await world.client.request(request, { signal });
  await exchange.answer;
  const drained = world.server.drain({ signal });
  while (world.client.isOpen) await Promise.resolve();
  let hasEnded = false;
  const watching = world.client.keepAlive({ every: 3000, deadAfter: 4000, signal }).then(() =>
    hasEnded = true
  );
  await world.clock.advance(3000);
  assert.equal(hasEnded, false);
  exchange.end();
  await drained;
  await watching;
});

Deno.test("keepAlive() drops a dead peer", async () => {
  const clock = new FakeClock();
  const [near] = memoryPair();
  await using lonely = new Http2Connection(near, { role: "client", clock });
  const failed = assert.rejects(lonely.keepAlive({ every: 3000, deadAfter: 4000, signal }), {
    code: "timeout",
  });
  await clock.advance(3000);
  await clock.advance(4000);
  await failed;
  assert.equal(lonely.isOpen, false);
});

Deno.test("keepAlive() counts from the last received byte", async () => {
  const clock = new FakeClock();
  const [near, far] = memoryPair();
  await using lonely = new Http2Connection(near, { role: "client", clock });
  const failed = assert.rejects(lonely.keepAlive({ every: 3000, deadAfter: 4000, signal }), {
    code: "timeout",
  });
  await clock.advance(100);
  await far.write(new Uint8Array([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  while (lonely.heard !== 100) await new Promise<void>((resolve) => setTimeout(resolve));
  await clock.advance(6999);
  assert.ok(lonely.isOpen);
  await clock.advance(1);
  assert.equal(lonely.isOpen, false);
  await failed;
});

Deno.test("keepAlive() accepts any byte as an answer when the ping's is late", async () => {
  const clock = new FakeClock();
  const [near, far] = memoryPair();
  await using busy = new Http2Connection(near, { role: "client", clock });
  const failed = assert.rejects(busy.keepAlive({ every: 3000, deadAfter: 4000, signal }), {
    code: "timeout",
  });
  await clock.advance(5000);
  await far.write(new Uint8Array([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  while (busy.isOpen && busy.heard !== 5000) await new Promise<void>((resolve) => setTimeout(resolve));
  await clock.advance(6999);
  assert.ok(busy.isOpen);
  await clock.advance(1);
  assert.equal(busy.isOpen, false);
  await failed;
});

Deno.test("keepAlive() keeps a peer on a slow, full line", async () => {
  const clock = new FakeClock();
  const [near, nearLine] = memoryPair({ capacity: 4 << 20 });
  const [farLine, far] = memoryPair({ capacity: 4 << 20 });
  let received = 0;
  await using server = new Http2Connection(far, {
    role: "server",
    clock,
    onRequest: async (exchange) => {
      exchange.respond([[":status", "200"]]);
      const buffer = new Uint8Array(64 * 1024);
      for (let count; (count = await exchange.read(buffer).catch(() => null)) !== null;) received += count;
    },
  });
  await using client = new Http2Connection(near, { role: "client", clock });
  const back = (async () => {
    const buffer = new Uint8Array(4096);
    for (let count; (count = await farLine.read(buffer).catch(() => null)) !== null;) {
      await nearLine.write(buffer.slice(0, count));
    }
  })();
  const exchange = await client.request(request, { signal });
  const sending = exchange.write(new Uint8Array(4 << 20)).catch(() => {});
  const watching = client.keepAlive({ every: 3000, deadAfter: 4000, signal }).catch(() => {});
  // 25 kB/s for two minutes.
  const buffer = new Uint8Array(2500);
  for (let tenth = 0; tenth < 1200 && client.isOpen; tenth++) {
    const count = await nearLine.read(buffer);
    await farLine.write(buffer.slice(0, count ?? 0));
    await clock.advance(100);
  }
  const { isOpen } = client;
  client.abort();
  server.abort();
  await Promise.all([watching, sending, back]);
  assert.deepEqual([isOpen, received > 2 << 20], [true, true]);
});

Deno.test("keepAlive() does not count its own sleep as silence, and drops a peer that is silent after it", async () => {
  const clock = new FakeClock();
  const [near] = memoryPair();
  await using sleeper = new Http2Connection(near, { role: "client", clock });
  const failed = assert.rejects(sleeper.keepAlive({ every: 3000, deadAfter: 4000, signal }), {
    code: "timeout",
  });
  await clock.advance(3000);
  await clock.skip(3_600_000);
  // All but the tenth in which the sleep may have begun.
  await clock.advance(3599);
  assert.ok(sleeper.isOpen);
  await clock.advance(1);
  assert.equal(sleeper.isOpen, false);
  await failed;
});
