import assert from "node:assert/strict";
import { relay } from "../../src/core/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { memoryPair } from "../support/memory_conn.ts";
import { MemorySsh } from "../support/ssh_server.ts";
import { connContract } from "./conn_contract.ts";

const { signal } = new AbortController();

connContract("SshChannel", async () => {
  const ssh = await MemorySsh.open();
  const near = await ssh.session.connect({ host: "target.example", port: 1 }, { signal });
  const far = ssh.far[0] ?? assert.fail("no channel");
  return { near, far, close: () => ssh[Symbol.asyncDispose]() };
});

for (const side of ["client", "target"] as const) {
  Deno.test(`relay() with an SshChannel needs no signal to end when the ${side} is dropped`, async () => {
    await using ssh = await MemorySsh.open();
    const target = await ssh.session.connect({ host: "target.example", port: 1 }, { signal });
    const [outer, client] = memoryPair();
    const relayed = relay(client, target, {
      clock: new FakeClock(),
      tally: { up: 0, down: 0 },
      halfCloseLinger: 30_000,
    });
    const reason = new Error("enough");
    ({ client, target })[side].abort(reason);
    assert.deepEqual(await relayed, { outcome: `${side}_gone`, error: reason });
    await outer[Symbol.asyncDispose]();
  });
}
