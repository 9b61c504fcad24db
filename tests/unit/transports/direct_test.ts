import assert from "node:assert/strict";
import { PosternError } from "../../../src/words/mod.ts";
import { Direct } from "../../../src/transports/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";

const signal = new AbortController().signal;

function directOver(network: MemoryNetwork, clock = new FakeClock()): Direct {
  return new Direct({ network, clock });
}

for (
  const { host, connects } of [
    { host: "192.0.2.1", connects: "192.0.2.1:80" },
    { host: "2001:db8::1", connects: "[2001:db8::1]:80" },
    { host: "2001:DB8:0::1", connects: "[2001:db8::1]:80" },
    { host: "::ffff:192.0.2.1", connects: "192.0.2.1:80" },
  ]
) {
  Deno.test(`Direct.dial() connects to ${host} without using the resolver`, async () => {
    const network = new MemoryNetwork();
    await using _listening = network.listen(
      connects.startsWith("[") ? { host: "2001:db8::1", port: 80 } : { host: "192.0.2.1", port: 80 },
    );
    await using _conn = await directOver(network).dial({ host, port: 80 }, { signal });
    assert.deepEqual(network.connects, [connects]);
    assert.deepEqual(network.lookups, []);
  });
}

Deno.test("Direct.dial() returns the network's own promise for an address", () => {
  const network = new MemoryNetwork();
  const promise = new Promise<never>(() => {});
  network.connect = () => promise;
  assert.equal(directOver(network).dial({ host: "192.0.2.1", port: 80 }, { signal }), promise);
});

Deno.test("Direct.dial() tries all addresses of a name and reports its steps", async () => {
  const network = new MemoryNetwork();
  const clock = new FakeClock();
  network.names.set("example.com", ["2001:db8::1", "2001:db8::2", "192.0.2.1"]);
  network.faults.set("2001:db8::1", "silent");
  await using _listening = network.listen({ host: "192.0.2.1", port: 443 });
  const steps: string[] = [];
  const dialling = directOver(network, clock).dial({ host: "example.com", port: 443 }, {
    signal,
    onStep: (step) => steps.push(step),
  });
  await clock.advance(250);
  await using conn = await dialling;
  assert.equal(conn.peer, "memory:a");
  assert.deepEqual(network.connects, ["[2001:db8::1]:443", "192.0.2.1:443"]);
  assert.deepEqual(steps, ["found example.com: 2001:db8::1, 2001:db8::2, 192.0.2.1"]);
  assert.equal(clock.waiting, 0);
});

Deno.test("Direct.dial() keeps the network's error for a refused address", async () => {
  await assert.rejects(directOver(new MemoryNetwork()).dial({ host: "192.0.2.1", port: 80 }, { signal }), {
    code: "refused",
    message: /192\.0\.2\.1:80/,
  });
});

Deno.test("Direct.dial() reports an unknown name", async () => {
  await assert.rejects(directOver(new MemoryNetwork()).dial({ host: "no.example", port: 80 }, { signal }), {
    code: "name_not_found",
  });
});

for (
  const { host, port = 80, code, says } of [
    { host: "192.0.2.1", port: 0, code: "unreachable", says: /192\.0\.2\.1:0: port 0/ },
    { host: "example.com", port: 0, code: "unreachable", says: /example\.com:0: port 0/ },
    { host: "fe80::1%eth0", code: "unreachable", says: /zone/ },
    { host: "fe80::1", code: "unreachable", says: /link-local/ },
    { host: "febf::1", code: "unreachable", says: /link-local/ },
    { host: "1:2:3", code: "unreachable", says: /not an address/ },
    { host: "", code: "name_not_found", says: /not a host name/ },
    { host: "a b", code: "name_not_found", says: /not a host name/ },
    { host: "a\0b", code: "name_not_found", says: /"a\\u0000b"/ },
    { host: "127.1", code: "name_not_found", says: /not a host name/ },
    { host: "0x7f.1", code: "name_not_found", says: /not a host name/ },
    { host: "0x7F000001", code: "name_not_found", says: /not a host name/ },
    { host: "2130706433", code: "name_not_found", says: /not a host name/ },
    { host: "010.0.0.1", code: "name_not_found", says: /not a host name/ },
    { host: "10.1.", code: "name_not_found", says: /not a host name/ },
    { host: "a".repeat(256), code: "name_not_found", says: /not a host name/ },
  ]
) {
  Deno.test(`Direct.dial() does not resolve ${JSON.stringify(host).slice(0, 30)} port ${port}`, async () => {
    const network = new MemoryNetwork();
    await assert.rejects(directOver(network).dial({ host, port }, { signal }), { code, message: says });
    assert.deepEqual(network.connects, []);
    assert.deepEqual(network.lookups, []);
  });
}

for (
  const host of ["1.2.3.4.example", "3com.com", "0x.example", "xn--bcher-kva.example", "a_b", "localhost."]
) {
  Deno.test(`Direct.dial() resolves ${host}`, async () => {
    const network = new MemoryNetwork();
    await assert.rejects(directOver(network).dial({ host, port: 80 }, { signal }));
    assert.deepEqual(network.lookups, [host]);
  });
}

Deno.test("Direct.dial() rejects with the reason of a signal that aborts during the lookup", async () => {
  const network = new MemoryNetwork();
  network.names.set("example.com", ["192.0.2.1"]);
  const stop = new AbortController();
  const failed = assert.rejects(
    directOver(network).dial({ host: "example.com", port: 80 }, { signal: stop.signal }),
    { code: "timeout", message: "Too slow" },
  );
  stop.abort(new PosternError("timeout", "Too slow"));
  await failed;
  assert.deepEqual(network.connects, []);
});
