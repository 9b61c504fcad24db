import assert from "node:assert/strict";
import { askingForOrigin } from "../../../scripts/bench_kube_contenders.ts";
import { field, generatorArguments } from "../../../scripts/bench_measure.ts";

const contender = {
  name: "a",
  address: "127.0.0.1:1080",
  pid: 7,
  startMs: 1,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

const cases = [
  { name: "a SOCKS5 proxy to the generator's own origin", contender, way: ["-proxy", "127.0.0.1:1080"] },
  {
    name: "a proxy into a cluster",
    contender: askingForOrigin(contender),
    way: ["-proxy", "127.0.0.1:1080", "-target", "origin.default.svc:80"],
  },
  {
    name: "a forward to the origin",
    contender: { ...contender, way: ["-target", contender.address] },
    way: ["-target", "127.0.0.1:1080"],
  },
];

for (const { name, contender, way } of cases) {
  Deno.test(`generatorArguments() for ${name}`, () => {
    const told = generatorArguments(contender, { mode: "bulk", options: ["-mb", "5"] });
    assert.deepEqual(told, ["bulk", ...way, "-pid", "7", "-mb", "5"]);
  });
}

Deno.test("askingForOrigin() stops the given contender", async () => {
  let hasEnded = false;
  const ended = { ...contender, [Symbol.asyncDispose]: () => Promise.resolve(void (hasEnded = true)) };
  await askingForOrigin(ended)[Symbol.asyncDispose]();
  assert.ok(hasEnded);
});

Deno.test("field() returns NaN for a missing number", () => {
  assert.equal(field("p50_ms")({ p50_ms: 3 }), 3);
  assert.ok(Number.isNaN(field("failed")({ p50_ms: 3 })));
});
