import assert from "node:assert/strict";
import type { Endpoint } from "../../../src/words/mod.ts";
import { loadConfig, Transports } from "../../../src/plan/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { recordingLog } from "../../support/recording_log.ts";

const target = { host: "192.0.2.1", port: 80 };
const { signal } = new AbortController();
const withCorp = "transports: { corp: { proxy: { url: http://10.0.0.1:3128 } } }\n" +
  "routes: [{ to: a.example, via: corp }]\n";

async function transportsOf(
  text: string,
  { world = new MemoryWorld(), endpoints = [] }: {
    readonly world?: MemoryWorld;
    readonly endpoints?: readonly Endpoint[];
  } = {},
) {
  const load = (text: string) => loadConfig(world, { text });
  const options = { log: recordingLog(), endpoints: () => endpoints };
  return { world, load, transports: new Transports(world, await load(text), options) };
}

Deno.test("Transports neither listens nor connects by itself, and leaves nothing behind", async () => {
  const { world, transports } = await transportsOf(
    `listen: { mixed: 127.0.0.1:1, dns: 127.0.0.1:53 }\n${withCorp}`,
  );
  assert.deepEqual([...transports.plan.transports.byName.keys()], ["direct", "reject", "corp"]);
  await transports[Symbol.asyncDispose]();
  assert.deepEqual([world.listening, world.network.connects.length, world.clock.waiting], [0, 0, 0]);
});

Deno.test("Transports.dial() follows the rules", async () => {
  const { world, transports } = await transportsOf(`${withCorp}default: reject\ndirect: [192.0.2.0/24]\n`);
  await using _transports = transports;
  world.network.listen(target);
  await using _conn = await transports.dial(target, { signal });
  assert.deepEqual(world.network.connects, ["192.0.2.1:80"]);
  await assert.rejects(transports.dial({ host: "192.0.3.1", port: 80 }, { signal }), { code: "not_allowed" });
});

Deno.test("Transports.dial() does not connect to a listener of its instance", async () => {
  const own = { host: "127.0.0.1", port: 12000 };
  const { world, transports } = await transportsOf(withCorp, { endpoints: [own] });
  await using _transports = transports;
  world.network.listen(own);
  const connect = world.network.connect.bind(world.network);
  world.network.connect = async (endpoint, options) =>
    Object.defineProperty(await connect(endpoint, options), "peer", { value: "127.0.0.1:12000" });
  await assert.rejects(transports.dial(own, { signal }), { code: "not_allowed", detail: "loop" });
});

Deno.test("Transports.explain() returns the path, and the result of the dial", async () => {
  const { world, transports } = await transportsOf("default: direct\n");
  await using _transports = transports;
  world.network.listen(target);
  assert.equal((await transports.explain(target, { dial: false, signal })).dial, undefined);
  const reached = await transports.explain(target, { dial: true, signal });
  assert.deepEqual([reached.transport, reached.dial?.error], ["direct", undefined]);
  assert.equal(world.network.open, 0);
  const closed = await transports.explain({ ...target, port: 81 }, { dial: true, signal });
  assert.equal(closed.dial?.error?.code, "refused");
});

Deno.test("Transports.next() applies nothing; use() does, and keeps unchanged transports", async () => {
  const { load, transports } = await transportsOf(`${withCorp}default: direct\n`);
  await using _transports = transports;
  const before = transports.plan;
  const next = transports.next(await load(`${withCorp}default: reject\n`));
  assert.equal(transports.plan, before);
  transports.use(next);
  assert.equal(transports.plan.router.fallback, "reject");
  assert.equal(transports.plan.transports.byName.get("corp"), before.transports.byName.get("corp"));
  assert.deepEqual(next.transports.dropped, []);
  const without = transports.next(await load("default: direct\n"));
  const [corp] = without.transports.dropped;
  assert.equal(corp?.name, "corp");
  transports.use(without);
  await corp?.transport[Symbol.asyncDispose]();
});

Deno.test("Plan.generation changes with each applied plan", async () => {
  const { load, transports } = await transportsOf("default: direct\n");
  await using _transports = transports;
  const seen = [transports.plan.generation];
  for (let reload = 0; reload < 2; reload++) {
    transports.use(transports.next(await load("default: direct\n")));
    seen.push(transports.plan.generation);
  }
  assert.deepEqual(seen, [1, 2, 3]);
});
