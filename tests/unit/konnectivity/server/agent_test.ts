import assert from "node:assert/strict";
import type { Conn, Dial } from "../../../../src/core/mod.ts";
import { type AgentOptions, KonnectivityAgent } from "../../../../src/konnectivity/server/agent.ts";
import { grpcAnswer, GrpcStream, Http2Connection, type Http2Exchange } from "../../../../src/mux/mod.ts";
import { PacketDialer } from "../../../../src/konnectivity/packet_dialer.ts";
import { PacketStream, posternMark } from "../../../../src/konnectivity/packet_stream.ts";
import { fieldValue } from "../../../../src/wire/mod.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { recordingLog } from "../../../support/recording_log.ts";

interface World extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly agent: KonnectivityAgent;
  /** The requests that servers received. */
  readonly requests: readonly Http2Exchange[];
  readonly connections: readonly Http2Connection[];
  /** The number of PING frames from the agent. */
  pings(): number;
}

/** An agent and its servers on a memory network. `server` chooses the server of the next connection. */
function agentWorld(
  { server, options = {} }: {
    readonly server: () => {
      readonly id: string;
      readonly count?: number;
      readonly isPostern?: boolean;
      readonly isMute?: boolean;
    };
    readonly options?: Partial<AgentOptions>;
  },
): World {
  const clock = new FakeClock();
  const connections: Http2Connection[] = [];
  const requests: Http2Exchange[] = [];
  const frames = new FrameCount();
  const agent = new KonnectivityAgent({
    clock,
    log: recordingLog(),
    authority: "server:8091",
    id: "agent",
    identifiers: "",
    halfCloseLinger: 1000,
    most: 10,
    retry: { first: 1000, most: 10_000 },
    random: () => 0,
    dial: () => Promise.reject(new Error("unexpected dial")),
    ...options,
    connect: () => {
      const [near, far] = memoryPair();
      const { id, count = 1, isPostern = true, isMute = false } = server();
      connections.push(
        new Http2Connection(far, {
          role: "server",
          clock,
          onRequest: (exchange) => {
            requests.push(exchange);
            if (isMute) return;
            const mark = isPostern ? [posternMark] : [];
            exchange.respond(grpcAnswer([["serverid", id], ["servercount", String(count)], ...mark]));
          },
        }),
      );
      return Promise.resolve(frames.watching(near));
    },
  });
  const stop = new AbortController();
  const running = agent.run({ signal: stop.signal }).catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  return {
    clock,
    agent,
    requests,
    connections,
    pings: () => frames.pings,
    async [Symbol.asyncDispose]() {
      stop.abort();
      // The drain packet needs a moment.
      const over = { isOver: false };
      const ended = running.finally(() => over.isOver = true);
      while (!over.isOver) await clock.advance(100);
      await ended;
      for (const connection of connections) await connection[Symbol.asyncDispose]();
    },
  };
}

/** Counts the frames of an HTTP/2 client; writes are whole frames, the first one is the preface. */
class FrameCount {
  pings = 0;

  watching(conn: Conn): Conn {
    let left = 24;
    const write = conn.write.bind(conn);
    conn.write = (bytes) => {
      for (let at = 0; at < bytes.length;) {
        const skipped = Math.min(left, bytes.length - at);
        at += skipped;
        left -= skipped;
        if (left > 0 || at >= bytes.length) break;
        const head = new DataView(bytes.buffer, bytes.byteOffset + at);
        const isAnswer = (head.getUint8(4) & 1) === 1;
        if (head.getUint8(3) === 6 && !isAnswer) this.pings++;
        left = 9 + (head.getUint32(0) >>> 8);
      }
      return write(bytes);
    };
    return conn;
  }
}

