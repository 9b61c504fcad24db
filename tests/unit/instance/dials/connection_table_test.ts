import assert from "node:assert/strict";
import { ConnectionTable } from "../../../../src/instance/dials/connection_table.ts";
import { InstanceMetrics } from "../../../../src/instance/instance_metrics.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import type { BuiltTransport } from "../../../../src/transports/mod.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const request = {
  target: { host: "secret-name.example", port: 443 },
  client: "127.0.0.1:5",
  protocol: "socks5",
  user: "me",
};
const route = { transport: "corp", because: "example (config.yaml:3)" };

/** A transport that is never dialed. */
function built(name: string, below?: BuiltTransport): BuiltTransport {
  const dial = () => Promise.reject(new Error("unexpected dial"));
  const transport = { name, dial, [Symbol.asyncDispose]: () => Promise.resolve() };
  return { name, type: "proxy", settings: undefined, transport, ...(below && { below }) };
}

Deno.test("ConnectionRecord.needs() the transports on its path, and every transport during the dial", () => {
  const { table } = tableOf();
  const [lowest, other] = [built("lowest"), built("other")];
  const middle = built("middle", lowest);
  const record = table.begin(request, route, built("corp", middle));
  const needs = () => [lowest, middle, other].map((one) => record.needs(new Set([one])));
  assert.deepEqual(needs(), [true, true, true]);
  record.connected(memoryPair()[0]);
  assert.deepEqual(needs(), [true, true, false]);
  record.finish("done");
});

function tableOf() {
  const clock = new FakeClock();
  const log = recordingLog();
  const metrics = new InstanceMetrics();
  return { clock, log, metrics, table: new ConnectionTable({ clock, log, metrics }) };
}

Deno.test("ConnectionTable lists a live connection, and logs one line when it ends", async () => {
  const { clock, log, metrics, table } = tableOf();
  const record = table.begin(request, route);
  const [conn] = memoryPair();
  await clock.advance(250);
  record.connected(conn);
  record.tally.up = 10;
  record.tally.down = 20;
  await clock.advance(750);
  assert.deepEqual(table.list(), [{
    id: 1,
    client: "127.0.0.1:5",
    protocol: "socks5",
    target: "secret-name.example:443",
    transport: "corp",
    because: "example (config.yaml:3)",
    startedAt: "2026-01-01T00:00:00.000Z",
    ageMs: 1000,
    up: 10,
    down: 20,
    user: "me",
  }]);
  record.finish("done");
  record.finish("target_gone", new Error("late"));
  assert.equal(conn.isClosed, true);
  assert.deepEqual(table.list(), []);
  assert.deepEqual(table.counts, { open: 0, total: 1, failed: 0 });
  assert.deepEqual(log.lines, [{
    time: "1970-01-01T00:00:00.000Z",
    level: "info",
    event: "conn.done",
    conn: 1,
    client: "127.0.0.1:5",
    protocol: "socks5",
    user: "me",
    target: "secret-name.example:443",
    transport: "corp",
    because: "example (config.yaml:3)",
    ms: 1000,
    up: 10,
    down: 20,
    outcome: "done",
  }]);
  assert.deepEqual(metrics.total, { up: 10, down: 20 });
});

Deno.test("ConnectionTable gives every connection a unique id and counts failures", () => {
  const { table, log } = tableOf();
  const records = [1, 2, 3].map(() => table.begin(request, route));
  records[1]?.failed(new PosternError("refused", "Cannot reach it"));
  const next = table.begin(request, route);
  assert.deepEqual([...table.live].map(({ id }) => id), [1, 3, 4]);
  assert.equal(next.id, 4);
  assert.deepEqual(table.counts, { open: 3, total: 4, failed: 1 });
  assert.deepEqual([log.lines[0]?.outcome, log.lines[0]?.reason], ["refused", "Cannot reach it"]);
});

Deno.test("ConnectionTable.close() closes a connection and reports whether it existed", async () => {
  const { table, log } = tableOf();
  const record = table.begin(request, route);
  const [near, far] = memoryPair();
  record.connected(near);
  assert.equal(table.close(7), false);
  assert.equal(table.close(1), true);
  await assert.rejects(far.read(new Uint8Array(1)));
  record.finish("target_gone", new Error("reset"));
  assert.deepEqual([log.lines[0]?.outcome, log.lines[0]?.reason], ["closed", "Closed on request"]);
});

Deno.test("ConnectionTable.close() cancels a dial", () => {
  const { table } = tableOf();
  const record = table.begin(request, route);
  const { signal } = record.dialling;
  table.close(record.id);
  assert.equal(signal.aborted, true);
  assert.match(String(signal.reason), /Closed on request/);
});

Deno.test("ConnectionTable reports since when there is no connection", async () => {
  const { table, clock } = tableOf();
  await clock.advance(5);
  assert.equal(table.idleSince, 0);
  const record = table.begin(request, route);
  assert.equal(table.idleSince, undefined);
  await clock.advance(5);
  record.finish("done");
  assert.equal(table.idleSince, 10);
});

Deno.test("ConnectionRecord.ended resolves when the connection ends, and immediately afterwards", async () => {
  const { table } = tableOf();
  const record = table.begin(request, route);
  let count = 0;
  const both = Promise.all([record.ended.then(() => count++), record.ended.then(() => count++)]);
  assert.equal(count, 0);
  record.finish("done");
  await both;
  await record.ended;
  assert.equal(count, 2);
});

Deno.test("ConnectionRecord.finish() survives a connection that cannot be closed", async () => {
  const { table, log } = tableOf();
  const record = table.begin(request, route);
  const [conn] = memoryPair();
  conn[Symbol.asyncDispose] = () => Promise.reject(new Error("too late"));
  record.connected(conn).finish("done");
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(
    log.lines.map(({ event, reason }) => [event, reason]),
    [["conn.done", undefined], ["conn.close_failed", "too late"]],
  );
});
