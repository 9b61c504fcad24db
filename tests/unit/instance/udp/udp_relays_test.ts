import assert from "node:assert/strict";
import { PosternError, type Target } from "../../../../src/words/mod.ts";
import { encodeSocks5Datagram, encodeSocks5Request } from "../../../../src/wire/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { bytesOf } from "../../../support/fake_dial.ts";
import { readAll } from "../../../support/memory_conn.ts";
import {
  configFile,
  lines,
  openUdpLab,
  refusals,
  server,
  serveUdp,
  UdpClient,
} from "../../../support/udp_lab.ts";

const { signal } = new AbortController();
const base = (more = "") => `
listen: { mixed: 127.0.0.1:1, socks: { address: 127.0.0.1:2, only: ["192.0.2.1:53"] }, unix: /run/me/x.sock, udp: true${more} }
transports: { web: { proxy: { url: "http://127.0.0.1:9" } }, lab: { kubernetes: { kubeconfig: /missing } } }
`;
const config = `${base()}
routes: [{ to: [corp.example, 10.0.0.0/8], via: web }, { to: [no.example], via: reject }]
`;
const open = (written = config) => openUdpLab(written);

Deno.test("UDP ASSOCIATE relays datagrams, records each target and ends with its connection", async () => {
  const lab = await open();
  const client = await UdpClient.open(lab.world);
  assert.equal(client.relay.host, "127.0.0.1");
  assert.equal(await client.ask(server, "one"), "ONE from 192.0.2.1:53");
  assert.equal(await client.ask({ host: "dns.example", port: 53 }, "two"), "TWO from 192.0.2.1:53");
  assert.equal(await client.ask(server, "three"), "THREE from 192.0.2.1:53");
  assert.deepEqual(lab.world.network.lookups, ["dns.example"]);
  await client.leave();
  assert.deepEqual(
    lines(lab.instance, "conn.done").map((line) =>
      ["protocol", "target", "transport", "up", "down", "outcome"].map((key) => line[key])
    ),
    [["socks5-udp", "192.0.2.1:53", "direct", 8, 8, "done"], [
      "socks5-udp",
      "dns.example:53",
      "direct",
      3,
      3,
      "done",
    ]],
  );
  await lab.end();
});

Deno.test("UDP ASSOCIATE delivers replies of asked targets only", async () => {
  const lab = await open();
  const client = await UdpClient.open(lab.world);
  await client.ask(server, "one");
  const stranger = await lab.world.network.datagrams({ host: "192.0.2.1", port: 54 });
  const out = lab.answerer;
  // The instance's socket: the address that the server has seen.
  const seen = Promise.withResolvers<Target>();
  const other = await lab.world.network.datagrams({ host: "192.0.2.9", port: 53 });
  void other.receive().then((got) => got && seen.resolve(got.from));
  await client.send({ host: "192.0.2.9", port: 53 }, "hello");
  const instance = await seen.promise;
  await stranger.send(bytesOf("junk"), instance);
  await out.send(bytesOf("late"), instance);
  await settle();
  assert.equal(await client.ask(server, "two"), "late from 192.0.2.1:53");
  for (const socket of [stranger, other]) socket.close();
  await client.leave();
  await lab.end();
});

Deno.test("UDP ASSOCIATE accepts datagrams of one port of the client only, and no fragments or junk", async () => {
  const lab = await open();
  const announced = await UdpClient.open(lab.world, { port: 4000 });
  const first = await UdpClient.open(lab.world);
  await first.send(server, "fragment", 1);
  await first.socket.send(Uint8Array.of(0, 0, 0, 9), first.relay);
  await first.socket.send(Uint8Array.of(0, 0, 0), first.relay);
  for (const client of [announced, first]) {
    assert.equal(await client.ask(server, "mine"), "MINE from 192.0.2.1:53");
    for (const host of ["127.0.0.1", "127.0.0.9"]) {
      const thief = await lab.world.network.datagrams({ host, port: 4001 });
      await thief.send(encodeSocks5Datagram(server, bytesOf("theirs")), client.relay);
      await settle();
      thief.close();
    }
  }
  assert.deepEqual(lab.answerer.heard, ["mine", "mine"]);
  for (const client of [announced, first]) await client.leave();
  await lab.end();
});

