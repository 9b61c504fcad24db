import assert from "node:assert/strict";
import type { Dialer } from "../../../../src/world/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { GuestDns } from "../../../../src/konnectivity/client/guest_dns.ts";
import { dnsRcodes } from "../../../../src/dns/mod.ts";
import { DnsServer } from "../../../support/dns_server.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";

const { signal } = new AbortController();

class Lab implements AsyncDisposable {
  readonly network = new MemoryNetwork();
  readonly clock = new FakeClock();
  readonly server = new DnsServer(this.network.listen({ host: "10.96.0.10", port: 53 }), {
    "web.example": { addresses: ["192.0.2.1", "2001:db8::1", "192.0.2.2"], ttl: 20 },
    "alias.example": { addresses: ["192.0.2.3"], alias: "web.elsewhere" },
    "broken.example": { rcode: dnsRcodes.serverFailure },
    "short.example": "ends",
    "slow.example": "silent",
    "fresh.example": { addresses: ["192.0.2.9"], ttl: 0 },
    "four.example": { addresses: ["192.0.2.4"], ttl: 100_000 },
  });
  servers: readonly string[] = ["10.96.0.10"];
  readonly guest = new GuestDns({
    clock: this.clock,
    servers: () => Promise.resolve(this.servers),
    dial: (target, options) => this.network.connect(target, options),
  });

  async [Symbol.asyncDispose](): Promise<void> {
    this.guest[Symbol.dispose]();
    await this.server[Symbol.asyncDispose]();
    assert.equal(this.network.open, 0);
  }
}

Deno.test("GuestDns queries both families on one connection and returns all addresses", async () => {
  await using lab = new Lab();
  assert.deepEqual(await lab.guest.resolve("web.example", { signal }), [
    "192.0.2.1",
    "192.0.2.2",
    "2001:db8::1",
  ]);
  assert.deepEqual(lab.server.asked, ["A web.example", "AAAA web.example"]);
  assert.deepEqual(lab.network.connects, ["10.96.0.10:53"]);
});

Deno.test("GuestDns follows an alias within a response", async () => {
  await using lab = new Lab();
  assert.deepEqual(await lab.guest.resolve("alias.example", { signal }), ["192.0.2.3"]);
});

Deno.test("GuestDns caches addresses for their TTL, at most five minutes, and missing ones for 5 s", async () => {
  await using lab = new Lab();
  const cases: [name: string, seconds: number][] = [["web.example", 20], ["four.example", 300], [
    "no.example",
    5,
  ]];
  for (const [name, seconds] of cases) {
    const ask = () => lab.guest.resolve(name, { signal }).catch((error) => error.code);
    const first = await ask();
    const count = lab.server.asked.length;
    await lab.clock.advance(seconds * 1000 - 1);
    assert.deepEqual(await ask(), first);
    assert.equal(lab.server.asked.length, count);
    await lab.clock.advance(1);
    assert.deepEqual(await ask(), first);
    assert.equal(lab.server.asked.length, count + 2, name);
  }
  await lab.guest.resolve("fresh.example", { signal });
  const count = lab.server.asked.length;
  await lab.guest.resolve("fresh.example", { signal });
  assert.equal(lab.server.asked.length, count + 2);
});

Deno.test("GuestDns sends one query for concurrent calls", async () => {
  await using lab = new Lab();
  await Promise.all(Array.from({ length: 5 }, () => lab.guest.resolve("web.example", { signal })));
  assert.equal(lab.server.asked.length, 2);
});

Deno.test("GuestDns distinguishes a missing name from a failing server", async () => {
  await using lab = new Lab();
  await assert.rejects(lab.guest.resolve("no.example", { signal }), { code: "name_not_found" });
  await assert.rejects(lab.guest.resolve("a..b", { signal }), { code: "name_not_found" });
  await assert.rejects(lab.guest.resolve("broken.example", { signal }), {
    code: "unreachable",
    message: /code 2$/,
  });
  await assert.rejects(lab.guest.resolve("short.example", { signal }), { code: "unreachable" });
  lab.network.faults.set("10.96.0.10:53", new PosternError("refused", "Cannot reach 10.96.0.10:53: no"));
  await assert.rejects(lab.guest.resolve("other.example", { signal }), { code: "refused" });
});

Deno.test("GuestDns times out on a silent server, for all callers", async () => {
  await using lab = new Lab();
  const asking = [
    lab.guest.resolve("slow.example", { signal }),
    lab.guest.resolve("slow.example", { signal }),
  ];
  const failed = Promise.all(asking.map((one) => assert.rejects(one, { code: "timeout" })));
  await lab.clock.advance(5000);
  await failed;
});

Deno.test("GuestDns lets one caller cancel without affecting the others", async () => {
  await using lab = new Lab();
  const leaving = new AbortController();
  const gone = lab.guest.resolve("web.example", { signal: leaving.signal });
  const staying = lab.guest.resolve("web.example", { signal });
  leaving.abort(new Error("left"));
  await assert.rejects(gone, /left/);
  assert.equal((await staying).length, 3);
});

Deno.test("GuestDns tries another server when one does not respond", async () => {
  await using lab = new Lab();
  lab.servers = ["10.96.0.11", "10.96.0.10"];
  assert.equal((await lab.guest.resolve("web.example", { signal })).length, 3);
});

Deno.test("GuestDns ignores unrelated responses, up to a limit", async () => {
  await using network = new AsyncDisposableStack();
  const memory = new MemoryNetwork();
  const clock = new FakeClock();
  const listening = network.use(memory.listen({ host: "10.96.0.10", port: 53 }));
  const dial: Dialer = (target, options) => memory.connect(target, options);
  using guest = new GuestDns({ clock, dial, servers: () => Promise.resolve(["10.96.0.10"]) });
  const asking = assert.rejects(guest.resolve("web.example", { signal }), { code: "unreachable" });
  const server = await listening.accept() ?? assert.fail("closed");
  const strange = new Uint8Array([0, 12, 0xff, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  for (let count = 0; count < 8; count++) await server.write(strange);
  await asking;
  await server[Symbol.asyncDispose]();
});
