import assert from "node:assert/strict";
import { LoopbackListeners, type PortRefusal } from "../../../../src/instance/dns/loopback_listeners.ts";
import { defaultLimits } from "../../../../src/listeners/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { FakeDial } from "../../../support/fake_dial.ts";
import { readAll } from "../../../support/memory_conn.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();
const minute = 60_000;

/** Listeners in memory; `room` is the number of free descriptors. */
function place({ most = 100, room = 1000, connections = 10 } = {}) {
  const clock = new FakeClock();
  const network = new MemoryNetwork();
  const dials = new FakeDial();
  const refused: PortRefusal[] = [];
  const used: string[] = [];
  const descriptors = { room, probes: 0 };
  let open = 0;
  const listeners = new LoopbackListeners({
    network: {
      listen(endpoint) {
        const listening = network.listen(endpoint);
        const close = listening.close.bind(listening);
        open++;
        listening.close = () => {
          open--;
          listening.close = close;
          close();
        };
        return listening;
      },
      hasRoom(count) {
        descriptors.probes++;
        return open + count <= descriptors.room;
      },
    },
    clock,
    log: recordingLog(),
    dial: dials.dial,
    refused: (refusal) => void refused.push(refusal),
    used: (address) => void used.push(address),
  });
  listeners.configure({ ...defaultLimits, connections }, { most, idle: 10 * minute });
  const connect = (host: string, port: number) => network.connect({ host, port }, { signal });
  const isOpen = async (host: string, port = 1): Promise<boolean> => {
    try {
      await using _conn = await connect(host, port);
      return true;
    } catch (error) {
      if (error instanceof PosternError && error.code === "refused") return false;
      throw error;
    }
  };
  const end = async () => {
    await listeners[Symbol.asyncDispose]();
    assert.deepEqual([listeners.size, listeners.names, open, clock.waiting], [0, 0, 0, 0]);
  };
  return { listeners, clock, network, dials, refused, used, descriptors, connect, isOpen, end };
}

Deno.test("LoopbackListeners connects a client to the name of its address and the port of its listener", async () => {
  const { listeners, dials, connect, end } = place();
  listeners.open("a.example", { address: "127.64.0.1", ports: [1, 2] });
  listeners.open("b.example", { address: "127.64.0.2", ports: [1] });
  assert.deepEqual([listeners.names, listeners.size], [2, 3]);
  for (
    const [at, [host, port, target]] of ([
      ["127.64.0.1", 2, "a.example"],
      ["127.64.0.2", 1, "b.example"],
    ] as const).entries()
  ) {
    await using client = await connect(host, port);
    const dial = await dials.nth(at);
    assert.deepEqual(dial.request.target, { host: target, port });
    assert.equal(dial.request.protocol, "forward");
    await dial.target.write(new TextEncoder().encode("hello"));
    await dial.target.closeWrite();
    assert.equal(new TextDecoder().decode(await readAll(client)), "hello");
    await client.closeWrite();
  }
  await settle();
  await end();
});

Deno.test("LoopbackListeners closes names that no query and no connection uses", async () => {
  const { listeners, clock, dials, connect, used, end } = place();
  listeners.open("idle.example", { address: "127.64.0.1", ports: [1] });
  listeners.open("asked.example", { address: "127.64.0.2", ports: [1] });
  listeners.open("busy.example", { address: "127.64.0.3", ports: [1] });
  listeners.open("printed.example", { address: "127.64.0.4", ports: [1] });
  assert.deepEqual(listeners.pin("printed.example"), [1]);
  assert.equal(listeners.pin("other.example"), undefined);
  const client = await connect("127.64.0.3", 1);
  const dial = await dials.nth(0);
  await clock.advance(9 * minute);
  listeners.open("asked.example", { address: "127.64.0.2", ports: [1] });
  await clock.advance(minute);
  assert.equal(listeners.names, 3);
  await clock.advance(10 * minute);
  assert.equal(listeners.names, 2);
  // Its address is not given to another name meanwhile.
  assert.deepEqual(new Set(used), new Set(["127.64.0.3", "127.64.0.4"]));
  await dial.target.closeWrite();
  await client.closeWrite();
  await settle();
  // The end of a connection counts as use.
  await clock.advance(9 * minute);
  assert.equal(listeners.names, 2);
  await clock.advance(2 * minute);
  assert.equal(listeners.names, 1);
  listeners.unpin(() => false);
  await clock.advance(11 * minute);
  assert.deepEqual([listeners.names, clock.waiting], [0, 0]);
  await client[Symbol.asyncDispose]();
  await end();
});