const pulses = [
  { name: "a postern server every three seconds", isPostern: true, options: {}, pings: 10 },
  {
    name: "a postern server more often if configured",
    isPostern: true,
    options: { pulse: 1000 },
    pings: 31,
  },
  {
    name: "a postern server at least every three seconds",
    isPostern: true,
    options: { pulse: 3_600_000 },
    pings: 10,
  },
  {
    name: "an upstream server rarely, because it forbids frequent pings",
    isPostern: false,
    options: {},
    pings: 0,
  },
];
for (const { name, isPostern, options, pings } of pulses) {
  Deno.test(`KonnectivityAgent pings ${name}`, async () => {
    await using world = agentWorld({ server: () => ({ id: "a", isPostern }), options });
    await world.clock.advance(31_000);
    assert.deepEqual(world.agent.servers, ["a"]);
    assert.equal(world.pings(), pings);
    await world.clock.advance(40_000);
    assert.ok(world.pings() > pings);
    assert.deepEqual(world.agent.servers, ["a"]);
  });
}

Deno.test("KonnectivityAgent joins as many servers as they report, one at a time", async () => {
  const ids = ["a", "a", "b"];
  await using world = agentWorld({ server: () => ({ id: ids.shift() ?? "c", count: 2 }) });
  await world.clock.advance(10);
  assert.deepEqual(world.agent.servers, ["a"]);
  await world.clock.advance(2500);
  assert.deepEqual(world.agent.servers, ["a", "b"]);
  assert.equal(world.connections.length, 3);
  await world.clock.advance(60_000);
  assert.equal(world.connections.length, 3);
});

Deno.test("KonnectivityAgent looks for another server when the count grows", async () => {
  let known = 1;
  let next = 0;
  const server = () => ({ id: String(next++), count: 5 });
  await using world = agentWorld({ server, options: { count: () => known } });
  await world.clock.advance(10_000);
  assert.equal(world.agent.servers.length, 1);
  known = 2;
  await world.clock.advance(1500);
  assert.equal(world.agent.servers.length, 2);
  known = 0;
  assert.equal(world.agent.wanted, 1);
});

Deno.test("check 26: KonnectivityAgent rejoins after a long outage within its longest delay", async () => {
  let isAway = false;
  const server = () => {
    if (isAway) throw new Error("the server is down");
    return { id: "a" };
  };
  await using world = agentWorld({ server });
  await world.clock.advance(10);
  isAway = true;
  world.connections[0]?.abort();
  await world.clock.advance(120_000);
  assert.deepEqual(world.agent.servers, []);
  isAway = false;
  await world.clock.advance(10_500);
  assert.deepEqual(world.agent.servers, ["a"]);
});

Deno.test("check 27: KonnectivityAgent keeps one connection when only one of two servers runs", async () => {
  await using world = agentWorld({ server: () => ({ id: "a", count: 2 }) });
  await world.clock.advance(60_000);
  assert.deepEqual(world.agent.servers, ["a"]);
  // Like upstream: one attempt per second, each closed at once.
  assert.ok(world.connections.length <= 62, `${world.connections.length} connections`);
});

Deno.test("KonnectivityAgent never stops looking if configured", async () => {
  const ids = ["a", "a", "a"];
  const server = () => ({ id: ids.shift() ?? "late" });
  await using world = agentWorld({ server, options: { looksForever: true } });
  // Advance in steps: each connection needs more turns than one step has.
  for (let ms = 0; ms < 6000; ms += 100) await world.clock.advance(100);
  assert.deepEqual(world.agent.servers, ["a", "late"]);
});

Deno.test("KonnectivityAgent reads its token for each connection, and replaces a lost connection at once", async () => {
  let reads = 0;
  const token = () => Promise.resolve(`token-${++reads}\n`);
  await using world = agentWorld({ server: () => ({ id: "a" }), options: { token } });
  await world.clock.advance(10);
  world.connections[0]?.abort();
  await world.clock.advance(10);
  const tokens = world.requests.map(({ requestFields }) => fieldValue(requestFields, "authorization"));
  assert.deepEqual(tokens, ["Bearer token-1", "Bearer token-2"]);
});

