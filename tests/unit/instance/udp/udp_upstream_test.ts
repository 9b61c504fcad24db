import assert from "node:assert/strict";
import { type Conn, Messages } from "../../../../src/core/mod.ts";
import type { Target } from "../../../../src/words/mod.ts";
import {
  decodeSocks5Credentials,
  decodeSocks5Datagram,
  decodeSocks5Greeting,
  decodeSocks5Request,
  encodeSocks5Datagram,
  encodeSocks5Reply,
  socks5Commands,
} from "../../../../src/wire/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { bytesOf } from "../../../support/fake_dial.ts";
import { lines, openUdpLab, refusals, UdpClient } from "../../../support/udp_lab.ts";
import type { MemoryWorld } from "../../../support/memory_world.ts";

const proxy = { host: "192.0.2.50", port: 1080 };
const relay = { host: "192.0.2.50", port: 4000 };
const asked = { host: "dns.example", port: 53 };
const config = `
listen: { mixed: 127.0.0.1:1, udp: true }
transports: { up: { proxy: { url: "socks5h://me:secret@192.0.2.50:1080" } } }
default: up
`;

interface UpstreamOptions {
  readonly bound?: Target;
  readonly code?: number;
  /** The source of its answers (default: an address of the name). */
  readonly source?: Target;
}

/** A SOCKS5 proxy with a password that relays UDP: it answers each datagram with its target and data. */
async function serveUpstream(world: MemoryWorld, options: UpstreamOptions = {}) {
  const { bound = relay, code = 0, source = { host: "198.51.100.9", port: 53 } } = options;
  const listening = world.network.listen(proxy);
  const socket = await world.network.datagrams(relay);
  const conns: Conn[] = [];
  const serve = async (conn: Conn) => {
    const messages = new Messages(conn);
    await messages.read(decodeSocks5Greeting);
    await conn.write(Uint8Array.of(5, 2));
    assert.deepEqual(await messages.read(decodeSocks5Credentials), { user: "me", password: "secret" });
    await conn.write(Uint8Array.of(1, 0));
    assert.equal((await messages.read(decodeSocks5Request))?.command, socks5Commands.associate);
    await conn.write(encodeSocks5Reply(code, bound));
    if (code !== 0) await conn[Symbol.asyncDispose]();
  };
  void (async () => {
    for (let conn; (conn = await listening.accept());) {
      conns.push(conn);
      await serve(conn);
    }
  })();
  void (async () => {
    for (let got; (got = await socket.receive());) {
      const header = decodeSocks5Datagram(got.bytes);
      assert(header);
      const { host, port } = header.value.target;
      const data = new TextDecoder().decode(got.bytes.subarray(header.used));
      await socket.send(encodeSocks5Datagram(source, bytesOf(`${data} for ${host}:${port}`)), got.from);
    }
  })();
  return {
    conns,
    socket,
    async end() {
      listening.close();
      socket.close();
      for (const conn of conns) await conn[Symbol.asyncDispose]();
    },
  };
}

async function open(options: UpstreamOptions = {}) {
  const lab = await openUdpLab(config);
  const upstream = await serveUpstream(lab.world, options);
  const client = await UdpClient.open(lab.world);
  return {
    ...lab,
    upstream,
    client,
    async end() {
      await client.leave();
      await upstream.end();
      await lab.end();
    },
  };
}

for (const bound of [relay, { host: "0.0.0.0", port: 4000 }, { host: "::", port: 4000 }]) {
  Deno.test(`a SOCKS5 proxy with the relay ${bound.host} carries names unresolved, on one connection`, async () => {
    const lab = await open({ bound });
    assert.equal(await lab.client.ask(asked, "one"), "one for dns.example:53 from 198.51.100.9:53");
    assert.equal(await lab.client.ask(asked, "two"), "two for dns.example:53 from 198.51.100.9:53");
    assert.deepEqual(lab.world.network.lookups, []);
    assert.equal(lab.upstream.conns.length, 1);
    await lab.end();
    const done = lines(lab.instance, "conn.done").map(({ target, transport }) => [target, transport]);
    assert.deepEqual(done, [["dns.example:53", "up"]]);
  });
}

