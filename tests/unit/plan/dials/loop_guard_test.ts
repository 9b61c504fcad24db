import assert from "node:assert/strict";
import { withoutLoops } from "../../../../src/plan/dials/loop_guard.ts";
import type { Conn } from "../../../../src/core/mod.ts";
import type { Endpoint } from "../../../../src/words/mod.ts";
import { type MemoryConn, memoryPair } from "../../../support/memory_conn.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";

const { signal } = new AbortController();

/** A network where every connection ends at `peer`. */
class Leading extends MemoryNetwork {
  readonly conn: MemoryConn;

  constructor(peer: string, local?: string) {
    super();
    const [conn] = memoryPair();
    this.conn = Object.defineProperties(conn, { peer: { value: peer }, local: { value: local } });
  }

  override connect(): Promise<Conn> {
    return Promise.resolve(this.conn);
  }
}

Deno.test("withoutLoops() sends no datagram from one socket of the instance to another", async () => {
  const memory = new MemoryNetwork();
  const network = withoutLoops(memory, () => []);
  await using outside = await memory.datagrams({ host: "127.0.0.1", port: 0 });
  await using relay = await network.datagrams({ host: "127.0.0.1", port: 0 });
  const other = await network.datagrams({ host: "0.0.0.0", port: 0 });
  const { port } = other.endpoint;
  for (const host of ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::ffff:127.0.0.1"]) {
    await assert.rejects(relay.send(Uint8Array.of(1), { host, port }), {
      code: "not_allowed",
      detail: "loop",
    });
  }
  await assert.rejects(relay.send(Uint8Array.of(1), relay.endpoint), { detail: "loop" });
  await relay.send(Uint8Array.of(2), outside.endpoint);
  assert.deepEqual(await outside.receive(), { bytes: Uint8Array.of(2), from: relay.endpoint });
  await other[Symbol.asyncDispose]();
  await relay.send(Uint8Array.of(1), { host: "127.0.0.1", port });
});

const any4 = { host: "0.0.0.0", port: 9 };
const any6 = { host: "::", port: 9 };
const cases: { name: string; own: Endpoint; peer: string; local?: string; isLoop: boolean }[] = [
  { name: "our address", own: { host: "127.0.0.1", port: 9 }, peer: "127.0.0.1:9", isLoop: true },
  { name: "another port", own: { host: "127.0.0.1", port: 9 }, peer: "127.0.0.1:99", isLoop: false },
  { name: "another loopback", own: { host: "127.0.0.1", port: 9 }, peer: "127.0.0.2:9", isLoop: false },
  {
    name: "our address mapped",
    own: { host: "127.0.0.1", port: 9 },
    peer: "[::ffff:127.0.0.1]:9",
    isLoop: true,
  },
  { name: "our IPv6 address", own: { host: "::1", port: 9 }, peer: "[::1]:9", isLoop: true },
  { name: "loopback of a wildcard listener", own: any4, peer: "127.0.0.7:9", isLoop: true },
  {
    name: "our network address of a wildcard listener",
    own: any4,
    peer: "10.0.0.5:9",
    local: "10.0.0.5:44",
    isLoop: true,
  },
  { name: "another machine's port", own: any4, peer: "10.0.0.6:9", local: "10.0.0.5:44", isLoop: false },
  { name: "IPv4 of an IPv6 wildcard listener", own: any6, peer: "127.0.0.1:9", isLoop: true },
  { name: "our unix socket", own: { path: "/d.sock" }, peer: "unix:/d.sock", isLoop: true },
  { name: "another unix socket that ends alike", own: any4, peer: "unix:/tmp/x:9", isLoop: false },
];
for (const { name, own, peer, local, isLoop } of cases) {
  Deno.test(`withoutLoops() ${isLoop ? "drops" : "lets through"} ${name}`, async () => {
    const network = new Leading(peer, local);
    const connected = withoutLoops(network, () => [own]).connect({ host: "192.0.2.1", port: 1 }, { signal });
    if (isLoop) await assert.rejects(connected, { code: "not_allowed" });
    else await connected;
    assert.equal(network.conn.isClosed, isLoop);
  });
}

Deno.test("withoutLoops() passes on everything else", async () => {
  const network = new MemoryNetwork();
  network.names.set("a.example", ["192.0.2.1"]);
  const guarded = withoutLoops(network, () => []);
  assert.deepEqual(await guarded.lookup("a.example", { signal }), ["192.0.2.1"]);
  const listening = guarded.listen({ host: "127.0.0.1", port: 5 });
  assert.deepEqual(listening.endpoint, { host: "127.0.0.1", port: 5 });
  listening.close();
  const [conn] = memoryPair();
  await assert.rejects(guarded.secure(conn, { serverName: "a.example", signal }), { code: "protocol" });
});

Deno.test("withoutLoops() never connects to an address that stands for a name", async () => {
  const network = new MemoryNetwork();
  await using _other = network.listen({ host: "127.64.0.1", port: 1 });
  const guarded = withoutLoops(network, () => [], (address) => address.startsWith("127.64."));
  const connected = guarded.connect({ host: "127.64.0.1", port: 1 }, { signal });
  await assert.rejects(connected, { code: "not_allowed", detail: "loop" });
  assert.deepEqual(network.connects, []);
});

Deno.test("withoutLoops() sends no datagram to an address that stands for a name", async () => {
  const guarded = withoutLoops(new MemoryNetwork(), () => [], (address) => address.startsWith("127.64."));
  await using socket = await guarded.datagrams({ host: "127.0.0.1", port: 0 });
  await assert.rejects(socket.send(new Uint8Array(1), { host: "127.64.0.1", port: 53 }), { detail: "loop" });
  await socket.send(new Uint8Array(1), { host: "127.0.0.1", port: 53 });
});
