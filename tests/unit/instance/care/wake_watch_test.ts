import assert from "node:assert/strict";
import { WakeWatch } from "../../../../src/instance/care/wake_watch.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { recordingLog } from "../../../support/recording_log.ts";

function watched(addresses: () => readonly string[] = () => ["192.0.2.7"]) {
  const clock = new FakeClock();
  const log = recordingLog();
  let times = 0;
  const watch = new WakeWatch({ clock, log, network: { addresses }, stirred: () => times++ });
  return { clock, log, watch, times: () => times };
}

Deno.test("WakeWatch reports nothing while the machine stays awake", async () => {
  const { clock, watch, times } = watched();
  await clock.advance(60_000);
  assert.equal(times(), 0);
  watch[Symbol.dispose]();
  assert.equal(clock.waiting, 0);
});

Deno.test("WakeWatch reports a sleep once, and ignores small clock corrections", async () => {
  const { clock, watch, times } = watched();
  clock.jumpDate(1000);
  await clock.advance(4000);
  assert.equal(times(), 0);
  clock.jumpDate(3_600_000);
  await clock.advance(2000);
  assert.equal(times(), 1);
  await clock.advance(60_000);
  assert.equal(times(), 1);
  watch[Symbol.dispose]();
});

Deno.test("WakeWatch reports changed addresses, regardless of their order", async () => {
  let addresses = ["192.0.2.7", "2001:db8::7"];
  const { clock, watch, times } = watched(() => addresses);
  addresses = ["2001:db8::7", "192.0.2.7"];
  await clock.advance(2000);
  assert.equal(times(), 0);
  addresses = ["198.51.100.3"];
  await clock.advance(2000);
  assert.equal(times(), 1);
  watch[Symbol.dispose]();
});

Deno.test("WakeWatch continues without addresses, and logs that once", async () => {
  const { clock, log, watch, times } = watched(() => {
    throw new PosternError("internal", "Cannot read the addresses");
  });
  await clock.advance(20_000);
  assert.equal(log.lines.filter(({ event }) => event === "instance.no_addresses").length, 1);
  clock.jumpDate(60_000);
  await clock.advance(2000);
  assert.equal(times(), 1);
  watch[Symbol.dispose]();
});
