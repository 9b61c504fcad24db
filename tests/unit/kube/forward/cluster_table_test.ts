import assert from "node:assert/strict";
import type { ServiceRecord } from "../../../../src/kube/api/cluster_view.ts";
import { formatIp, PosternError } from "../../../../src/words/mod.ts";
import { ClusterTable, tableOf } from "../../../../src/kube/forward/cluster_table.ts";
import type { LearnedStore } from "../../../../src/kube/forward/learned_store.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import {
  type FakeClusterParts,
  FakeClusterView,
  serviceRecord,
  sliceRecord,
} from "../../../support/fake_cluster_view.ts";

import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();
const minutes = 60_000;

const shop: FakeClusterParts = {
  services: [
    serviceRecord({ namespace: "shop", name: "web", clusterIps: ["10.96.0.7", "FD00:10:96:0::7"] }),
    serviceRecord({ namespace: "dev", name: "db", clusterIps: ["10.96.0.8"] }),
  ],
  slices: { "shop/web": [sliceRecord(["web-1"], 8080)] },
};

/** The API server's responses by path; all other paths are forbidden. */
type Answers = Readonly<Record<string, unknown>>;

function tableFor(
  view: FakeClusterView,
  { clock = new FakeClock(), answers = {}, store, podNetworks = [] }: {
    readonly clock?: FakeClock;
    readonly answers?: Answers;
    readonly store?: LearnedStore;
    readonly podNetworks?: readonly string[];
  } = {},
): ClusterTable {
  const api = {
    name: "lab",
    status: () => ({ server: "192.0.2.1:6443", requests: 0, connections: 0 }),
    json({ path }: { readonly path: string }) {
      const answer = answers[path.replace(/\?.*$/, "")];
      if (answer !== undefined) return Promise.resolve(answer);
      return Promise.reject(new PosternError("not_allowed", `Cannot GET ${path}: forbidden`));
    },
    allowSignIn() {},
  };
  return new ClusterTable({ view, api, clock, log: recordingLog(), namespace: "shop", podNetworks, store });
}

/** A file in memory. */
class MemoryStore implements LearnedStore {
  text: string | undefined;
  writes = 0;

  read(): Promise<string | undefined> {
    return Promise.resolve(this.text);
  }

  write(text: string): Promise<void> {
    this.text = text;
    this.writes++;
    return Promise.resolve();
  }
}

const metadata = (name: string) => ({ metadata: { name, uid: `uid of ${name}` } });
const answers: Answers = {
  "/api/v1/namespaces": { items: ["kube-system", "shop", "empty", "dev"].map(metadata) },
  "/api/v1/nodes": {
    items: [{
      spec: { podCIDR: "10.244.0.0/24", podCIDRs: ["10.244.0.0/24", "fd00:10:244::/64"] },
      status: {
        addresses: [{ type: "InternalIP", address: "192.168.1.7" }, { type: "Hostname", address: "node" }],
      },
    }],
  },
  "/apis/networking.k8s.io/v1/servicecidrs": { items: [{ spec: { cidrs: ["10.96.0.0/16"] } }] },
};

/** The networks and names that a table owns, as text. */
function ownedBy(table: ClusterTable) {
  const { networks = [], addresses = [], namespaces = [], services = [], knowsServiceNetwork } =
    table.domain ?? {};
  return {
    networks: networks.map(({ bytes, bits, holds }) => `${formatIp(bytes)}/${bits} ${holds}`),
    addresses: [...addresses].sort(),
    namespaces: [...namespaces].sort(),
    services: [...services].sort(),
    knowsServiceNetwork,
  };
}

async function heldView(parts: FakeClusterParts): Promise<FakeClusterView> {
  const view = new FakeClusterView(parts);
  await view.ready(undefined);
  return view;
}

