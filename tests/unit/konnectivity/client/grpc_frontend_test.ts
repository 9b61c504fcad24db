import assert from "node:assert/strict";
import type { Conn } from "../../../../src/core/mod.ts";
import {
  grpcAnswer,
  grpcRefusal,
  GrpcStream,
  Http2Connection,
  type Http2Exchange,
} from "../../../../src/mux/mod.ts";
import { PacketAnswerer } from "../../../../src/konnectivity/packet_answerer.ts";
import { PacketStream } from "../../../../src/konnectivity/packet_stream.ts";
import { GrpcFrontend } from "../../../../src/konnectivity/client/grpc_frontend.ts";
import type { FrontendReach } from "../../../../src/konnectivity/client/reach_frontend.ts";
import { grpcCodes, grpcTrailers, http2Codes } from "../../../../src/wire/mod.ts";
import { http2FrameTypes } from "../../../../src/wire/http2/http2_frames.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { type MemoryConn, memoryPair } from "../../../support/memory_conn.ts";
import { memoryAnswer } from "../../../support/packet_pair.ts";

const { signal } = new AbortController();

/** A server of another implementation, without per-connection windows; `serve` plays the target. */
function world(serve: (target: Conn, host: string) => Promise<void>) {
  const clock = new FakeClock();
  const connections: Http2Connection[] = [];
  const pings: { readonly pings: number }[] = [];
  const line = {
    isStalled: false,
    refusals: 0,
    wake: () => {},
    /** Responds to a request like the server. */
    answer: undefined as ((exchange: Http2Exchange) => void) | undefined,
  };
  const work: Promise<unknown>[] = [];
  const reach = {
    label: "the server",
    authority: "server",
    isSecure: true,
    texts: "first",
    certificates() {
      return Promise.resolve(this.texts);
    },
    connect() {
      const [near, far] = memoryPair();
      if (connections.length === 0) stallable(far, line);
      pings.push(countPings(far));
      connections.push(
        new Http2Connection(far, {
          role: "server",
          clock,
          onRequest: (exchange) => {
            if (line.refusals-- > 0) return exchange.reset(undefined, http2Codes.refusedStream);
            if (line.answer) return line.answer(exchange);
            exchange.respond(grpcAnswer());
            const answerer = new PacketAnswerer(new PacketStream(new GrpcStream(exchange)), {
              clock,
              isShared: false,
              most: 10,
              onError: () => {},
              answer: memoryAnswer(serve, clock),
            });
            work.push(answerer.run({ signal }).then(() => exchange.end(), () => exchange.reset()));
          },
        }),
      );
      return Promise.resolve(near);
    },
  };
  const frontend = new GrpcFrontend(reach as Partial<FrontendReach> as FrontendReach, { clock });
  return {
    clock,
    line,
    connections,
    pings,
    reach,
    frontend,
    async [Symbol.asyncDispose]() {
      await frontend[Symbol.asyncDispose]();
      for (const connection of connections) connection.abort();
      await Promise.all(work);
    },
  };
}

/** Counts the PING frames that arrive here, including responses. */
function countPings(end: MemoryConn): { pings: number } {
  const counted = { pings: 0 };
  let left = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".length;
  const head: number[] = [];
  const read = end.read.bind(end);
  end.read = async (into) => {
    const count = await read(into);
    for (const byte of into.subarray(0, count ?? 0)) {
      if (left-- > 0) continue;
      left = 0;
      if (head.push(byte) < 9) continue;
      const [a = 0, b = 0, c = 0, type] = head.splice(0);
      left = a << 16 | b << 8 | c;
      if (type === http2FrameTypes.ping) counted.pings++;
    }
    return count;
  };
  return counted;
}

/** Sends nothing from this side while the line is stalled. */
function stallable(end: MemoryConn, line: { isStalled: boolean; wake: () => void }): void {
  const write = end.write.bind(end);
  end.write = async (bytes) => {
    while (line.isStalled) await new Promise<void>((resolve) => line.wake = resolve);
    await write(bytes);
  };
}

