import assert from "node:assert/strict";
import { type Conn, Deadlines, type Dial } from "../../src/core/mod.ts";
import type { Listening, Network } from "../../src/world/mod.ts";
import { PosternError, type Target } from "../../src/words/mod.ts";
import {
  type Serve,
  serveForward,
  serveHttp,
  serveListener,
  serveMixed,
  serveSocks,
} from "../../src/listeners/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { encodeSocks4Request, encodeSocks5Greeting, encodeSocks5Request } from "../../src/wire/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { bytesOf, readExactly, readUntil } from "../support/fake_dial.ts";
import { readAll } from "../support/memory_conn.ts";
import { MemoryNetwork } from "../support/memory_network.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { recordingLog } from "../support/recording_log.ts";

/** A protocol with which a client requests a target. */
interface Way {
  readonly name: string;
  readonly serves: readonly Serve[];
  /** The bytes of the client's request. */
  hello(target: Target): Uint8Array<ArrayBuffer>;
  /** Reads the listener's answer and returns whether it connected. */
  answer(client: Conn): Promise<boolean>;
  /** The client reads the target's bytes only: a refusal ends the connection. */
  readonly hasNoAnswer?: true;
}

const greeting = encodeSocks5Greeting({ methods: [0] });

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(...parts.flatMap((part) => [...part]));
}

async function answerOfSocks4(client: Conn): Promise<boolean> {
  return (await readExactly(client, 8))[1] === 0x5a;
}