const unusable: readonly { name: string; options: UpstreamOptions; reason: RegExp }[] = [
  {
    name: "that does not support UDP ASSOCIATE",
    options: { code: 7 },
    reason: /^dns\.example:53: Cannot use the proxy "up" \(.*\): it does not support UDP ASSOCIATE$/,
  },
  { name: "that forbids it", options: { code: 2 }, reason: /: its rules do not allow UDP$/ },
  {
    name: "with a relay on this machine's loopback",
    options: { bound: { host: "127.0.0.1", port: 4000 } },
    reason: /: its relay address 127\.0\.0\.1:4000 is unusable$/,
  },
  {
    name: "with a relay on loopback mapped to IPv6",
    options: { bound: { host: "::ffff:127.0.0.1", port: 4000 } },
    reason: /is unusable$/,
  },
  {
    name: "with a name as its relay",
    options: { bound: { host: "relay.example", port: 4000 } },
    reason: /: its relay address relay\.example:4000 is unusable$/,
  },
  {
    name: "with a multicast address as its relay",
    options: { bound: { host: "224.0.0.251", port: 5353 } },
    reason: /: its relay address 224\.0\.0\.251:5353 is unusable$/,
  },
  { name: "without a port", options: { bound: { host: "192.0.2.50", port: 0 } }, reason: /is unusable$/ },
];

for (const { name, options, reason } of unusable) {
  Deno.test(`a SOCKS5 proxy ${name} is asked again only after 5 s`, async () => {
    const lab = await open(options);
    const connects = () => lab.world.network.connects.filter((to) => to === "192.0.2.50:1080").length;
    for (const host of ["dns.example", "dns.example", "other.example"]) {
      await lab.client.send({ host, port: 53 }, "x");
      for (let turn = 0; turn < 20; turn++) await settle();
    }
    assert.equal(connects(), 1);
    assert.match(refusals(lab.instance)[0] ?? "", reason);
    await lab.world.clock.advance(5_100);
    await lab.client.send(asked, "x");
    for (let turn = 0; turn < 20; turn++) await settle();
    assert.equal(connects(), 2);
    assert.equal(lines(lab.instance, "conn.done").length, 0);
    await lab.end();
    assert(!JSON.stringify(lab.instance.lines).includes("secret"));
  });
}

Deno.test("a SOCKS5 proxy that closes its connection ends the flows, and the next datagram opens another", async () => {
  const lab = await open();
  await lab.client.ask(asked, "one");
  await lab.upstream.conns[0]?.[Symbol.asyncDispose]();
  for (let turn = 0; turn < 20; turn++) await settle();
  const [done] = lines(lab.instance, "conn.done");
  assert.deepEqual([done?.["outcome"], done?.["target"]], ["target_gone", "dns.example:53"]);
  assert.match(`${done?.["reason"]}`, /it closed the connection$/);
  await lab.client.ask(asked, "two");
  assert.equal(lab.upstream.conns.length, 2);
  await lab.end();
});

Deno.test("a SOCKS5 proxy leaves no socket when the client leaves before it is bound", async () => {
  const lab = await open();
  const { network } = lab.world;
  const bind = network.datagrams.bind(network);
  const { promise, resolve } = Promise.withResolvers<void>();
  network.datagrams = async (endpoint) => {
    await promise;
    return await bind(endpoint);
  };
  await lab.client.send(asked, "one");
  for (let turn = 0; turn < 20; turn++) await settle();
  await lab.client.leave();
  resolve();
  for (let turn = 0; turn < 20; turn++) await settle();
  await lab.end();
});

Deno.test("replies of a SOCKS5 proxy count only from its relay and from ports that the client asked", async () => {
  const lab = await open({ source: { host: "198.51.100.9", port: 54 } });
  await lab.client.send(asked, "one");
  for (let turn = 0; turn < 20; turn++) await settle();
  // The answer comes from port 54, which the client did not ask.
  const thief = await lab.world.network.datagrams({ host: "192.0.2.50", port: 4001 });
  const seen = Promise.withResolvers<Target>();
  const { socket } = lab.upstream;
  const receive = socket.receive.bind(socket);
  socket.receive = async () => {
    const got = await receive();
    if (got) seen.resolve(got.from);
    return got;
  };
  await lab.client.send(asked, "two");
  await lab.client.send(asked, "three");
  const instance = await seen.promise;
  const forged = encodeSocks5Datagram({ host: "198.51.100.9", port: 53 }, bytesOf("forged"));
  await thief.send(forged, instance);
  await socket.send(encodeSocks5Datagram({ host: "198.51.100.9", port: 53 }, bytesOf("real")), instance);
  const got = await lab.client.socket.receive();
  const header = got && decodeSocks5Datagram(got.bytes);
  assert.equal(new TextDecoder().decode(got?.bytes.subarray(header?.used)), "real");
  thief.close();
  await lab.end();
});
