import assert from "node:assert/strict";
import { Counter, Histogram } from "../../../src/core/mod.ts";
import { metricsText } from "../../../src/wire/mod.ts";

Deno.test("metricsText() formats counters with labels", () => {
  const counter = new Counter("postern_dials_total", "Dials by\noutcome \\ way", ["transport", "outcome"]);
  counter.add(2, "direct", "ok");
  counter.add(1, 'a"b\\c\nd', "refused");
  assert.equal(
    metricsText([counter.metric()]),
    `# HELP postern_dials_total Dials by\\noutcome \\\\ way
# TYPE postern_dials_total counter
postern_dials_total{transport="direct",outcome="ok"} 2
postern_dials_total{transport="a\\"b\\\\c\\nd",outcome="refused"} 1
`,
  );
});

Deno.test("metricsText() formats gauges without labels and non-finite numbers", () => {
  const samples = [0.5, -Infinity, Infinity, NaN].map((value) => ({ labels: {}, value }));
  assert.equal(
    metricsText([{ kind: "gauge", name: "x", help: "X", samples }]),
    "# HELP x X\n# TYPE x gauge\nx 0.5\nx -Inf\nx +Inf\nx NaN\n",
  );
});

Deno.test("metricsText() formats cumulative buckets", () => {
  const histogram = new Histogram("d", "D", [0.1, 1], ["t"]);
  for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value, "x");
  assert.equal(
    metricsText([histogram.metric()]),
    `# HELP d D
# TYPE d histogram
d_bucket{t="x",le="0.1"} 2
d_bucket{t="x",le="1"} 3
d_bucket{t="x",le="+Inf"} 4
d_sum{t="x"} 7.65
d_count{t="x"} 4
`,
  );
});
