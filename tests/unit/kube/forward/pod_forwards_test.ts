import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { usualForwardLimits } from "../../../../src/kube/forward/forward_limits.ts";
import { ForwardOpener } from "../../../../src/kube/forward/forward_opener.ts";
import { PodForwards } from "../../../../src/kube/forward/pod_forwards.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { ForwardStandIn, PodEnds } from "../../../support/forward_stand_in.ts";

const { signal } = new AbortController();
const web = { namespace: "shop", pod: "web-0" };

Deno.test("PodForwards reports that it is empty after a further session could not be opened", async () => {
  const clock = new FakeClock();
  const api = new ForwardStandIn({ connect: new PodEnds().connect });
  using opener = new ForwardOpener({ clock, api, halfClose: "pass", limits: usualForwardLimits });
  let left = 0;
  const forwards = new PodForwards({
    clock,
    limits: usualForwardLimits,
    idle: new Set(),
    pod: web,
    opener,
    onEmpty: () => void left++,
    onBroken: () => {},
  });
  for (let count = 0; count < 32; count++) await forwards.open(80, { signal });
  const further = Promise.withResolvers<never>();
  api.upgrade = () => further.promise;
  await forwards.open(80, { signal });
  // The pod ends, and its session too.
  api.last.close();
  await api.last.done;
  await nextTurn();
  assert.deepEqual([forwards.sessions, left], [0, 0]);
  further.reject(new Error("no such pod"));
  await nextTurn();
  assert.equal(left, 1);
  assert.equal(clock.waiting, 0);
});