async function settle(isDone: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2000 && !isDone(); turn++) {
    await new Promise<void>((resolve) => setTimeout(resolve));
  }
  assert.ok(isDone());
}

const gush = async (target: Conn) => {
  while (true) await target.write(new Uint8Array(50_000));
};
const greet = async (target: Conn) => {
  await target.write(new Uint8Array(5));
  await target.closeWrite();
};

Deno.test("GrpcFrontend: unread connections do not block others, with any server", async () => {
  await using there = world((target, host) => host === "gush.test" ? gush(target) : greet(target));
  const stalled: Conn[] = [];
  for (let count = 0; count < 8; count++) {
    stalled.push(await there.frontend.dial({ host: "gush.test", port: 80 }, { signal }));
  }
  // All connections have full buffers.
  for (let turn = 0; turn < 200; turn++) await new Promise<void>((resolve) => setTimeout(resolve));
  let read: number | null | undefined;
  const reading = (async () => {
    const conn = await there.frontend.dial({ host: "greet.test", port: 80 }, { signal });
    read = await conn.read(new Uint8Array(10));
    await conn[Symbol.asyncDispose]();
  })().catch(() => {});
  try {
    await settle(() => read === 5);
  } finally {
    for (const conn of stalled) conn.abort();
    await reading;
  }
});

Deno.test("GrpcFrontend closes an idle session of former certificates", async () => {
  await using there = world(async (target) => {
    await target.read(new Uint8Array(1));
    await target.closeWrite();
  });
  const first = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  there.reach.texts = "second";
  const second = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  assert.deepEqual(there.frontend.counts, { sessions: 2, streams: 2 });
  await first.write(new Uint8Array(1));
  assert.equal(await first.read(new Uint8Array(1)), null);
  await first[Symbol.asyncDispose]();
  await settle(() => there.frontend.counts.sessions === 1);
  await second[Symbol.asyncDispose]();
});

Deno.test("GrpcFrontend pings a retired session no more often than Go servers allow", async () => {
  await using there = world(async (target) => {
    await target.read(new Uint8Array(1));
  });
  const first = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  there.reach.texts = "second";
  const second = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  // Go servers treat four pings within five minutes without data as an attack.
  await there.clock.advance(5 * 60_000);
  assert.equal(there.pings[0]?.pings, 1);
  await there.clock.advance(60 * 60_000);
  assert.ok(Number(there.pings[0]?.pings) > 10);
  assert.deepEqual(there.frontend.counts, { sessions: 2, streams: 2 });
  for (const conn of [first, second]) await conn[Symbol.asyncDispose]();
});

Deno.test("GrpcFrontend pings a silent session once for all concurrent dials", async () => {
  await using there = world(async (target) => {
    await target.read(new Uint8Array(1));
  });
  const dial = () => there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  const first = await dial();
  await there.clock.advance(6000);
  const others = await Promise.all(Array.from({ length: 8 }, dial));
  assert.equal(there.pings[0]?.pings, 1);
  await there.clock.advance(6000);
  const last = await dial();
  assert.equal(there.pings[0]?.pings, 2);
  assert.equal(there.connections.length, 1);
  for (const conn of [first, ...others, last]) await conn[Symbol.asyncDispose]();
});

/** Echoes its input. */
const echo = async (target: Conn) => {
  const bytes = new Uint8Array(10);
  for (let read; (read = await target.read(bytes)) !== null;) await target.write(bytes.slice(0, read));
  await target.closeWrite();
};

