import assert from "node:assert/strict";
import { InstanceLock, reloadInstances } from "../../../src/instances/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { errorInfo } from "../../../src/control/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { jsonAnswer, type WebAnswer, WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();
const done = jsonAnswer({ changed: false, changes: [], warnings: [] });

function refusal(detail: "starting" | "closing"): WebAnswer {
  return jsonAnswer(
    errorInfo(new PosternError("cancelled", `Cannot reload: the instance is ${detail}`, { detail })),
    500,
  );
}

const cases: {
  readonly name: string;
  readonly answers: readonly WebAnswer[];
  readonly gives: readonly string[];
}[] = [
  {
    name: "retries an instance until it has started",
    answers: [refusal("starting"), refusal("starting"), done],
    gives: ["work"],
  },
  { name: "skips a stopping instance", answers: [refusal("closing")], gives: [] },
  {
    name: "reports an instance that takes too long to start",
    answers: Array.from({ length: 200 }, () => refusal("starting")),
    gives: ["work: Cannot reload: the instance is starting"],
  },
];
for (const { name, answers, gives } of cases) {
  Deno.test(`reloadInstances() ${name}`, async () => {
    const world = new MemoryWorld();
    await using instance = await InstanceLock.take(world, "work");
    world.files.put("/run/me/work.lock", "");
    const { listening } = await instance.listen();
    const left = [...answers];
    await using _server = new WebServer(listening, ({ url }) => {
      if (url.pathname === "/v1/hello") return jsonAnswer({ id: "work", pid: 1, protocol: 1, version: "1" });
      return left.shift() ?? done;
    });
    let hasEnded = false;
    const reloading = reloadInstances(world, { signal }).finally(() => hasEnded = true);
    while (!hasEnded) {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
      await world.clock.advance(500);
    }
    const told = (await reloading).map((one) => "error" in one ? `${one.id}: ${one.error.message}` : one.id);
    assert.deepEqual(told, gives);
  });
}