const refused: readonly { name: string; target: Target; reason: RegExp; at?: number; config?: string }[] = [
  {
    name: "a target of a transport without UDP",
    target: { host: "dns.corp.example", port: 53 },
    reason:
      /^dns\.corp\.example:53: Cannot relay UDP to dns\.corp\.example:53: the transport "web" \(proxy\) carries TCP only$/,
  },
  { name: "an address of such a transport", target: { host: "10.1.2.3", port: 53 }, reason: /TCP only$/ },
  {
    name: "a rejected target",
    target: { host: "no.example", port: 53 },
    reason: /a rule of postern rejects it$/,
  },
  {
    name: "a target that the listener does not allow",
    target: { host: "192.0.2.1", port: 54 },
    at: 2,
    reason: /this listener does not allow that target$/,
  },
  { name: "an unknown name", target: { host: "gone.example", port: 53 }, reason: /no such name$/ },
  { name: "port 0", target: { host: "192.0.2.1", port: 0 }, reason: /port 0 is not from 1 to 65535$/ },
  { name: "a multicast address", target: { host: "224.0.0.251", port: 5353 }, reason: /single hosts only/ },
  {
    name: "an IPv6 multicast address",
    target: { host: "ff02::fb", port: 5353 },
    reason: /single hosts only/,
  },
  {
    name: "a multicast address mapped to IPv6",
    target: { host: "::ffff:224.0.0.251", port: 5353 },
    reason: /single hosts only/,
  },
  {
    name: "the broadcast address",
    target: { host: "255.255.255.255", port: 9 },
    reason: /single hosts only/,
  },
  { name: "a wildcard address", target: { host: "0.0.0.0", port: 53 }, reason: /single hosts only/ },
  {
    name: "a name that a cluster may own",
    target: { host: "dns.shop", port: 53 },
    config: `${base()}routes: [{ to: [<services>, <clusterips>], via: lab }]\n`,
    reason: /^dns\.shop:53: .*may belong to/,
  },
  {
    name: "an address that a cluster may own",
    target: { host: "10.96.0.10", port: 53 },
    config: `${base()}routes: [{ to: [<services>, <clusterips>], via: lab }]\n`,
    reason: /^10\.96\.0\.10:53: .*may belong to/,
  },
];

for (const { name, target, reason, at = 1, config } of refused) {
  Deno.test(`UDP ASSOCIATE refuses ${name}, logs it once and sends nothing`, async () => {
    const lab = await open(config);
    const sent: string[] = [];
    const client = await UdpClient.open(lab.world, { at });
    const bind = lab.world.network.datagrams.bind(lab.world.network);
    lab.world.network.datagrams = async (endpoint) => {
      const socket = await bind(endpoint);
      const send = socket.send.bind(socket);
      socket.send = (bytes, to) => (sent.push(to.host), send(bytes, to));
      return socket;
    };
    for (const data of ["one", "two", "three"]) await client.send(target, data);
    await lab.world.clock.advance(0);
    const [told, ...more] = refusals(lab.instance);
    assert.match(told ?? "", reason);
    assert.deepEqual(more, []);
    assert.deepEqual(sent, []);
    assert.deepEqual(lab.world.network.lookups, name === "an unknown name" ? ["gone.example"] : []);
    await client.leave();
    await lab.end();
  });
}

