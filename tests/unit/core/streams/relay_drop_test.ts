import assert from "node:assert/strict";
import { relay } from "../../../../src/core/mod.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";

const cases = [
  { dropped: "client", outcome: "client_gone" },
  { dropped: "target", outcome: "target_gone" },
] as const;

for (const isSocket of [true, false]) {
  for (const { dropped, outcome } of cases) {
    for (const ended of ["client", "target", undefined] as const) {
      const state = ended === undefined ? "both ends are open" : `the ${ended} has ended its side`;
      const way = isSocket ? "buffers" : "chunks";
      Deno.test(`relay() by ${way} ends without a signal when its ${dropped} is dropped while ${state}`, async () => {
        const [client, here] = memoryPair({ isSocket });
        const [there, target] = memoryPair({ isSocket });
        const tally = { up: 0, down: 0 };
        const done = relay(here, there, { clock: new FakeClock(), tally, halfCloseLinger: 1000 });
        if (ended === "client") {
          await client.closeWrite();
          assert.equal(await target.read(new Uint8Array(1)), null);
        } else if (ended === "target") {
          await target.closeWrite();
          assert.equal(await client.read(new Uint8Array(1)), null);
        }
        const reason = new Error("dropped");
        (dropped === "client" ? here : there).abort(reason);
        assert.deepEqual(await done, { outcome, error: reason });
        assert.ok(here.isClosed && there.isClosed);
      });
    }
  }
}
