import assert from "node:assert/strict";
import { GatheredOutput } from "../../../src/core/mod.ts";
import { settle } from "../../support/fake_clock.ts";
import { memoryPair } from "../../support/memory_conn.ts";

Deno.test("GatheredOutput gives up where the other side asks for more answers than it takes", async () => {
  const [near] = memoryPair();
  const failures: unknown[] = [];
  const output = new GatheredOutput(near, { onFailure: (error) => failures.push(error) });
  const answer = new Uint8Array(1024);
  let said = 0;
  for (; failures.length === 0 && said < 64 * 1024; said++) {
    output.add(answer);
    if (said % 1024 === 0) await settle();
  }
  assert.ok(said <= 20 * 1024, `${said} KiB wait`);
  assert.match(String(failures[0]), /takes nothing/);
  await settle();
  assert.equal(failures.length, 1);
  near.abort();
});
