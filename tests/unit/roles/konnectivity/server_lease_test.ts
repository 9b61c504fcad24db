import assert from "node:assert/strict";
import { parseLabels, selectorOf } from "../../../../src/roles/mod.ts";
import { ServerLease } from "../../../../src/roles/konnectivity/server_lease.ts";
import { Leases } from "../../../../src/kube/api/leases.ts";
import type { FakeAnswer, FakeRequest } from "../../../support/fake_kube_api.ts";
import { kubeWorld } from "../../../support/kube_world.ts";
import { recordingLog } from "../../../support/recording_log.ts";

type Stored = { metadata: { name: string; resourceVersion: string }; spec: { renewTime?: string } };

/** A fake API server for Leases: versions, conflicts and outages. */
class LeaseApi {
  readonly leases = new Map<string, Stored>();
  isAway = false;
  /** The number of our writes that another client precedes. */
  conflicts = 0;
  #version = 0;

  answer({ method, path, body }: FakeRequest): FakeAnswer {
    if (this.isAway) return "close";
    const name = path.split("/leases/")[1];
    if (method === "GET" && name === undefined) {
      return { status: 200, body: { items: [...this.leases.values()] } };
    }
    const sent = body as Stored | undefined;
    const known = this.leases.get(name ?? sent?.metadata.name ?? "");
    if (method === "GET") return known ? { status: 200, body: known } : { status: 404, body: {} };
    if (method === "DELETE") {
      const wanted = (body as { preconditions?: { resourceVersion: string } } | undefined)?.preconditions;
      if (!known) return { status: 404, body: {} };
      if (wanted && wanted.resourceVersion !== known.metadata.resourceVersion) {
        return { status: 409, body: {} };
      }
      this.leases.delete(known.metadata.name);
      return { status: 200, body: {} };
    }
    if (this.conflicts > 0) {
      this.conflicts--;
      this.put(sent ?? assert.fail("the request has no body"));
      return { status: 409, body: {} };
    }
    const isStale = known && sent?.metadata.resourceVersion !== known.metadata.resourceVersion;
    if (method === "PUT" ? !known || isStale : known) return { status: 409, body: {} };
    return { status: 200, body: this.put(sent ?? assert.fail("the request has no body")) };
  }

  put(lease: Stored): Stored {
    const metadata = { ...lease.metadata, resourceVersion: String(++this.#version) };
    const stored = { ...lease, metadata };
    this.leases.set(metadata.name, stored);
    return stored;
  }
}

async function leaseWorld(
  test: (parts: {
    api: LeaseApi;
    lease: ServerLease;
    advance: (ms: number) => Promise<void>;
    now: () => number;
    events: () => readonly string[];
  }) => Promise<void>,
) {
  const api = new LeaseApi();
  await using world = await kubeWorld({ answer: (request) => api.answer(request) });
  const log = recordingLog();
  const lease = new ServerLease({
    leases: new Leases(world.client, "kube-system"),
    clock: world.clock,
    log,
    serverId: "a",
    labels: { "k8s-app": "konnectivity-server" },
    random: () => 0,
  });
  const stop = new AbortController();
  const running = lease.run({ signal: stop.signal }).catch(() => {});
  // Requests need turns of the event loop in addition to clock time.
  const advance = async (ms: number) => {
    for (let turn = 0; turn < 20; turn++) await world.clock.advance(0);
    await world.clock.advance(ms);
    for (let turn = 0; turn < 20; turn++) await world.clock.advance(0);
  };
  await test({
    api,
    lease,
    advance,
    now: () => world.clock.date().getTime(),
    events: () => log.lines.map(({ event }) => event),
  });
  stop.abort();
  await running;
}

const own = "konnectivity-proxy-server-a";
const renewed = (api: LeaseApi) => Date.parse(api.leases.get(own)?.spec.renewTime ?? "");

Deno.test("ServerLease creates its Lease and renews it every 15 seconds", async () => {
  await leaseWorld(async ({ api, advance, now }) => {
    await advance(0);
    assert.equal(renewed(api), now());
    await advance(15_000);
    assert.equal(renewed(api), now());
  });
});

Deno.test("ServerLease keeps concurrent changes of other clients and recreates a deleted Lease", async () => {
  await leaseWorld(async ({ api, advance, now }) => {
    await advance(0);
    api.conflicts = 1;
    await advance(15_000);
    assert.equal(renewed(api), now());
    api.leases.delete(own);
    await advance(15_000);
    assert.equal(renewed(api), now());
  });
});

Deno.test("ServerLease retries sooner during an API server outage", async () => {
  await leaseWorld(async ({ api, advance, now, events }) => {
    await advance(0);
    api.isAway = true;
    await advance(15_000);
    assert.ok(events().includes("lease.failed"));
    api.isAway = false;
    await advance(2000);
    assert.ok(now() - renewed(api) <= 2000);
    assert.ok(events().includes("lease.renewed"));
  });
});

Deno.test("ServerLease deletes only expired Leases of other servers", async () => {
  await leaseWorld(async ({ api, lease, advance, now }) => {
    const at = (ms: number) => ({
      leaseDurationSeconds: 30,
      renewTime: new Date(now() - ms).toISOString(),
    });
    api.put({ metadata: { name: "gone", resourceVersion: "" }, spec: at(31_000) });
    api.put({ metadata: { name: "here", resourceVersion: "" }, spec: at(10_000) });
    api.put({ metadata: { name: "silent", resourceVersion: "" }, spec: {} });
    await advance(0);
    assert.deepEqual([...api.leases.keys()].sort(), ["here", own]);
    assert.equal(lease.culled, 2);
    for (let renewals = 0; renewals < 2; renewals++) await advance(15_000);
    assert.deepEqual([...api.leases.keys()], [own]);
  });
});

Deno.test("parseLabels() parses labels and rejects other texts", () => {
  assert.deepEqual(parseLabels("k8s-app=konn, x/y=z"), { "k8s-app": "konn", "x/y": "z" });
  assert.equal(selectorOf({ a: "b", c: "d" }), "a=b,c=d");
  for (const text of ["", "a", "a=b,", "a b=c"]) assert.throws(() => parseLabels(text), { code: "usage" });
});
