import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Conn } from "../../../src/core/mod.ts";
import type { Packet } from "../../../src/konnectivity/packets.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { readAll } from "../../support/memory_conn.ts";
import { memoryAnswer, packetPair } from "../../support/packet_pair.ts";
import { patternBytes } from "../../support/pattern_bytes.ts";

type Said = Exclude<Packet, { type: "unknown" }>;

const { signal } = new AbortController();
const somewhere = { host: "a.test", port: 80 };
const clock = new FakeClock();

async function echo(target: Conn): Promise<void> {
  const buffer = new Uint8Array(20_000);
  for (let count; (count = await target.read(buffer)) !== null;) {
    await target.write(buffer.subarray(0, count));
  }
  await target.closeWrite();
}

/** Sends endlessly, as fast as the target reads. */
async function gush(target: Conn): Promise<void> {
  while (true) await target.write(new Uint8Array(50_000));
}

async function readExactly(conn: Conn, count: number): Promise<Uint8Array> {
  const all = new Uint8Array(count);
  for (let at = 0; at < count;) {
    const read = await conn.read(all.subarray(at));
    if (read === null) return all.subarray(0, at);
    at += read;
  }
  return all;
}

async function settle(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise<void>((resolve) => setTimeout(resolve));
}

for (const isPostern of [true, false]) {
  const who = isPostern ? "with postern" : "with another peer";

  Deno.test(`a tunnel carries bytes both ways, ${who}`, async () => {
    await using pair = await packetPair({ isPostern, answer: memoryAnswer(echo, clock) });
    const tunnel = await pair.dialer.dial(somewhere, { signal });
    const sent = patternBytes(4_000_000);
    const sending = tunnel.write(sent);
    assert.ok(Buffer.from(await readExactly(tunnel, sent.length)).equals(sent));
    await sending;
    await tunnel[Symbol.asyncDispose]();
    await pair.answerer.idle;
    assert.equal(pair.dialer.tunnels, 0);
    assert.deepEqual(pair.errors, []);
  });

  Deno.test(`a failed dial reports the reason, ${who}`, async () => {
    await using pair = await packetPair({ isPostern, answer: memoryAnswer(echo, clock) });
    await assert.rejects(pair.dialer.dial({ host: "refused.test", port: 80 }, { signal }), {
      code: "refused",
    });
    assert.equal(pair.answerer.size, 0);
  });

  Deno.test(`an aborted dial leaves nothing behind, ${who}`, async () => {
    const stop = new AbortController();
    let asked: AbortSignal | undefined;
    await using pair = await packetPair({
      isPostern,
      answer: (_target, { signal }) => {
        asked = signal;
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason))
        );
      },
    });
    const dial = pair.dialer.dial(somewhere, { signal: stop.signal });
    await settle(() => asked !== undefined);
    stop.abort(new Error("enough"));
    await assert.rejects(dial, /enough/);
    await pair.answerer.idle;
    assert.ok(asked?.aborted);
    assert.equal(pair.dialer.pending, 0);
  });

  Deno.test(`a dial that is answered after its abort is closed, ${who}`, async () => {
    const stop = new AbortController();
    const connected = Promise.withResolvers<void>();
    let served = 0;
    await using pair = await packetPair({
      isPostern,
      answer: async () => {
        await connected.promise;
        return async (asker) => {
          served++;
          await asker.read(new Uint8Array(1)).catch(() => {});
          await asker[Symbol.asyncDispose]();
        };
      },
    });
    const dial = pair.dialer.dial(somewhere, { signal: stop.signal });
    await settle(() => pair.answerer.size === 1);
    stop.abort(new Error("enough"));
    await assert.rejects(dial, /enough/);
    connected.resolve();
    await settle(() => served === 1);
    await pair.answerer.idle;
  });

  Deno.test(`a dial that is answered after the stream's end leaves nothing behind, ${who}`, async () => {
    const connected = Promise.withResolvers<void>();
    const served = Promise.withResolvers<void>();
    await using pair = await packetPair({
      isPostern,
      answer: async () => {
        await connected.promise;
        return async (asker) => {
          await asker.read(new Uint8Array(1)).catch(() => {});
          await asker[Symbol.asyncDispose]();
          served.resolve();
        };
      },
    });
    const dial = assert.rejects(pair.dialer.dial(somewhere, { signal }));
    await settle(() => pair.answerer.size === 1);
    pair.exchange.reset();
    await dial;
    await settle(() => pair.answerer.stream.grpc.exchange.isOver);
    connected.resolve();
    await served.promise;
    assert.equal(pair.answerer.size, 0);
  });

  Deno.test(`the end of the stream ends its tunnels, ${who}`, async () => {
    await using pair = await packetPair({ isPostern, answer: memoryAnswer(echo, clock) });
    const tunnel = await pair.dialer.dial(somewhere, { signal });
    const reading = tunnel.read(new Uint8Array(1));
    const failed = assert.rejects(reading);
    pair.exchange.reset();
    await failed;
    await assert.rejects(tunnel.write(new Uint8Array(1)));
    await pair.answerer.idle;
  });
}