Deno.test("LoopbackListeners keeps connections of a name whose listeners it closes", async () => {
  const { listeners, dials, connect, isOpen, end } = place();
  listeners.open("a.example", { address: "127.64.0.1", ports: [1] });
  const client = await connect("127.64.0.1", 1);
  const dial = await dials.nth(0);
  listeners.change(() => []);
  assert.equal(await isOpen("127.64.0.1"), false);
  await dial.target.write(new Uint8Array([7]));
  assert.equal(await client.read(new Uint8Array(9)), 1);
  // Another name may get the address.
  listeners.open("b.example", { address: "127.64.0.1", ports: [1] });
  await using _other = await connect("127.64.0.1", 1);
  assert.equal((await dials.nth(1)).request.target.host, "b.example");
  listeners.drop(new PosternError("cancelled", "stop"));
  await assert.rejects(async () => await client.read(new Uint8Array(9)));
  await end();
});

Deno.test("LoopbackListeners changes the ports of a name with its next query and with a reload", async () => {
  const { listeners, isOpen, end } = place();
  const ports = () => Promise.all([1, 2, 3].map((port) => isOpen("127.64.0.1", port)));
  listeners.open("a.example", { address: "127.64.0.1", ports: [1, 2] });
  assert.deepEqual(await ports(), [true, true, false]);
  listeners.open("a.example", { address: "127.64.0.1", ports: [2, 3] });
  assert.deepEqual(await ports(), [false, true, true]);
  listeners.change(() => "kept");
  listeners.change(() => [1]);
  assert.deepEqual(await ports(), [true, false, false]);
  assert.equal(listeners.size, 1);
  await settle();
  await end();
});

Deno.test("LoopbackListeners forgets a name that a reload leaves without a free port", async () => {
  const { listeners, network, end } = place();
  await using _held = network.listen({ host: "127.64.0.1", port: 2 });
  listeners.open("a.example", { address: "127.64.0.1", ports: [1] });
  listeners.change(() => [2]);
  assert.deepEqual([listeners.names, listeners.size], [0, 0]);
  await settle();
  await end();
});

Deno.test("LoopbackListeners listens on the other ports if one is in use, and fails without any", async () => {
  const { listeners, network, refused, isOpen, end } = place();
  await using _held = network.listen({ host: "127.64.0.1", port: 1 });
  listeners.open("a.example", { address: "127.64.0.1", ports: [1, 2] });
  assert.equal(await isOpen("127.64.0.1", 2), true);
  assert.deepEqual(refused.map(({ name, port, error }) => [name, port, error.detail]), [
    ["a.example", 1, "in_use"],
  ]);
  assert.throws(() => listeners.open("a.example", { address: "127.64.0.1", ports: [1] }), {
    detail: "in_use",
  });
  assert.equal(listeners.names, 0);
  await settle();
  await end();
});

