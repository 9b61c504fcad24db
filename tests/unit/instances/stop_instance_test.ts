import assert from "node:assert/strict";
import { stopInstance } from "../../../src/instances/mod.ts";
import { startInstance } from "../../support/memory_instance.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { fakePageSource } from "../../support/page_source.ts";
import { jsonAnswer, type WebAnswer, type WebRequest, WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();

/** An instance that never stops. */
function endless(world: MemoryWorld, { stop, status }: { stop: unknown; status?: unknown }): WebServer {
  const answers: Record<string, WebAnswer> = {
    "/v1/hello": jsonAnswer({ version: "1.2.3", id: "work", pid: 42, protocol: 1 }),
    "/v1/stop": jsonAnswer(stop, 202),
    ...(status === undefined ? {} : { "/v1/status": jsonAnswer(status) }),
  };
  const answer = ({ url }: WebRequest) => answers[url.pathname] ?? { status: 404 };
  return new WebServer(world.network.listen({ path: "/run/me/work.sock" }), answer);
}

const draining = { ...fakePageSource().status(), id: "work", pid: 42, state: "draining" };

const cases = [
  {
    name: "its own drain limit and 5 s",
    stop: { drain: 2000 },
    status: draining,
    ms: 7000,
    says: "process 42 still runs after 7 s: it is draining, with 1 connection open",
  },
  {
    name: "the default drain limit and 5 s if it reports none",
    stop: {},
    status: undefined,
    ms: 35_000,
    says: "process 42 still runs after 35 s: its state is unknown",
  },
  {
    name: "a day if it reports more",
    stop: { drain: 1e15 },
    status: draining,
    ms: 24 * 60 * 60_000 + 5000,
    says: "process 42 still runs after 86405 s: it is draining, with 1 connection open",
  },
];
for (const { name, stop, status, ms, says } of cases) {
  Deno.test(`stopInstance() waits at most ${name}`, async () => {
    const world = new MemoryWorld();
    await using _endless = endless(world, { stop, status });
    const stopped = assert.rejects(stopInstance(world, "work", { signal }), {
      code: "timeout",
      message: `Cannot stop "work": ${says}`,
      hint: "check it: postern connections --id work; postern logs work; or kill it: kill 42",
    });
    let hasEnded = false;
    void stopped.then(() => hasEnded = true);
    if (ms < 60_000) {
      await world.clock.advance(ms - 200);
      assert.equal(hasEnded, false);
      await world.clock.advance(2000);
    } else {
      // Time during which the process was suspended is added once.
      for (let times = 0; times < 3; times++) await world.clock.skip(ms);
    }
    await stopped;
    assert.equal(world.clock.waiting, 0);
  });
}

Deno.test("stopInstance() resolves when the instance has ended", async () => {
  const world = new MemoryWorld({ files: { "/c.yaml": "listen: { mixed: 127.0.0.1:0 }\n" } });
  const instance = await startInstance(world, { id: "work", config: "/c.yaml" });
  const stopped = stopInstance(world, "work", { signal });
  while (!instance.hasEnded()) await world.clock.advance(50);
  await world.clock.advance(100);
  await stopped;
  await assert.rejects(stopInstance(world, "work", { signal }), { code: "refused", exit: 3 });
});