const ways: readonly Way[] = [
  {
    name: "SOCKS5",
    serves: [serveMixed, serveSocks],
    hello: (target) => joined(greeting, encodeSocks5Request({ command: 1, target })),
    answer: async (client) => (await readExactly(client, 12))[3] === 0,
  },
  {
    name: "SOCKS4",
    serves: [serveMixed, serveSocks],
    hello: (target) => encodeSocks4Request({ command: 1, target, user: "" }),
    answer: answerOfSocks4,
  },
  {
    name: "SOCKS4A",
    serves: [serveMixed, serveSocks],
    hello: ({ port }) =>
      encodeSocks4Request({ command: 1, target: { host: "target.example", port }, user: "" }),
    answer: answerOfSocks4,
  },
  {
    name: "CONNECT",
    serves: [serveMixed, serveHttp],
    hello: ({ host, port }) => bytesOf(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`),
    answer: async (client) => (await readUntil(client, "\r\n\r\n")).startsWith("HTTP/1.1 200 "),
  },
  {
    name: "a forward",
    serves: [serveForward({ host: "target.example", port: 1 })],
    hello: () => bytesOf(""),
    answer: () => Promise.resolve(true),
    hasNoAnswer: true,
  },
];

interface Setting extends AsyncDisposable {
  readonly listener: Listening;
  readonly target: Listening;
  readonly network: Network;
  readonly outcomes: string[];
  readonly stop: AbortController;
  readonly served: Promise<void>;
}

const networks = [
  { name: "in memory", open: () => new MemoryNetwork() },
  { name: "over sockets", open: createNetwork },
];

function setting(network: Network, serve: Serve): Setting {
  const clock = new FakeClock();
  const target = network.listen({ host: "127.0.0.1", port: 0 });
  const listener = network.listen({ host: "127.0.0.1", port: 0 });
  const outcomes: string[] = [];
  const dial: Dial = async ({ target: { host, port } }, { signal }) => {
    const conn = await network.connect(host === "target.example" ? target.endpoint : { host, port }, {
      signal,
    });
    let isOver = false;
    return {
      conn,
      tally: { up: 0, down: 0 },
      finish(outcome) {
        if (isOver) return;
        isOver = true;
        outcomes.push(outcome);
        void conn[Symbol.asyncDispose]();
      },
    };
  };
  const stop = new AbortController();
  const served = serveListener(listener, serve, {
    dial,
    clock,
    log: recordingLog(),
    deadlines: new Deadlines(clock),
    limits: { connections: 100, handshake: 10_000, halfCloseLinger: 30_000 },
  }, { signal: stop.signal });
  return {
    listener,
    target,
    network,
    outcomes,
    stop,
    served,
    async [Symbol.asyncDispose]() {
      target.close();
      stop.abort(new PosternError("cancelled", "The test is over"));
      await served;
      assert.equal(clock.waiting, 0, "a deadline is still pending");
    },
  };
}

const { signal } = new AbortController();

function targetOf({ target: { endpoint } }: Setting): Target {
  assert("port" in endpoint);
  return endpoint;
}

/** Connects a client with early bytes; returns it with the target's end of the connection. */
async function connected(world: Setting, way: Way, early = ""): Promise<{ client: Conn; far: Conn }> {
  const client = await world.network.connect(world.listener.endpoint, { signal });
  await client.write(joined(way.hello(targetOf(world)), bytesOf(early)));
  const far = await world.target.accept();
  assert(far);
  assert(await way.answer(client));
  return { client, far };
}

for (const { name: place, open } of networks) {
  for (const way of ways) {
    for (const serve of way.serves) {
      const name = `${way.name} ${
        serve === serveMixed ? "on a mixed listener" : "on its own listener"
      } ${place}`;

      Deno.test(`${name} delivers the client's early bytes`, async () => {
        await using world = setting(open(), serve);
        const { client, far } = await connected(world, way, "e".repeat(200));
        assert.deepEqual(await readExactly(far, 200), bytesOf("e".repeat(200)));
        await client[Symbol.asyncDispose]();
        await far[Symbol.asyncDispose]();
      });

      Deno.test(`${name} forwards the client's half-close and delivers the answer`, async () => {
        await using world = setting(open(), serve);
        const { client, far } = await connected(world, way);
        await client.write(bytesOf("x".repeat(1000)));
        await client.closeWrite();
        const received = await readAll(far);
        await far.write(bytesOf(`got ${received.length} bytes`));
        await far[Symbol.asyncDispose]();
        assert.deepEqual(await readAll(client), bytesOf("got 1000 bytes"));
        await client[Symbol.asyncDispose]();
        world.listener.close();
        await world.served;
        assert.deepEqual(world.outcomes, ["done"]);
      });

      Deno.test(`${name} carries a megabyte in both directions at once unchanged`, async () => {
        await using world = setting(open(), serve);
        const { client, far } = await connected(world, way);
        const [up, down] = [patternBytes(1_000_000, 1), patternBytes(1_000_000, 2)];
        const [gotUp, gotDown] = await Promise.all([
          readAll(far),
          readAll(client),
          client.write(up).then(() => client.closeWrite()),
          far.write(down).then(() => far.closeWrite()),
        ]);
        assert.deepEqual([gotUp, gotDown], [up, down]);
        await client[Symbol.asyncDispose]();
        await far[Symbol.asyncDispose]();
      });

      Deno.test(`${name} closes the target's connection when the client closes`, async () => {
        await using world = setting(open(), serve);
        const { client, far } = await connected(world, way);
        client.abort();
        const end = await far.read(new Uint8Array(1)).catch(() => null);
        assert.equal(end, null);
        await far[Symbol.asyncDispose]();
        world.listener.close();
        await world.served;
        assert.equal(world.outcomes.length, 1);
      });

      Deno.test(`${name} reports that the target refused, and then closes`, async () => {
        await using world = setting(open(), serve);
        const target = targetOf(world);
        world.target.close();
        const client = await world.network.connect(world.listener.endpoint, { signal });
        // Bytes after the request must not cause a reset that discards the answer.
        if (way.hasNoAnswer) {
          // A reset in memory; the runtime turns it into an end on a socket.
          assert.equal((await readAll(client).catch(() => bytesOf(""))).length, 0);
          await client[Symbol.asyncDispose]();
          return assert.deepEqual(world.outcomes, []);
        }
        await client.write(joined(way.hello(target), bytesOf("x".repeat(5000))));
        assert.equal(await way.answer(client), false);
        await client.closeWrite();
        await readAll(client);
        await client[Symbol.asyncDispose]();
        assert.deepEqual(world.outcomes, []);
      });

      Deno.test(`${name} ends with its signal`, async () => {
        await using world = setting(open(), serve);
        const { client, far } = await connected(world, way);
        world.stop.abort(new PosternError("cancelled", "The listener is closing"));
        await world.served;
        assert.equal(await client.read(new Uint8Array(1)).catch(() => null), null);
        assert.deepEqual(world.outcomes, ["cancelled"]);
        await client[Symbol.asyncDispose]();
        await far[Symbol.asyncDispose]();
      });
    }
  }
}

for (const { name: place, open } of networks) {
  Deno.test(`a refusal arrives although the client has sent many unread bytes, ${place}`, async () => {
    await using world = setting(open(), serveMixed);
    const client = await world.network.connect(world.listener.endpoint, { signal });
    const sending = client.write(bytesOf(`GET http://a/ HTTP/1.1\r\nX: ${"x".repeat(200_000)}`));
    assert.match(await readUntil(client, "\r\n\r\n"), /^HTTP\/1.1 431 [^]*\r\nConnection: close\r\n/);
    await readAll(client);
    await sending;
    await client[Symbol.asyncDispose]();
  });
}