Deno.test("half-closes work with postern", async () => {
  const answer = memoryAnswer(async (target) => {
    const all = await readAll(target);
    await target.write(new TextEncoder().encode(`got ${all.length} bytes`));
    await target.closeWrite();
  }, clock);
  await using pair = await packetPair({ isPostern: true, answer });
  const tunnel = await pair.dialer.dial(somewhere, { signal });
  assert.equal(tunnel.carriesHalfClose, true);
  await tunnel.write(patternBytes(1000));
  await tunnel.closeWrite();
  assert.equal(new TextDecoder().decode(await readAll(tunnel)), "got 1000 bytes");
});

Deno.test("with another peer, the target's end closes both directions after all its data", async () => {
  const answer = memoryAnswer(async (target) => {
    await target.write(patternBytes(500_000));
    await target.closeWrite();
    await target.read(new Uint8Array(1));
  }, clock);
  await using pair = await packetPair({ isPostern: false, answer });
  const tunnel = await pair.dialer.dial(somewhere, { signal });
  assert.equal(tunnel.carriesHalfClose, false);
  assert.equal((await readAll(tunnel)).length, 500_000);
  await pair.answerer.idle;
  await assert.rejects(tunnel.write(new Uint8Array(1)), { detail: "reset" });
});

Deno.test("with postern, an unread tunnel does not block the others, and stays open", async () => {
  const answer = memoryAnswer((target, host) => host === "gush.test" ? gush(target) : echo(target), clock);
  await using pair = await packetPair({ isPostern: true, answer });
  const stalled = await pair.dialer.dial({ host: "gush.test", port: 80 }, { signal });
  for (let round = 0; round < 30; round++) {
    const tunnel = await pair.dialer.dial(somewhere, { signal });
    await tunnel.write(patternBytes(10_000));
    assert.equal((await readExactly(tunnel, 10_000)).length, 10_000);
    await tunnel[Symbol.asyncDispose]();
  }
  assert.equal((await readExactly(stalled, 5_000_000)).length, 5_000_000);
  stalled.abort();
});

Deno.test("with another peer, a tunnel without a reader is dropped after a second, and the others continue", async () => {
  const answer = memoryAnswer((target, host) => host === "gush.test" ? gush(target) : echo(target), clock);
  await using pair = await packetPair({ isPostern: false, answer });
  const stalled = await pair.dialer.dial({ host: "gush.test", port: 80 }, { signal });
  let isDropped = false;
  stalled.onAbort = () => isDropped = true;
  await settle(() => pair.clock.waiting > 0);
  const other = pair.dialer.dial(somewhere, { signal });
  await pair.clock.advance(1000);
  await settle(() => isDropped);
  await (await other)[Symbol.asyncDispose]();
  await assert.rejects(stalled.read(new Uint8Array(1)), { code: "timeout" });
});

Deno.test("with another peer, a tunnel survives when its reader stopped because the process was suspended", async () => {
  const answer = memoryAnswer(gush, clock);
  await using pair = await packetPair({ isPostern: false, answer });
  const slow = await pair.dialer.dial(somewhere, { signal });
  await settle(() => pair.clock.waiting > 0);
  await pair.clock.advance(500);
  await pair.clock.skip(60_000);
  assert.equal((await readExactly(slow, 5_000_000)).length, 5_000_000);
  slow.abort();
});

Deno.test("with another peer, a slow reader slows the stream down, and its tunnel stays open", async () => {
  const answer = memoryAnswer(gush, clock);
  await using pair = await packetPair({ isPostern: false, answer });
  const slow = await pair.dialer.dial(somewhere, { signal });
  await settle(() => pair.clock.waiting > 0);
  for (let second = 0; second < 5; second++) {
    await pair.clock.advance(900);
    assert.equal((await readExactly(slow, 100_000)).length, 100_000);
  }
  slow.abort();
});

/** Sends packets one after another and returns the answers. */
async function conversation(packets: readonly Said[]): Promise<string[]> {
  await using pair = await packetPair({ isPostern: false, isRaw: true, answer: memoryAnswer(echo, clock) });
  const heard: string[] = [];
  for (const packet of packets) {
    await pair.stream.send(packet);
    const answer = await pair.stream.receive();
    if (answer?.type === "data") {
      heard.push(`data ${answer.connectId}: ${new TextDecoder().decode(answer.data)}`);
    } else if (answer && "error" in answer) heard.push(`${answer.type} ${answer.connectId}: ${answer.error}`);
    else heard.push(String(answer?.type));
  }
  return heard;
}