const found: readonly { name: string; parts: FakeClusterParts; services: string[]; addresses: string[] }[] = [
  {
    name: "names with their namespace, short names in the default namespace, and addresses of both families",
    parts: shop,
    services: ["web.shop", "web", "db.dev"],
    addresses: ["10.96.0.7", "fd00:10:96::7", "10.244.0.1", "10.96.0.8"],
  },
  { name: "nothing for an empty cluster", parts: {}, services: [], addresses: [] },
  {
    name: "no endpoint other than pods, and none by name",
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
  Deno.test(`tableOf() contains ${name}`, async () => {
    const table = tableOf(await heldView(parts), "shop");
    assert.deepEqual([...table.services], services);
    assert.deepEqual([...table.addresses], addresses);
  });
}

Deno.test("ClusterTable holds the whole cluster and reports changes of a watch", async () => {
  const view = new FakeClusterView(shop);
  await using table = tableFor(view);
  let changes = 0;
  table.onChange(() => changes++);
  await table.follow({ signal, learns: true });
  assert.deepEqual([view.asked, changes], [["*"], 2]);
  assert.ok(table.current?.services.has("db.dev"));
  view.change({ services: [serviceRecord({ namespace: "shop", name: "late" })] });
  assert.equal(changes, 3);
  assert.deepEqual([...table.current?.services ?? []], ["late.shop", "late"]);
});

Deno.test("ClusterTable uses only the default namespace if no more is allowed", async () => {
  const view = new FakeClusterView({ ...shop, allowed: ["shop"] });
  await using table = tableFor(view);
  await table.follow({ signal, learns: true });
  assert.deepEqual(view.asked, ["*", "shop"]);
  assert.deepEqual([...table.current?.services ?? []], ["web.shop", "web"]);
});

Deno.test("ClusterTable names the missing right if nothing is allowed, and can retry", async () => {
  const view = new FakeClusterView({ ...shop, allowed: [] });
  await using table = tableFor(view);
  await assert.rejects(
    table.follow({ signal }),
    (error) => error instanceof PosternError && error.code === "not_allowed" && /"shop"/.test(error.message),
  );
  assert.deepEqual([table.current], [undefined]);
  view.change(shop);
  await table.follow({ signal, learns: true });
  assert.ok(table.current);
});

Deno.test("ClusterTable renews its watches every five minutes until its end", async () => {
  const clock = new FakeClock();
  const view = new FakeClusterView(shop);
  const table = tableFor(view, { clock });
  await table.follow({ signal, learns: true });
  for (let round = 2; round <= 4; round++) {
    await clock.advance(5 * minutes);
    assert.equal(view.asked.length, round);
  }
  await table[Symbol.asyncDispose]();
  await clock.advance(60 * minutes);
  assert.equal(view.asked.length, 4);
});

Deno.test("ClusterTable learns the cluster's own networks and namespaces", async () => {
  await using table = tableFor(await heldView(shop), { answers });
  await table.follow({ signal, learns: true });
  assert.deepEqual(ownedBy(table), {
    networks: ["10.96.0.0/16 Services", "10.244.0.0/24 pods", "fd00:10:244::/64 pods"],
    addresses: ["10.244.0.1", "10.96.0.7", "10.96.0.8", "fd00:10:96::7"],
    // dev and shop are top-level domains, so only their Services count.
    namespaces: ["empty", "kube-system"],
    services: ["db.dev", "web", "web.shop"],
    knowsServiceNetwork: true,
  });
});

const kubernetes = serviceRecord({ namespace: "default", name: "kubernetes", clusterIps: ["10.96.0.1"] });
const estimates: readonly {
  name: string;
  ips: readonly string[];
  services?: readonly ServiceRecord[];
  networks: string[];
}[] = [
  {
    name: "the network that starts below kubernetes.default",
    ips: ["10.96.0.7"],
    services: [kubernetes],
    networks: ["10.96.0.0/20 Services"],
  },
  {
    name: "one that contains every ClusterIP",
    ips: ["10.96.0.7", "10.103.4.1"],
    services: [kubernetes],
    networks: ["10.96.0.0/13 Services"],
  },
  {
    name: "one around the visible ClusterIPs",
    ips: ["10.43.7.7", "10.43.9.9"],
    networks: ["10.43.0.0/20 Services"],
  },
  {
    name: "none larger than an API server accepts",
    ips: ["10.200.0.1"],
    services: [kubernetes],
    networks: ["10.96.0.0/12 Services"],
  },
  {
    name: "one for each family",
    ips: ["10.96.0.7", "fd00:10:96::7"],
    networks: ["10.96.0.0/20 Services", "fd00:10:96::/112 Services"],
  },
  { name: "nothing without a visible ClusterIP", ips: [], networks: [] },
];

for (const { name, ips, services = [], networks } of estimates) {
  Deno.test(`ClusterTable estimates networks that it may not read: ${name}`, async () => {
    const parts = {
      services: [...services, serviceRecord({ namespace: "shop", name: "web", clusterIps: [...ips] })],
    };
    await using table = tableFor(await heldView(parts));
    await table.follow({ signal, learns: true });
    assert.deepEqual(ownedBy(table).networks, networks);
    // Addresses beyond the estimate may belong to the cluster too, unless the start of the network is known.
    assert.equal(table.domain?.knowsServiceNetwork, services.length > 0);
  });
}

Deno.test("ClusterTable never counts a node's address as a pod's", async () => {
  const endpoint = (pod: string, ip: string) => ({ ...anEndpoint(), addresses: [ip], pod });
  const slice = (...endpoints: ReturnType<typeof endpoint>[]) => [{ ...sliceRecord([], 80), endpoints }];
  const parts = {
    services: ["a", "b", "c"].map((name) => serviceRecord({ namespace: "shop", name })),
    slices: {
      "shop/a": slice(endpoint("a-1", "192.168.1.7"), endpoint("a-2", "192.168.1.8")),
      "shop/b": slice(endpoint("b-1", "192.168.1.8"), endpoint("b-2", "10.9.9.9")),
      "shop/c": slice(endpoint("b-2", "10.9.9.9")),
    },
  };
  await using told = tableFor(await heldView(parts), { answers });
  await told.follow({ signal, learns: true });
  assert.deepEqual(ownedBy(told).addresses, ["10.9.9.9"]);
  // Without the right to list nodes, two pods with one address reveal it.
  await using untold = tableFor(await heldView(parts));
  await untold.follow({ signal, learns: true });
  assert.deepEqual(ownedBy(untold).addresses, ["10.9.9.9", "192.168.1.7"]);
});

Deno.test("ClusterTable owns the configured pod networks", async () => {
  await using table = tableFor(await heldView(shop), { podNetworks: ["10.128.0.0/14"] });
  await table.follow({ signal, learns: true });
  assert.deepEqual(ownedBy(table).networks, [
    "10.96.0.0/20 Services",
    "fd00:10:96::/112 Services",
    "10.128.0.0/14 pods",
  ]);
});

Deno.test("ClusterTable stores learned facts, and recalls them without a request", async () => {
  const store = new MemoryStore();
  const clock = new FakeClock();
  {
    await using table = tableFor(await heldView(shop), { answers, store, clock });
    await table.follow({ signal, learns: true });
  }
  assert.equal(store.writes, 1);
  const view = new FakeClusterView({ allowed: [] });
  await using table = tableFor(view, { store, clock });
  assert.deepEqual([table.isRecalled, table.domain], [false, undefined]);
  await table.recall();
  assert.deepEqual([table.isRecalled, view.asked], [true, []]);
  assert.deepEqual(ownedBy(table).services, ["db.dev", "web", "web.shop"]);
  assert.deepEqual(ownedBy(table).networks[0], "10.96.0.0/16 Services");
});

const days = 24 * 60 * minutes;

Deno.test("ClusterTable forgets pod addresses after 7 days and everything after 30", async () => {
  const store = new MemoryStore();
  const clock = new FakeClock();
  {
    await using table = tableFor(await heldView(shop), { answers, store, clock });
    await table.follow({ signal, learns: true });
  }
  const recalled = async () => {
    await using table = tableFor(new FakeClusterView(), { store, clock });
    await table.recall();
    return table.domain;
  };
  await clock.advance(8 * days);
  assert.equal((await recalled())?.addresses.has("10.244.0.1"), false);
  assert.equal((await recalled())?.services.has("web.shop"), true);
  await clock.advance(23 * days);
  assert.equal(await recalled(), undefined);
});

Deno.test("ClusterTable forgets the facts of a cluster that was recreated", async () => {
  const store = new MemoryStore();
  const clock = new FakeClock();
  {
    await using table = tableFor(await heldView(shop), { answers, store, clock });
    await table.follow({ signal, learns: true });
  }
  const recreated = {
    ...answers,
    "/api/v1/namespaces": { items: [{ metadata: { name: "kube-system", uid: "another" } }] },
    "/apis/networking.k8s.io/v1/servicecidrs": { items: [{ spec: { cidrs: ["10.43.0.0/16"] } }] },
  };
  const view = await heldView({ services: [serviceRecord({ namespace: "other", name: "web" })] });
  await using table = tableFor(view, { answers: recreated, store, clock });
  await table.follow({ signal, learns: true });
  assert.deepEqual(ownedBy(table).services, ["web.other"]);
  assert.deepEqual(ownedBy(table).networks[0], "10.43.0.0/16 Services");
});

for (
  const text of [
    "",
    "{",
    "[]",
    '{"version":2,"saved":1}',
    '{"version":1}',
    '{"version":1,"saved":0,"services":[1]}',
  ]
) {
  Deno.test(`ClusterTable.recall() ignores ${text || "an empty file"}`, async () => {
    const store = new MemoryStore();
    store.text = text;
    await using table = tableFor(await heldView(shop), { answers, store });
    await table.recall();
    await table.follow({ signal, learns: true });
    assert.ok(table.domain?.services.has("web.shop"));
  });
}

Deno.test("ClusterTable learns a Service from a watch, and keeps a deleted one", async () => {
  const view = await heldView(shop);
  await using table = tableFor(view, { answers });
  await table.follow({ signal, learns: true });
  view.change({ services: [serviceRecord({ namespace: "late", name: "new", clusterIps: ["10.96.7.7"] })] });
  assert.deepEqual(ownedBy(table).services, ["db.dev", "new.late", "web", "web.shop"]);
  assert.deepEqual([...table.current?.services ?? []], ["new.late"]);
});

Deno.test("ClusterTable never owns this machine or huge networks, whatever the API server says", async () => {
  const cidrs = [
    "0.0.0.0/1",
    "127.0.0.0/16",
    "169.254.0.0/16",
    "::/32",
    "fe80::/64",
    "10.96.0.0/33",
    "x",
    "10.96.0.0/16",
  ];
  const view = await heldView({
    services: [
      serviceRecord({
        namespace: "shop",
        name: "web",
        clusterIps: ["127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1"],
      }),
    ],
  });
  await using table = tableFor(view, {
    answers: { ...answers, "/apis/networking.k8s.io/v1/servicecidrs": { items: [{ spec: { cidrs } }] } },
  });
  await table.follow({ signal, learns: true });
  assert.deepEqual(ownedBy(table).networks.filter((text) => text.endsWith("Services")), [
    "10.96.0.0/16 Services",
  ]);
  assert.deepEqual([ownedBy(table).addresses, [...table.current?.addresses ?? []]], [[], []]);
});

Deno.test("ClusterTable keeps its table when its watches have ended", async () => {
  const view = await heldView(shop);
  await using table = tableFor(view, { answers });
  await table.follow({ signal, learns: true });
  view.isReady = () => false;
  view.change({});
  assert.ok(table.current?.services.has("web.shop"));
});

Deno.test("ClusterTable reads only its table if no rule needs the learned facts", async () => {
  const store = new MemoryStore();
  const asked: string[] = [];
  const refusing = new Proxy(answers, {
    get(target, path, self) {
      asked.push(String(path));
      return Reflect.get(target, path, self);
    },
  });
  await using table = tableFor(await heldView(shop), { answers: refusing, store });
  await table.follow({ signal });
  assert.ok(table.current?.services.has("web.shop"));
  assert.deepEqual([asked, store.writes], [[], 0]);
  await table.follow({ signal, learns: true });
  assert.equal(asked.length, 3);
});
