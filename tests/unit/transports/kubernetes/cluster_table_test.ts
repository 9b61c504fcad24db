import assert from "node:assert/strict";
import { PosternError } from "../../../../src/core/mod.ts";
import { ClusterTable, tableOf } from "../../../../src/transports/kubernetes/cluster_table.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import {
  type FakeClusterParts,
  FakeClusterView,
  serviceRecord,
  sliceRecord,
} from "../../../support/fake_cluster_view.ts";

const { signal } = new AbortController();
const minutes = 60_000;

const shop: FakeClusterParts = {
  services: [
    serviceRecord({ namespace: "shop", name: "web", clusterIps: ["10.96.0.7", "FD00:10:96:0::7"] }),
    serviceRecord({ namespace: "dev", name: "db", clusterIps: ["10.96.0.8"] }),
  ],
  slices: { "shop/web": [sliceRecord(["web-1"], 8080)] },
};

async function heldView(parts: FakeClusterParts): Promise<FakeClusterView> {
  const view = new FakeClusterView(parts);
  await view.ready(undefined);
  return view;
}

const found: readonly { name: string; parts: FakeClusterParts; services: string[]; addresses: string[] }[] = [
  {
    name: "names with their namespace, short ones in the usual namespace, and addresses of both families",
    parts: shop,
    services: ["web.shop", "web", "db.dev"],
    addresses: ["10.96.0.7", "fd00:10:96::7", "10.244.0.1", "10.96.0.8"],
  },
  { name: "nothing of a cluster that has nothing", parts: {}, services: [], addresses: [] },
  {
    name: "no endpoint that is no pod, and none by a name",
    parts: {
      services: [serviceRecord({ namespace: "shop", name: "out" })],
      slices: {
        "shop/out": [
          { ...sliceRecord([], 80), endpoints: [{ ...anEndpoint(), addresses: ["192.0.2.1"] }] },
          { ...sliceRecord(["a"], 80), addressType: "FQDN" },
        ],
      },
    },
    services: ["out.shop", "out"],
    addresses: [],
  },
];

function anEndpoint() {
  return { isReady: true, isServing: true, isTerminating: false, addresses: [] as string[] };
}

for (const { name, parts, services, addresses } of found) {
  Deno.test(`tableOf() has ${name}`, async () => {
    const table = tableOf(await heldView(parts), "shop");
    assert.deepEqual([...table.services], services);
    assert.deepEqual([...table.addresses], addresses);
  });
}

Deno.test("ClusterTable holds the whole cluster, and says what a watch has changed", async () => {
  const view = new FakeClusterView(shop);
  using table = new ClusterTable(view, { namespace: "shop", clock: new FakeClock() });
  let changes = 0;
  table.onChange(() => changes++);
  await table.follow({ signal });
  assert.deepEqual([view.asked, changes], [["*"], 1]);
  assert.ok(table.current?.services.has("db.dev"));
  view.change({ services: [serviceRecord({ namespace: "shop", name: "late" })] });
  assert.equal(changes, 2);
  assert.deepEqual([...table.current?.services ?? []], ["late.shop", "late"]);
});

Deno.test("ClusterTable makes do with the usual namespace where no more is allowed", async () => {
  const view = new FakeClusterView({ ...shop, allowed: ["shop"] });
  using table = new ClusterTable(view, { namespace: "shop", clock: new FakeClock() });
  await table.follow({ signal });
  assert.deepEqual(view.asked, ["*", "shop"]);
  assert.deepEqual([...table.current?.services ?? []], ["web.shop", "web"]);
});

Deno.test("ClusterTable names the missing right where nothing is allowed, and may be asked again", async () => {
  const view = new FakeClusterView({ ...shop, allowed: [] });
  using table = new ClusterTable(view, { namespace: "shop", clock: new FakeClock() });
  await assert.rejects(
    table.follow({ signal }),
    (error) => error instanceof PosternError && error.code === "not_allowed" && /"shop"/.test(error.message),
  );
  assert.deepEqual([table.current], [undefined]);
  view.change(shop);
  await table.follow({ signal });
  assert.ok(table.current);
});

Deno.test("ClusterTable asks every five minutes that its watches be kept, until its end", async () => {
  const clock = new FakeClock();
  const view = new FakeClusterView(shop);
  const table = new ClusterTable(view, { namespace: "shop", clock });
  await table.follow({ signal });
  for (let round = 2; round <= 4; round++) {
    await clock.advance(5 * minutes);
    assert.equal(view.asked.length, round);
  }
  table[Symbol.dispose]();
  await clock.advance(60 * minutes);
  assert.equal(view.asked.length, 4);
});