Deno.test("UDP ASSOCIATE never sends to a socket of the instance", async () => {
  const lab = await open();
  const [one, two] = [await UdpClient.open(lab.world), await UdpClient.open(lab.world)];
  await one.send(two.relay, "loop");
  await one.send(one.relay, "loop");
  assert.match(refusals(lab.instance).join(), /would be a loop/);
  assert.equal(await two.ask(server, "fine"), "FINE from 192.0.2.1:53");
  await one.leave();
  await two.leave();
  await lab.end();
});

Deno.test("UDP ASSOCIATE is refused when it is off, on a socket file and over the limit", async () => {
  const lab = await open(base(", limits: { associations: 2 }"));
  const clients = [await UdpClient.open(lab.world), await UdpClient.open(lab.world)];
  assert.equal(await UdpClient.associate(lab.world), 1);
  await clients.pop()?.leave();
  clients.push(await UdpClient.open(lab.world));
  const conn = await lab.world.network.connect({ path: "/run/me/x.sock" }, { signal });
  const request = encodeSocks5Request({ command: 3, target: { host: "0.0.0.0", port: 0 } });
  await conn.write(Uint8Array.of(5, 1, 0, ...request));
  assert.equal((await readAll(conn))[3], 7);
  await conn[Symbol.asyncDispose]();
  for (const client of clients) await client.leave();
  await lab.end();
  const off = await open(base().replace(", udp: true", ""));
  assert.equal(await UdpClient.associate(off.world), 7);
  await off.end();
});

Deno.test("UDP ASSOCIATE ends idle targets and idle clients, and keeps busy ones", async () => {
  const lab = await open(base(", limits: { udpIdle: 60s }"));
  const client = await UdpClient.open(lab.world);
  await client.ask(server, "one");
  const other = await serveUdp(lab.world, { host: "192.0.2.2", port: 53 });
  for (let minute = 0; minute < 3; minute++) {
    await lab.world.clock.advance(50_000);
    await client.ask({ host: "192.0.2.2", port: 53 }, "busy");
  }
  assert.deepEqual(lines(lab.instance, "conn.done").map(({ target }) => target), ["192.0.2.1:53"]);
  const ended = readAll(client.conn);
  await lab.world.clock.advance(80_000);
  await settle();
  assert.equal((await ended).length, 0);
  assert.equal(lines(lab.instance, "conn.done").length, 2);
  other.close();
  await client.leave();
  await lab.end();
});

Deno.test("UDP ASSOCIATE follows a reload", async () => {
  const lab = await open();
  const client = await UdpClient.open(lab.world);
  const reload = async (written: string) => {
    await lab.world.files.replace(configFile, written);
    lab.world.kill("SIGHUP");
    for (let turn = 0; turn < 20; turn++) await settle();
  };
  await client.ask(server, "one");
  await reload(`${config}# the same route`);
  await client.ask(server, "two");
  assert.equal(lines(lab.instance, "conn.done").length, 0, "the flow goes on");
  await reload(`${base()}routes: [{ to: [192.0.2.0/24], via: web }]\n`);
  await client.send(server, "three");
  await client.send(server, "four");
  assert.equal(lines(lab.instance, "conn.done").length, 1);
  assert.match(refusals(lab.instance).join(), /TCP only/);
  await reload(config);
  await client.ask(server, "five");
  await reload(config.replace("udp: true", "udp: false"));
  await client.send(server, "six");
  assert.deepEqual(lab.answerer.heard, ["one", "two", "five"]);
  assert.equal(await UdpClient.associate(lab.world), 7);
  await client.leave();
  await lab.end();
});

Deno.test("UDP ASSOCIATE keeps at most 256 targets of a client", async () => {
  const lab = await open();
  const client = await UdpClient.open(lab.world);
  for (let at = 0; at < 300; at++) {
    await client.send({ host: "198.51.100.1", port: 1000 + at }, "x");
    await lab.world.clock.advance(1);
  }
  const done = lines(lab.instance, "conn.done").map(({ target }) => target);
  assert.deepEqual([done.length, done[0]], [44, "198.51.100.1:1000"]);
  await client.leave();
  assert.equal(lines(lab.instance, "conn.done").length, 300);
  await lab.end();
});

