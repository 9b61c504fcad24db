import assert from "node:assert/strict";
import type { Transport } from "../../../src/core/mod.ts";
import { loadConfig, Transports } from "../../../src/plan/mod.ts";
import { explanationOf } from "../../../src/plan/explanation.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const target = { host: "192.0.2.1", port: 80 };
const cases: readonly {
  readonly name: string;
  readonly parts: Pick<Transport, "status" | "locate">;
  readonly detail: string | undefined;
}[] = [
  { name: "neither", parts: {}, detail: undefined },
  { name: "a place only", parts: { locate: () => "192.0.2.9:81" }, detail: "192.0.2.9:81" },
  { name: "a detail only", parts: { status: () => ({ state: "ready", detail: "lab" }) }, detail: "lab" },
  {
    name: "both",
    parts: { status: () => ({ state: "ready", detail: "lab" }), locate: () => "pod web-1" },
    detail: "lab: pod web-1",
  },
];

for (const { name, parts, detail } of cases) {
  Deno.test(`explanationOf() of a transport with ${name}`, async () => {
    const world = new MemoryWorld();
    await using transports = new Transports(world, await loadConfig(world, { text: "default: direct\n" }));
    const { plan } = transports;
    const transport = { ...direct, ...parts };
    const byName = new Map([["direct", { name: "direct", type: "direct", settings: {}, transport }]]);
    const [hop] = explanationOf({ ...plan, transports: { ...plan.transports, byName } }, target).hops;
    assert.equal(hop?.detail, detail);
  });
}

const direct: Transport = {
  name: "direct",
  dial: () => Promise.reject(new Error("not dialed")),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};
