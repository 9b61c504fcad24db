import assert from "node:assert/strict";
import { KubeWatch } from "../../../../src/kube/api/kube_watch.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

Deno.test("KubeWatch soon retries a refusal, and retries a lasting one every 30 s", async () => {
  const clock = new FakeClock();
  const asked: number[] = [];
  const api = {
    name: "lab",
    request: () => Promise.reject(new Error("no list is expected")),
    stream: () => {
      asked.push(clock.now());
      return Promise.resolve({
        status: 403,
        fields: new Map<string, string>(),
        text: JSON.stringify({ message: "forbidden" }),
        read: undefined,
        [Symbol.asyncDispose]: () => Promise.resolve(),
      });
    },
  };
  const watch = new KubeWatch({ api: api as never, clock, random: () => 0.5 }, {
    apiVersion: "v1",
    resource: "configmaps",
    namespace: undefined,
    sink: { put: () => {}, remove: () => {} },
    onChange: () => {},
    persists: true,
  });
  watch.synced.catch(() => {});
  const ended = new AbortController();
  const running = watch.run({ signal: ended.signal }).catch(() => {});
  await clock.advance(70_000);
  ended.abort();
  await running;
  assert.deepEqual(asked, [0, 250, 750, 30_750, 60_750]);
});