Deno.test("KonnectivityAgent keeps its server across sleeps and clock jumps", async () => {
  await using world = agentWorld({ server: () => ({ id: "a" }) });
  await world.clock.advance(4000);
  const hour = 3_600_000;
  for (const jump of [hour, -2 * hour]) {
    world.clock.jumpDate(jump);
    const before = world.pings();
    await world.clock.advance(9000);
    assert.equal(world.pings(), before + 3);
  }
  await world.clock.skip(hour);
  await world.clock.advance(9000);
  assert.deepEqual(world.agent.servers, ["a"]);
  assert.equal(world.connections.length, 1);
});

Deno.test("KonnectivityAgent leaves a silent server and retries", async () => {
  let isMute = true;
  await using world = agentWorld({ server: () => ({ id: "a", isMute }) });
  await world.clock.advance(9999);
  assert.equal(world.connections.length, 1);
  isMute = false;
  await world.clock.advance(5000);
  assert.deepEqual(world.agent.servers, ["a"]);
  assert.equal(world.connections.length, 2);
});

Deno.test("KonnectivityAgent joins no server while it drains, not even one it is connecting to", async () => {
  let next = 0;
  let isMute = false;
  await using world = agentWorld({ server: () => ({ id: String(next++), count: 2, isMute }) });
  isMute = true;
  await world.clock.advance(10);
  assert.deepEqual(world.agent.servers, ["0"]);
  assert.equal(world.requests.length, 2);
  const drained = world.agent.drain({ signal: new AbortController().signal });
  // That server would open connections that the agent does not wait for.
  world.requests[1]?.respond(grpcAnswer([["serverid", "late"], ["servercount", "2"]]));
  await world.clock.advance(300);
  await drained;
  assert.deepEqual(world.agent.servers, ["0"]);
});

Deno.test("KonnectivityAgent backs off from a server that drops it right after it joined", async () => {
  await using world = agentWorld({ server: () => ({ id: "a" }) });
  for (let ms = 0; ms < 20_000; ms += 10) {
    await world.clock.advance(10);
    world.connections.at(-1)?.abort();
  }
  assert.ok(world.connections.length < 10, `${world.connections.length} connections`);
  // A connection that lasted is replaced at once. Advance in steps: a connection needs more turns than one
  // step has.
  for (let ms = 0; ms < 30_000; ms += 100) await world.clock.advance(100);
  assert.deepEqual(world.agent.servers, ["a"]);
  world.connections.at(-1)?.abort();
  await world.clock.advance(10);
  assert.deepEqual(world.agent.servers, ["a"]);
});

Deno.test("KonnectivityAgent waits for connections that a server opens during the drain", async () => {
  let next = 0;
  const dial: Dial = () => {
    const [conn] = memoryPair();
    return Promise.resolve({ conn, tally: { up: 0, down: 0 }, finish: () => {} });
  };
  await using world = agentWorld({ server: () => ({ id: String(next++), count: 2 }), options: { dial } });
  await world.clock.advance(10);
  const { signal } = new AbortController();
  const [first, second] = world.requests.map((exchange) => {
    const dialer = new PacketDialer(new PacketStream(new GrpcStream(exchange)), {
      clock: world.clock,
      isShared: true,
    });
    void dialer.run();
    return dialer;
  });
  const target = { host: "a.test", port: 80 };
  const early = await first?.dial(target, { signal });
  let hasDrained = false;
  const drained = world.agent.drain({ signal }).then(() => hasDrained = true);
  await world.clock.advance(10);
  // The server has only this agent.
  const late = await second?.dial(target, { signal });
  await early?.[Symbol.asyncDispose]();
  await world.clock.advance(10);
  assert.equal(world.agent.connections, 1);
  assert.equal(hasDrained, false);
  await late?.[Symbol.asyncDispose]();
  await world.clock.advance(10);
  await drained;
});
