import assert from "node:assert/strict";
import { inheritListening } from "../../../../src/runtime/network/inherited_listening.ts";

const anyPort = { host: "127.0.0.1", port: 0 };

function portOf({ endpoint }: Awaited<ReturnType<typeof inheritListening>>): number {
  return "port" in endpoint ? endpoint.port : assert.fail("no port");
}

Deno.test("inheritListening() rejects a descriptor that is not a listening socket", async () => {
  await assert.rejects(inheritListening({ fd: 999 }), {
    code: "config",
    exit: 1,
    message: "Cannot take over the inherited socket (descriptor 999): it is not a listening TCP socket",
  });
});

Deno.test("inheritListening() reports the client's address and our own", async () => {
  await using listening = await inheritListening(anyPort);
  using client = await Deno.connect({ hostname: "127.0.0.1", port: portOf(listening) });
  await using conn = await listening.accept() ?? assert.fail("closed");
  assert.equal(conn.peer, `127.0.0.1:${client.localAddr.port}`);
  assert.equal(conn.local, `127.0.0.1:${portOf(listening)}`);
});

Deno.test("inheritListening() queues clients in order until accept()", async () => {
  await using listening = await inheritListening(anyPort);
  const port = portOf(listening);
  using first = await Deno.connect({ hostname: "127.0.0.1", port });
  using second = await Deno.connect({ hostname: "127.0.0.1", port });
  for (const client of [first, second]) {
    await using conn = await listening.accept() ?? assert.fail("closed");
    assert.equal(conn.peer, `127.0.0.1:${client.localAddr.port}`);
  }
});

Deno.test("inheritListening() resolves accept() with undefined during and after its disposal", async () => {
  const listening = await inheritListening(anyPort);
  const waiting = listening.accept();
  listening.close();
  listening.close();
  assert.equal(await waiting, undefined);
  assert.equal(await listening.accept(), undefined);
  await assert.rejects(Deno.connect({ hostname: "127.0.0.1", port: portOf(listening) }));
});
