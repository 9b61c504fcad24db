import assert from "node:assert/strict";
import { ConnectionTable } from "../../../src/instance/dials/connection_table.ts";
import { InstanceMetrics } from "../../../src/instance/instance_metrics.ts";
import { type Metric, silentLog } from "../../../src/core/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";

function tableOf() {
  const metrics = new InstanceMetrics();
  const table = new ConnectionTable({ clock: new FakeClock(), log: silentLog, metrics });
  const begin = (host: string, transport = "corp") =>
    table.begin({ target: { host, port: 443 }, client: "127.0.0.1:5", protocol: "connect" }, {
      transport,
      because: host,
    });
  return { metrics, table, begin, collect: () => metrics.collect(table.live, 5000) };
}

/** The samples of one metric, as `transport/direction=value`. */
function samples(all: readonly Metric[], name: string): string[] {
  const found = all.find((metric) => metric.name === name);
  assert.ok(found && found.kind !== "histogram", name);
  return found.samples.map(({ labels, value }) => `${Object.values(labels).join("/")}=${value}`);
}

Deno.test("InstanceMetrics.collect() counts the bytes of open connections once, before and after their end", () => {
  const { begin, collect, metrics } = tableOf();
  const first = begin("a.example");
  const second = begin("b.example", "direct");
  first.tally.up = 100;
  first.tally.down = 7;
  const live = ["corp/up=100", "corp/down=7", "direct/up=0", "direct/down=0"];
  assert.deepEqual(samples(collect(), "postern_bytes_total"), live);
  assert.deepEqual(samples(collect(), "postern_bytes_total"), live);
  assert.deepEqual(samples(collect(), "postern_open_connections"), ["corp=1", "direct=1"]);
  first.finish("done");
  second.failed(new PosternError("refused", "Cannot"));
  assert.deepEqual(samples(collect(), "postern_bytes_total"), live);
  assert.deepEqual(samples(collect(), "postern_open_connections"), ["corp=0", "direct=0"]);
  assert.deepEqual(samples(collect(), "postern_connections_total"), ["corp/done=1", "direct/refused=1"]);
  assert.deepEqual(metrics.total, { up: 100, down: 7 });
});

Deno.test("InstanceMetrics contain no host names and no clients", () => {
  const { begin, collect } = tableOf();
  begin("secret-name.example").finish("done");
  begin("secret-name.example").failed(new PosternError("name_not_found", "Cannot find secret-name.example"));
  begin("secret-name.example");
  const text = JSON.stringify(collect());
  assert.ok(!text.includes("secret-name"));
  assert.ok(!text.includes("127.0.0.1"));
});