Deno.test("UDP ASSOCIATE opens at most 64 targets of a client at once", async () => {
  const lab = await open();
  const { network } = lab.world;
  let asked = 0;
  network.lookup = (_name, { signal }) => {
    asked++;
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const client = await UdpClient.open(lab.world);
  const other = await UdpClient.open(lab.world);
  const flood = async () => {
    for (let at = 0; at < 80; at++) {
      await client.send({ host: `name${at}.example`, port: 53 }, "x");
      // Targets that are refused at once must not make room.
      for (let four = 0; four < 4; four++) await client.send({ host: `10.0.${at}.${four}`, port: 53 }, "x");
    }
  };
  await flood();
  assert.equal(asked, 64);
  assert.equal(await other.ask(server, "mine"), "MINE from 192.0.2.1:53");
  await lab.world.clock.advance(30_000);
  await flood();
  assert.equal(asked, 128);
  for (const one of [client, other]) await one.leave();
  await lab.end();
});

Deno.test("UDP ASSOCIATE leaves no socket for a target that was forgotten before its name was known", async () => {
  const lab = await open();
  const { network } = lab.world;
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  network.lookup = () => promise;
  const client = await UdpClient.open(lab.world);
  await client.send({ host: "slow.example", port: 53 }, "x");
  for (let at = 0; at < 256; at++) {
    await lab.world.clock.advance(1);
    await client.send({ host: `10.0.0.${at}`, port: 53 }, "x");
  }
  const before = network.openDatagrams;
  resolve(["192.0.2.1"]);
  await settle();
  assert.equal(network.openDatagrams, before);
  await client.leave();
  await lab.end();
});

Deno.test("UDP ASSOCIATE drops a reply that the system does not send, and keeps the targets", async () => {
  const lab = await open();
  const { network } = lab.world;
  const bind = network.datagrams.bind(network);
  network.datagrams = async (endpoint) => {
    const socket = await bind(endpoint);
    // The relay is the first.
    network.datagrams = bind;
    const send = socket.send.bind(socket);
    // macOS sends no datagram of more than 9,216 bytes.
    socket.send = (bytes, to) =>
      bytes.length > 100
        ? Promise.reject(new PosternError("internal", "Cannot send: message too long"))
        : send(bytes, to);
    return socket;
  };
  const client = await UdpClient.open(lab.world);
  await client.send(server, "x".repeat(95));
  assert.equal(await client.ask(server, "one"), "ONE from 192.0.2.1:53");
  assert.equal(lines(lab.instance, "conn.done").length, 0, "the flow goes on");
  await client.leave();
  await lab.end();
});

Deno.test("UDP ASSOCIATE over IPv6 relays to both families", async () => {
  const lab = await open('listen: { mixed: "[::1]:1", udp: true }\n');
  const six = await serveUdp(lab.world, { host: "2001:db8::1", port: 53 });
  const client = await UdpClient.open(lab.world, { host: "::1" });
  assert.equal(client.relay.host, "::1");
  assert.equal(await client.ask(server, "four"), "FOUR from 192.0.2.1:53");
  assert.equal(await client.ask({ host: "2001:db8::1", port: 53 }, "six"), "SIX from 2001:db8::1:53");
  await client.leave();
  six.close();
  await lab.end();
});

Deno.test("UDP ASSOCIATE ends two quiet seconds after the instance began to stop", async () => {
  const lab = await open();
  const client = await UdpClient.open(lab.world);
  await client.ask(server, "one");
  lab.world.kill("SIGTERM");
  await settle();
  for (let second = 0; second < 4; second++) {
    await lab.world.clock.advance(1_000);
    await client.ask(server, "busy");
  }
  assert(!lab.instance.hasEnded());
  await lab.world.clock.advance(2_600);
  await lab.instance.ended;
  client.socket.close();
  await lab.end();
});
