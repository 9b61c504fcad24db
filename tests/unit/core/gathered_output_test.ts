import assert from "node:assert/strict";
import { GatheredOutput } from "../../../src/core/mod.ts";
import { settle } from "../../support/fake_clock.ts";
import { memoryPair } from "../../support/memory_conn.ts";

Deno.test("GatheredOutput fails when the peer sends requests but does not read the responses", async () => {
  const [near] = memoryPair();
  const failures: unknown[] = [];
  const output = new GatheredOutput(near, { onFailure: (error) => failures.push(error) });
  const answer = new Uint8Array(1024);
  let said = 0;
  for (; failures.length === 0 && said < 64 * 1024; said++) {
    output.add(answer);
    if (said % 1024 === 0) await settle();
  }
  assert.ok(said <= 20 * 1024, `${said} KiB waiting`);
  assert.match(String(failures[0]), /does not read our responses/);
  await settle();
  assert.equal(failures.length, 1);
  near.abort();
});
