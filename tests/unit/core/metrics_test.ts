import assert from "node:assert/strict";
import { Counter, Histogram } from "../../../src/core/mod.ts";

Deno.test("Counter adds by its labels", () => {
  const counter = new Counter("c", "help", ["transport", "outcome"]);
  counter.add(1, "a", "done");
  counter.add(2, "a", "done");
  counter.add(1, "a", "refused");
  assert.deepEqual(counter.metric(), {
    kind: "counter",
    name: "c",
    help: "help",
    samples: [
      { labels: { transport: "a", outcome: "done" }, value: 3 },
      { labels: { transport: "a", outcome: "refused" }, value: 1 },
    ],
  });
});

Deno.test("Histogram counts each amount in the first bucket that holds it", () => {
  const histogram = new Histogram("h", "help", [1, 10], ["transport"]);
  for (const amount of [0, 1, 1.1, 10, 10.5, 1e9]) histogram.observe(amount, "a");
  histogram.observe(2, "b");
  const metric = histogram.metric();
  assert.ok(metric.kind === "histogram");
  assert.deepEqual(metric.bounds, [1, 10]);
  assert.deepEqual(metric.samples.map(({ labels, counts }) => ({ labels, counts })), [
    { labels: { transport: "a" }, counts: [2, 2, 2] },
    { labels: { transport: "b" }, counts: [0, 1, 0] },
  ]);
  assert.equal(metric.samples[1]?.sum, 2);
});

Deno.test("Histogram needs no labels", () => {
  const histogram = new Histogram("h", "help", [1]);
  histogram.observe(1);
  histogram.observe(2);
  const metric = histogram.metric();
  assert.deepEqual(metric.samples, [{ labels: {}, counts: [1, 1], sum: 3 }]);
});
