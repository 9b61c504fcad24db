import assert from "node:assert/strict";
import { LeaseWatch } from "../../../../src/kube/api/lease_watch.ts";
import { FakeWatch } from "../../../support/fake_kube_api.ts";
import { kubeWorld } from "../../../support/kube_world.ts";

/** A Lease renewed at a second of the fake clock. */
const lease = (name: string, version: number, second: number) => ({
  metadata: { name, namespace: "n", resourceVersion: String(version) },
  spec: { leaseDurationSeconds: 30, renewTime: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString() },
});
const listed = {
  type: "BOOKMARK",
  object: { metadata: { resourceVersion: "1", annotations: { "k8s.io/initial-events-end": "true" } } },
};
const added = (...object: Parameters<typeof lease>) => ({ type: "ADDED", object: lease(...object) });

Deno.test("LeaseWatch counts valid Leases by labels, and keeps the count during an outage", async () => {
  let isAway = false;
  const watch = new FakeWatch(added("a", 1, 0), added("b", 2, 0), added("old", 3, -60), listed);
  await using world = await kubeWorld({ answer: () => isAway ? "close" : watch });
  const { client: api, clock } = world;
  const leases = new LeaseWatch({
    api,
    clock,
    random: () => 0.5,
    namespace: "n",
    selector: "app=x",
    onFailure: (error) => assert.fail(String(error)),
  });
  const stop = new AbortController();
  const running = leases.run({ signal: stop.signal }).catch(() => {});
  assert.equal(leases.count, undefined);
  for (let turns = 0; leases.count === undefined && turns < 100; turns++) await clock.advance(10);
  assert.equal(leases.count, 2);
  assert.equal(world.api.requests[0]?.query.get("labelSelector"), "app=x");
  await clock.advance(20_000);
  // One holder renews, with a clock that is an hour slow; the other does not.
  watch.say(added("a", 4, -3580));
  await clock.advance(15_000);
  assert.equal(leases.count, 1);
  isAway = true;
  watch.cut();
  await clock.advance(60_000);
  assert.equal(leases.count, 1);
  stop.abort();
  await running;
});

Deno.test("LeaseWatch reports a missing list right, and lists once it is granted", async () => {
  let mayList = false;
  const failures: string[] = [];
  const watch = new FakeWatch(added("a", 1, 0), listed);
  await using world = await kubeWorld({
    answer: () => mayList ? watch : { status: 403, body: { message: "no" } },
  });
  const { client: api, clock } = world;
  const onFailure = (error: unknown) => failures.push(String(error));
  const leases = new LeaseWatch({
    api,
    clock,
    random: () => 0.5,
    namespace: "n",
    selector: "a=b",
    onFailure,
  });
  const stop = new AbortController();
  const running = leases.run({ signal: stop.signal }).catch(() => {});
  for (let turns = 0; failures.length === 0 && turns < 100; turns++) await clock.advance(10);
  assert.match(failures.join(), /Cannot watch leases in the namespace "n"/);
  mayList = true;
  await clock.advance(6000);
  assert.equal(leases.count, 1);
  stop.abort();
  await running;
});
