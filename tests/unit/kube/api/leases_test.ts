import assert from "node:assert/strict";
import { isLeaseValid, leaseOf, Leases } from "../../../../src/kube/api/leases.ts";
import type { FakeAnswer, FakeRequest } from "../../../support/fake_kube_api.ts";
import { kubeWorld } from "../../../support/kube_world.ts";

const { signal } = new AbortController();
const object = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: {
    name: "a",
    namespace: "n",
    resourceVersion: "7",
    labels: { app: "x" },
    annotations: { keep: "me" },
  },
  spec: {
    holderIdentity: "me",
    leaseDurationSeconds: 30,
    renewTime: "2026-01-01T00:00:10.000000Z",
    strategy: "OldestEmulationVersion",
  },
};

async function withLeases(
  answer: (request: FakeRequest) => FakeAnswer,
  test: (leases: Leases, requests: readonly FakeRequest[]) => Promise<void>,
): Promise<void> {
  await using world = await kubeWorld({ answer });
  await test(new Leases(world.client, "n"), world.api.requests);
}

Deno.test("leaseOf() reads a Lease, and is undefined for other objects", () => {
  const lease = leaseOf(object);
  assert.equal(lease?.holder, "me");
  assert.equal(lease?.seconds, 30);
  assert.deepEqual(lease?.renewed, new Date("2026-01-01T00:00:10Z"));
  assert.equal(lease?.acquired, undefined);
  assert.deepEqual(lease?.labels, { app: "x" });
  assert.equal(leaseOf({ spec: object.spec }), undefined);
  assert.equal(leaseOf("Lease"), undefined);
});

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const times = [
  { name: "true before its end", lease: { renewed: at(10) }, now: at(39), is: true },
  { name: "false at its end", lease: { renewed: at(10) }, now: at(40), is: false },
  { name: "true by the time of acquisition", lease: { acquired: at(10) }, now: at(39), is: true },
  { name: "false without any time", lease: {}, now: at(0), is: false },
];
for (const { name, lease, now, is } of times) {
  Deno.test(`isLeaseValid() is ${name}`, () => {
    const fields = {
      holder: "me",
      seconds: 30,
      acquired: undefined,
      renewed: undefined,
      transitions: 0,
      labels: {},
    };
    assert.equal(isLeaseValid({ ...fields, ...lease }, now), is);
  });
}

Deno.test("Leases writes its changes with the version that it read, and keeps unknown fields", async () => {
  await withLeases(() => ({ status: 200, body: object }), async (leases, requests) => {
    const lease = await leases.read("a", { signal });
    assert.ok(lease);
    assert.ok(await leases.update(lease, { renewed: at(20) }, { signal }));
    assert.deepEqual(requests.map(({ method, target }) => `${method} ${target}`), [
      "GET /apis/coordination.k8s.io/v1/namespaces/n/leases/a",
      "PUT /apis/coordination.k8s.io/v1/namespaces/n/leases/a",
    ]);
    assert.deepEqual(requests[1]?.body, {
      ...object,
      spec: { ...object.spec, leaseTransitions: 0, renewTime: "2026-01-01T00:00:20.000000Z" },
    });
  });
});

const others = [
  {
    name: "read() finds none",
    status: 404,
    ask: (leases: Leases) => leases.read("a", { signal }),
    is: undefined,
  },
  {
    name: "create() comes second",
    status: 409,
    ask: (leases: Leases) => leases.create("a", leaseOf(object) ?? assert.fail(), { signal }),
    is: undefined,
  },
  {
    name: "update() comes too late",
    status: 409,
    ask: (leases: Leases) => leases.update(leaseOf(object) ?? assert.fail(), {}, { signal }),
    is: undefined,
  },
  {
    name: "update() finds it removed",
    status: 404,
    ask: (leases: Leases) => leases.update(leaseOf(object) ?? assert.fail(), {}, { signal }),
    is: undefined,
  },
  {
    name: "remove() finds it gone",
    status: 404,
    ask: (leases: Leases) => leases.remove("a", { signal }),
    is: false,
  },
  {
    name: "remove() finds it renewed",
    status: 409,
    ask: (leases: Leases) => leases.remove(leaseOf(object) ?? assert.fail(), { signal }),
    is: false,
  },
];
for (const { name, status, ask, is } of others) {
  Deno.test(`Leases: ${name} without an error`, async () => {
    await withLeases(() => ({ status, body: { message: "no" } }), async (leases) => {
      assert.equal(await ask(leases), is);
    });
  });
}

Deno.test("Leases: remove() sends the version that it read", async () => {
  await withLeases(() => ({ status: 200, body: {} }), async (leases, requests) => {
    assert.equal(await leases.remove(leaseOf(object) ?? assert.fail(), { signal }), true);
    assert.deepEqual(requests[0]?.body, { preconditions: { resourceVersion: "7" } });
    assert.equal(await leases.remove("b", { signal }), true);
    assert.equal(requests[1]?.body, undefined);
  });
});

Deno.test("Leases: list() selects by labels and reports a missing right", async () => {
  await withLeases(() => ({ status: 200, body: { items: [object, {}] } }), async (leases, requests) => {
    assert.deepEqual((await leases.list("app=x,b=c", { signal })).map(({ name }) => name), ["a"]);
    assert.equal(requests[0]?.query.get("labelSelector"), "app=x,b=c");
  });
  const message =
    'leases.coordination.k8s.io is forbidden: User "bob" cannot list resource "leases" in API group ' +
    '"coordination.k8s.io" in the namespace "n"';
  await withLeases(() => ({ status: 403, body: { message } }), async (leases) => {
    await assert.rejects(leases.list("app=x", { signal }), {
      code: "not_allowed",
      message: /"bob" may not list/,
    });
  });
});
