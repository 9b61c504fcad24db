import assert from "node:assert/strict";
import { isPosternError } from "../../../../src/words/mod.ts";
import { createNetwork } from "../../../../src/runtime/network/network.ts";

const network = createNetwork();

for (const host of ["127.0.0.1", "::1"]) {
  Deno.test(`datagrams() carries complete datagrams both ways on ${host}`, async () => {
    await using server = await network.datagrams({ host, port: 0 });
    await using client = await network.datagrams({ host, port: 0 });
    assert.equal(server.endpoint.host, host);
    for (const size of [0, 1, 512, 9000]) {
      await client.send(new Uint8Array(size).fill(7), server.endpoint);
      const asked = await server.receive();
      assert.equal(asked?.bytes.length, size);
      assert.deepEqual(asked?.from, client.endpoint);
      await server.send(Uint8Array.of(size & 255), asked.from);
      assert.deepEqual(await client.receive(), { bytes: Uint8Array.of(size & 255), from: server.endpoint });
    }
  });
}

Deno.test("datagrams() reports why it cannot bind", async () => {
  await using bound = await network.datagrams({ host: "127.0.0.1", port: 0 });
  await assert.rejects(
    network.datagrams(bound.endpoint),
    (error) =>
      isPosternError(error, "config") && error.detail === "in_use" && /for UDP: .*in use/.test(error.message),
  );
  await assert.rejects(
    network.datagrams({ host: "192.0.2.7", port: 0 }),
    (error) => isPosternError(error, "config") && error.detail === "network",
  );
});

Deno.test("datagrams() queues datagrams without a reader, and survives missing receivers", async () => {
  await using server = await network.datagrams({ host: "127.0.0.1", port: 0 });
  const gone = await network.datagrams({ host: "127.0.0.1", port: 0 });
  gone.close();
  await server.send(Uint8Array.of(1), gone.endpoint);
  await server.send(Uint8Array.of(2), gone.endpoint);
  await using client = await network.datagrams({ host: "127.0.0.1", port: 0 });
  for (let number = 0; number < 10; number++) await client.send(Uint8Array.of(number), server.endpoint);
  for (let number = 0; number < 10; number++) assert.equal((await server.receive())?.bytes[0], number);
  await assert.rejects(
    client.send(new Uint8Array(70_000), server.endpoint),
    (error) => isPosternError(error, "internal"),
  );
});

Deno.test("datagrams() queues a bounded number of bytes", async () => {
  await using server = await network.datagrams({ host: "127.0.0.1", port: 0 });
  await using client = await network.datagrams({ host: "127.0.0.1", port: 0 });
  const large = new Uint8Array(32 * 1024);
  // After each round trip the datagrams before it were queued or dropped.
  const echo = async () => {
    await client.send(Uint8Array.of(1), client.endpoint);
    await client.receive();
  };
  for (let sent = 0; sent < 24; sent++) {
    await client.send(large, server.endpoint);
    await echo();
  }
  let queued = 0;
  for (; queued < 16; queued++) assert.equal((await server.receive())?.bytes.length, large.length);
  const next = server.receive();
  await client.send(Uint8Array.of(7), server.endpoint);
  assert.deepEqual((await next)?.bytes, Uint8Array.of(7));
});

Deno.test("datagrams() end waiting readers at disposal, and free their port", async () => {
  const first = await network.datagrams({ host: "127.0.0.1", port: 0 });
  const waiting = first.receive();
  first.close();
  first.close();
  assert.equal(await waiting, undefined);
  assert.equal(await first.receive(), undefined);
  await first.send(Uint8Array.of(1), { host: "127.0.0.1", port: 9 });
  await first[Symbol.asyncDispose]();
  await using again = await network.datagrams(first.endpoint);
  assert.deepEqual(again.endpoint, first.endpoint);
});