for (
  const { name, options, hint } of [
    { name: "its maximum", options: { most: 4 }, hint: "raise dns.maxListeners" },
    // 256 descriptors stay for connections, and it looks for 64 at a time.
    {
      name: "the free descriptors",
      options: { room: 322 },
      hint: "raise the limit of open files: ulimit -n",
    },
  ]
) {
  Deno.test(`LoopbackListeners stays below ${name}: idle names go first, the least recently used one before`, async () => {
    const { listeners, clock, dials, connect, descriptors, end } = place(options);
    const count = name === "its maximum" ? 2 : 32;
    const open = (at: number) =>
      listeners.open(`${at}.example`, { address: `127.64.1.${at}`, ports: [1, 2] });
    const isOpen = async (at: number) => {
      const before = listeners.names;
      try {
        (await connect(`127.64.1.${at}`, 2)).abort();
        await settle();
        return true;
      } catch {
        return false;
      } finally {
        assert.equal(listeners.names, before);
      }
    };
    for (let at = 0; at < count; at++) open(at);
    // A client is about to connect to each of them.
    assert.throws(() => open(100), { code: "internal", detail: "overloaded", hint });
    assert.equal(await isOpen(0), true);
    const client = await connect("127.64.1.1", 1);
    await dials.nth(1);
    await clock.advance(minute / 2);
    open(100);
    assert.deepEqual([await isOpen(100), await isOpen(1)], [true, true]);
    assert.ok(listeners.size <= 2 * count, `${listeners.size}`);
    assert.ok(descriptors.probes < 2 * count + 8, `${descriptors.probes}`);
    client.abort();
    await settle();
    await end();
  });
}

Deno.test("LoopbackListeners keeps the ports of a name when there is no room for another one", async () => {
  const { listeners, refused, isOpen, end } = place({ most: 4 });
  listeners.open("a.example", { address: "127.64.0.1", ports: [1, 2] });
  listeners.open("b.example", { address: "127.64.0.2", ports: [1, 2] });
  // A reload, and the next query.
  listeners.change((name) => name === "a.example" ? [1, 2, 3] : "kept");
  listeners.open("a.example", { address: "127.64.0.1", ports: [1, 2, 3] });
  assert.deepEqual([await isOpen("127.64.0.1", 1), await isOpen("127.64.0.1", 2)], [true, true]);
  assert.deepEqual(refused.map(({ port, error }) => [port, error.detail]), [[3, "overloaded"], [
    3,
    "overloaded",
  ]]);
  await settle();
  await end();
});

Deno.test("LoopbackListeners looks again for free descriptors after it has closed many listeners", async () => {
  const { listeners, descriptors, end } = place({ most: 1000 });
  const open = (at: number) => listeners.open(`${at}.example`, { address: `127.64.1.${at}`, ports: [1, 2] });
  for (let at = 0; at < 200; at++) open(at);
  listeners.retain(() => false);
  // Connections have taken the descriptors meanwhile.
  descriptors.room = 256;
  assert.throws(() => {
    for (let at = 0; at < 200; at++) open(at);
  }, { detail: "overloaded" });
  assert.equal(listeners.size, 64);
  await settle();
  await end();
});

Deno.test("LoopbackListeners counts the clients of all names together", async () => {
  const { listeners, connect, dials, end } = place({ connections: 2 });
  for (const at of [1, 2, 3]) listeners.open(`${at}.example`, { address: `127.64.0.${at}`, ports: [1] });
  await using _one = await connect("127.64.0.1", 1);
  await using _two = await connect("127.64.0.2", 1);
  await dials.nth(1);
  await using three = await connect("127.64.0.3", 1);
  await assert.rejects(async () => await three.read(new Uint8Array(1)));
  assert.equal(dials.made.length, 2);
  await end();
});

Deno.test("LoopbackListeners opens nothing after it has drained", async () => {
  const { listeners, isOpen, end } = place();
  listeners.open("a.example", { address: "127.64.0.1", ports: [1] });
  await listeners.drain();
  assert.equal(await isOpen("127.64.0.1"), false);
  assert.throws(() => listeners.open("a.example", { address: "127.64.0.1", ports: [1] }), {
    detail: "closing",
  });
  await end();
});
