import assert from "node:assert/strict";
import { ConnectionTable } from "../../../../src/instance/dials/connection_table.ts";
import { InstanceMetrics } from "../../../../src/instance/instance_metrics.ts";
import { InstanceWatch } from "../../../../src/instance/watching/instance_watch.ts";
import { LogTail } from "../../../../src/instance/watching/log_tail.ts";
import type { Status, WatchedStep, WatchedWhole, WatchUpdate } from "../../../../src/control/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { fakePageSource } from "../../../support/page_source.ts";
import { recordingLog } from "../../../support/recording_log.ts";

function watched() {
  const clock = new FakeClock();
  const tail = new LogTail(recordingLog(), clock);
  const metrics = new InstanceMetrics();
  const connections = new ConnectionTable({ clock, log: tail.log, metrics });
  const base = fakePageSource().status();
  let more: Partial<Status> = {};
  let asked = 0;
  const status = (): Status => {
    asked++;
    const bytes = metrics.total;
    for (const { tally } of connections.live) {
      bytes.up += tally.up;
      bytes.down += tally.down;
    }
    return { ...base, connections: connections.counts, bytes, ...more };
  };
  const watch = new InstanceWatch({ clock, connections, tail, status });
  const begin = (host: string) =>
    connections.begin({ target: { host, port: 80 }, client: "127.0.0.1:5", protocol: "socks5" }, {
      transport: "lab",
      because: "default",
    });
  const change = (changed: Partial<Status>) => more = changed;
  return { clock, watch, connections, begin, change, asked: () => asked };
}

/** Reads the updates of a watch in order. */
function reader(watch: InstanceWatch) {
  const told = watch.watch();
  assert.ok(told);
  const messages = told[Symbol.asyncIterator]();
  return {
    async whole(): Promise<WatchedWhole> {
      const { value } = await messages.next();
      assert.equal(value.kind, "whole");
      return value;
    },
    async step(clock: FakeClock): Promise<WatchedStep> {
      const next = messages.next();
      await clock.advance(1000);
      const { value } = await next;
      assert.equal(value.kind, "step");
      return value;
    },
    next: (): Promise<IteratorResult<WatchUpdate>> => messages.next(),
    leave: () => messages.return?.(),
  };
}

Deno.test("InstanceWatch reports the whole state, then the changes", async () => {
  const { clock, watch, begin, change } = watched();
  const first = begin("a.example");
  first.tally.down = 5;
  const { whole, step, leave } = reader(watch);
  const { live, ended, status, every } = await whole();
  assert.deepEqual([live.length, ended.length, status.id, every], [1, 0, "default", 1000]);
  assert.equal(live[0]?.isDialling, true);
  first.connected(memoryPair()[0]);
  first.tally.down = 2005;
  const second = begin("b.example");
  const one = await step(clock);
  assert.deepEqual(one.begun.map(({ id, isDialling }) => [id, isDialling]), [[1, undefined], [2, true]]);
  assert.deepEqual(one.traffic, { up: 0, down: 2000, open: 2 });
  assert.equal(one.status, undefined);
  first.tally.up = 7;
  second.failed(new Error("no route"));
  change({ state: "draining" });
  const two = await step(clock);
  assert.deepEqual([two.begun, two.moved, two.gone], [[], [[1, 7, 2005]], [2]]);
  assert.deepEqual(two.ended.map(({ id, outcome, reason }) => [id, outcome, reason]), [[
    2,
    "internal",
    "no route",
  ]]);
  assert.equal(two.status?.state, "draining");
  assert.match(two.log[0]?.fields ?? "", /^conn=2 /);
  const three = await step(clock);
  assert.deepEqual([three.moved, three.gone, three.ended, three.log, three.status], [
    [],
    [],
    [],
    [],
    undefined,
  ]);
  await leave();
  assert.equal(watch.watchers, 0);
  watch[Symbol.dispose]();
});

Deno.test("InstanceWatch sends the whole state again after a missed step, and queues nothing", async () => {
  const { clock, watch, begin } = watched();
  const quick = reader(watch);
  const slow = reader(watch);
  await quick.whole();
  await slow.whole();
  begin("a.example");
  await quick.step(clock);
  await quick.step(clock);
  const late = (await slow.next()).value;
  assert.equal(late.kind, "whole");
  assert.equal(late.live.length, 1);
  assert.equal((await slow.step(clock)).kind, "step");
  await Promise.all([quick.leave(), slow.leave()]);
  watch[Symbol.dispose]();
});

Deno.test("InstanceWatch does nothing without watchers", async () => {
  const { clock, watch, asked } = watched();
  await clock.advance(60_000);
  assert.deepEqual([asked(), clock.waiting], [0, 0]);
  const { whole, leave } = reader(watch);
  await whole();
  await leave();
  assert.equal(clock.waiting, 1);
  await clock.advance(29_000);
  const again = reader(watch);
  assert.equal((await again.whole()).traffic.length, 29, "a reloaded page still gets the traffic");
  await again.leave();
  await clock.advance(60_000);
  const before = asked();
  assert.equal(clock.waiting, 0);
  await clock.advance(60_000);
  assert.equal(asked(), before);
});

Deno.test("InstanceWatch allows eight watchers, even if more start before they read", async () => {
  const { watch } = watched();
  const all = Array.from({ length: 9 }, () => reader(watch));
  for (const one of all.slice(0, 8)) await one.whole();
  assert.deepEqual((await all[8]?.next())?.done, true);
  assert.equal(watch.watch(), undefined);
  await all[0]?.leave();
  assert.ok(watch.watch());
  for (const one of all) await one.leave();
  assert.equal(watch.watchers, 0);
  watch[Symbol.dispose]();
});

Deno.test("InstanceWatch ends its updates when the instance closes", async () => {
  const { clock, watch } = watched();
  const { whole, next } = reader(watch);
  await whole();
  const last = next();
  await settle();
  watch[Symbol.dispose]();
  assert.equal((await last).done, true);
  assert.deepEqual([clock.waiting, watch.watchers, watch.watch()], [0, 0, undefined]);
});