const dial = (address: string, random: bigint, protocol = "tcp"): Said => {
  return { type: "dialRequest", protocol, address, random };
};
const data = (connectId: bigint, text: string): Said => {
  return { type: "data", connectId, error: "", data: new TextEncoder().encode(text) };
};

for (
  const { name, packets, heard } of [
    {
      name: "refuses protocols other than tcp",
      packets: [dial("/run/x", 1n, "unix"), dial("a.test:53", 2n, "udp")],
      heard: [
        'dialResponse 0: protocol "unix" is not supported',
        'dialResponse 0: protocol "udp" is not supported',
      ],
    },
    {
      name: "reports a refused target with Go's text",
      packets: [dial("refused.test:80", 1n)],
      heard: ["dialResponse 0: dial tcp refused.test:80: connect: connection refused"],
    },
    {
      name: "answers data before a dial",
      packets: [data(1n, "x")],
      heard: ["closeResponse 1: unknown connection"],
    },
    {
      name: "answers the close of an unknown connection",
      packets: [{ type: "closeRequest", connectId: 9n } as const],
      heard: ["closeResponse 9: unknown connection"],
    },
    {
      name: "serves two dials on one stream",
      packets: [dial("a.test:80", 1n), dial("b.test:80", 2n), data(2n, "two"), data(1n, "one")],
      heard: ["dialResponse 1: ", "dialResponse 2: ", "data 2: two", "data 1: one"],
    },
  ]
) {
  Deno.test(`PacketAnswerer ${name}`, async () => assert.deepEqual(await conversation(packets), heard));
}

Deno.test("PacketAnswerer refuses an invalid target", async () => {
  const [heard] = await conversation([dial("nonsense", 1n)]);
  assert.match(heard ?? "", /^dialResponse 0: .*port/);
});

Deno.test("unread answers keep a peer from sending more requests, and none is lost", async () => {
  await using pair = await packetPair({ isPostern: false, isRaw: true, answer: memoryAnswer(echo, clock) });
  const most = 200_000;
  let asked = 0;
  const asking = (async () => {
    for (; asked < most; asked++) await pair.stream.send({ type: "closeRequest", connectId: 9n });
  })();
  for (let before = -1; before < asked;) {
    before = asked;
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  assert.ok(asked < most, "no backpressure");
  for (let answered = 0; answered < most; answered++) {
    assert.equal((await pair.stream.receive())?.type, "closeResponse");
  }
  await asking;
});

Deno.test("data that a client sent before it left is kept while its target reads", async () => {
  const taken = Promise.withResolvers<void>();
  const takesSome = async (target: Conn) => {
    await target.read(new Uint8Array(1000));
    taken.resolve();
  };
  await using pair = await packetPair({
    isPostern: false,
    isShared: false,
    isRaw: true,
    answer: memoryAnswer(takesSome, clock),
  });
  await pair.stream.send({ type: "dialRequest", protocol: "tcp", address: "a.test:80", random: 1n });
  await pair.stream.receive();
  const data = new Uint8Array(60_000);
  for (let at = 0; at < 10; at++) await pair.stream.send({ type: "data", connectId: 1n, error: "", data });
  await taken.promise;
  const before = pair.clock.waiting;
  pair.exchange.reset();
  await settle(() => pair.clock.waiting > before);
  await pair.clock.advance(29_000);
  assert.equal(pair.answerer.size, 1);
  await pair.clock.advance(1_000);
  await settle(() => pair.answerer.size === 0);
});

Deno.test("a dropped tunnel ends its stream even when its data is not read", async () => {
  const isOver = Promise.withResolvers<void>();
  await using pair = await packetPair({
    isPostern: false,
    isShared: false,
    answer: memoryAnswer(() => isOver.promise, clock),
  });
  const tunnel = await pair.dialer.dial(somewhere, { signal });
  let failure: unknown;
  const writing = tunnel.write(new Uint8Array(8_000_000)).catch((error) => failure = error);
  const before = pair.clock.waiting;
  for (let turn = 0; turn < 50; turn++) await new Promise<void>((resolve) => setTimeout(resolve));
  tunnel.abort(new Error("the client has gone"));
  for (let turn = 0; turn < 50; turn++) await new Promise<void>((resolve) => setTimeout(resolve));
  try {
    assert.match(String(failure), /the client has gone/);
    assert.ok(pair.exchange.isOver);
    await settle(() => pair.clock.waiting > before);
  } finally {
    pair.exchange.reset();
    await writing;
    isOver.resolve();
    await settle(() => pair.clock.waiting > before);
    await pair.clock.advance(30_000);
    await settle(() => pair.answerer.size === 0);
  }
});