Deno.test("GrpcFrontend: a stalled line fails new dials, but keeps open connections", async () => {
  await using there = world(echo);
  const live = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  await there.clock.advance(6000);
  there.line.isStalled = true;
  const dialing = there.frontend.dial({ host: "b.test", port: 80 }, { signal });
  await there.clock.advance(3000);
  await settle(() => there.connections.length === 2);
  const other = await dialing;
  there.line.isStalled = false;
  there.line.wake();
  await live.write(new TextEncoder().encode("still"));
  const bytes = new Uint8Array(10);
  const read = await live.read(bytes);
  assert.equal(new TextDecoder().decode(bytes.subarray(0, read ?? 0)), "still");
  for (const conn of [live, other]) await conn[Symbol.asyncDispose]();
  await settle(() => there.frontend.counts.sessions === 1);
});

Deno.test("GrpcFrontend: a dead line closes open connections", async () => {
  await using there = world(echo);
  const live = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  await there.clock.advance(6000);
  there.line.isStalled = true;
  const dialing = there.frontend.dial({ host: "b.test", port: 80 }, { signal });
  await there.clock.advance(3000);
  await settle(() => there.connections.length === 2);
  const other = await dialing;
  const reading = assert.rejects(live.read(new Uint8Array(1)));
  await there.clock.advance(25_000);
  await reading;
  for (const conn of [live, other]) conn.abort();
  there.line.isStalled = false;
  there.line.wake();
});

Deno.test("GrpcFrontend retries once when a server rejects an unprocessed dial", async () => {
  await using there = world(echo);
  there.line.refusals = 1;
  const conn = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  await conn[Symbol.asyncDispose]();
  there.line.refusals = 2;
  await assert.rejects(there.frontend.dial({ host: "a.test", port: 80 }, { signal }), {
    code: "unreachable",
  });
  assert.equal(there.line.refusals, 0);
});

Deno.test("GrpcFrontend: many failed dials do not end other connections of the session", async () => {
  await using there = world(echo);
  const live = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  const refused = { host: "refused.test", port: 80 };
  for (let count = 0; count < 1100; count++) {
    await assert.rejects(there.frontend.dial(refused, { signal }), { code: "refused" });
  }
  await live.write(new Uint8Array(5));
  assert.equal(await live.read(new Uint8Array(10)), 5);
  await settle(() => there.frontend.counts.streams === 1);
  assert.equal(there.connections.length, 1);
  await live[Symbol.asyncDispose]();
});

for (
  const [name, after] of [["", undefined], [", and wants no more of postern", http2Codes.noError]] as const
) {
  Deno.test(`GrpcFrontend reports why a server ended a dial's stream: in order${name}`, async () => {
    await using there = world(echo);
    there.line.answer = (exchange) => {
      const refusal = grpcRefusal({ code: grpcCodes.unimplemented, message: "unknown service" });
      exchange.respond(refusal, { isEnd: true });
      if (after !== undefined) exchange.reset(undefined, after);
    };
    await assert.rejects(there.frontend.dial({ host: "a.test", port: 80 }, { signal }), {
      message: "the server ended the call: unknown service",
    });
    await settle(() => there.frontend.counts.streams === 0 && there.connections[0]?.openStreams === 0);
  });
}

Deno.test("GrpcFrontend frees a connection after the server ends its stream", async () => {
  await using there = world(echo);
  let ended: Http2Exchange | undefined;
  there.line.answer = (exchange) => {
    exchange.respond(grpcAnswer());
    const stream = new PacketStream(new GrpcStream(exchange));
    ended = exchange;
    void stream.receive().then((packet) => {
      if (packet?.type !== "dialRequest") return;
      const { random } = packet;
      return stream.send({ type: "dialResponse", error: "", connectId: 1n, random });
    });
  };
  const conn = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  // More data than any window allows.
  const written = conn.write(new Uint8Array(4 << 20)).catch((error) => error);
  await settle(() => Number(ended?.waiting) > 1_000_000);
  ended?.end(grpcTrailers({ code: grpcCodes.unavailable, message: "going away" }));
  assert.equal((await written).code, "unreachable");
  await assert.rejects(conn.read(new Uint8Array(1)), { code: "unreachable" });
  await conn[Symbol.asyncDispose]();
  await settle(() => there.frontend.counts.streams === 0 && ended?.isOver === true);
});
