import assert from "node:assert/strict";
import { SshDeadline } from "../../../../src/ssh/session/ssh_deadline.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

Deno.test("SshDeadline expires after its time, but not after its disposal", async () => {
  const clock = new FakeClock();
  let passed = 0;
  const onPassed = () => passed++;
  using _deadline = new SshDeadline(1000, { clock, onPassed });
  await clock.advance(999);
  assert.equal(passed, 0);
  await clock.advance(1);
  assert.equal(passed, 1);
  new SshDeadline(1000, { clock, onPassed })[Symbol.dispose]();
  await clock.advance(5000);
  assert.equal(passed, 1);
});

Deno.test("SshDeadline.outside() pauses the timeout for each prompt", async () => {
  const clock = new FakeClock();
  let passed = 0;
  using deadline = new SshDeadline(1000, { clock, onPassed: () => passed++ });
  for (let question = 0; question < 2; question++) {
    await clock.advance(400);
    const { promise, resolve } = Promise.withResolvers<string>();
    const answered = deadline.outside(() => promise);
    await clock.advance(60_000);
    assert.equal(passed, 0);
    resolve("words");
    assert.equal(await answered, "words");
  }
  await clock.advance(199);
  assert.equal(passed, 0);
  await clock.advance(1);
  assert.equal(passed, 1);
});
