import assert from "node:assert/strict";
import type { EndpointRecord, ServiceRecord, SliceRecord } from "../../../../src/kube/api/cluster_view.ts";
import { type NamedView, ServiceDns } from "../../../../src/kube/services/service_dns.ts";
import type { FarName } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";

const plain: Omit<ServiceRecord, "name"> = {
  namespace: "shop",
  type: "ClusterIP",
  clusterIps: [],
  isHeadless: false,
  hasSelector: true,
  publishesNotReady: false,
  ports: [],
};
const http = { name: "http", protocol: "TCP", port: 80, targetPort: "web" } as const;
const services: readonly ServiceRecord[] = [
  {
    ...plain,
    name: "web",
    clusterIps: ["10.96.0.7", "FD00::0:7"],
    ports: [
      http,
      { name: "admin", protocol: "TCP", port: 8080, targetPort: 8080 },
      { name: "quic", protocol: "UDP", port: 443, targetPort: 443 },
    ],
  },
  { ...plain, name: "db", isHeadless: true, ports: [{ ...http, name: "sql", port: 5432 }] },
  { ...plain, name: "eager", isHeadless: true, publishesNotReady: true },
  { ...plain, name: "other", type: "ExternalName", externalName: "Db.Example.COM." },
];
const endpoint = (address: string, more: Partial<EndpointRecord> = {}): EndpointRecord => ({
  addresses: [address],
  isReady: true,
  isServing: true,
  isTerminating: false,
  ...more,
});
const slices: Readonly<Record<string, readonly SliceRecord[]>> = {
  db: [
    {
      addressType: "IPv4",
      ports: [{ name: "sql", protocol: "TCP", port: 5433 }],
      endpoints: [
        endpoint("10.1.0.1", { pod: "db-0", hostname: "db-0" }),
        endpoint("10.1.0.2", { pod: "db-1-x" }),
        endpoint("10.1.0.3", { pod: "db-2", hostname: "db-2", isReady: false }),
      ],
    },
    { addressType: "IPv6", ports: [], endpoints: [endpoint("FD00:0::1", { pod: "db-0", hostname: "db-0" })] },
    { addressType: "FQDN", ports: [], endpoints: [endpoint("elsewhere.example")] },
  ],
  eager: [{
    addressType: "IPv4",
    ports: [],
    endpoints: [endpoint("10.1.0.9", { pod: "e", isReady: false })],
  }],
};

function view(): NamedView & { readonly asked: Set<string | undefined> } {
  const asked = new Set<string | undefined>();
  return {
    asked,
    ready(namespace) {
      asked.add(namespace);
      if (namespace === "secret") {
        return Promise.reject(new PosternError("not_allowed", "Cannot list services"));
      }
      return Promise.resolve();
    },
    service: (namespace, name) => services.find((one) => one.namespace === namespace && one.name === name),
    byClusterIp: (ip) => ip === "10.96.0.7" ? services[0] : undefined,
    endpoints: (_, service) => slices[service] ?? [],
    services: (namespace?: string) =>
      services.filter((one) => namespace === undefined || one.namespace === namespace),
    podByIp: (ip) =>
      Promise.resolve(
        ip === "10.1.0.1"
          ? [{
            namespace: "shop",
            name: "db-0",
            phase: "Running",
            isReady: true,
            isTerminating: false,
            isHostNetwork: false,
            ips: [ip],
            ports: [],
          }]
          : [],
      ),
  };
}

const options = { namespace: "shop", clusterDomain: "cluster.local", suffix: "lab.internal" };
const web: FarName = {
  addresses: ["10.96.0.7", "fd00::7"],
  services: [
    { name: "", port: 80, addresses: ["10.96.0.7", "fd00::7"] },
    { name: "", port: 8080, addresses: ["10.96.0.7", "fd00::7"] },
  ],
  ports: [80, 8080],
};
/** The answer for another spelling of a Service, with SRV records that point to this spelling. */
const as = (found: FarName, host: string): FarName => ({
  ...found,
  services: found.services?.map((service) => ({ ...service, name: service.name + host })) ?? [],
});
const none: FarName = { addresses: [] };
const db: FarName = {
  addresses: ["10.1.0.1", "10.1.0.2", "fd00::1"],
  services: [
    { name: "db-0.", port: 5433, addresses: ["10.1.0.1"] },
    { name: "10-1-0-2.", port: 5433, addresses: ["10.1.0.2"] },
  ],
  ports: [5432, 5433],
};

const found: readonly { readonly host: string; readonly is: FarName | undefined }[] = [
  ...[
    "web.shop.svc.cluster.local",
    "web.shop.svc",
    "web.shop",
    "web",
    "web.shop.lab.internal",
    "web.lab.internal",
  ]
    .map((host) => ({ host, is: as(web, host) })),
  { host: "web.shop.svc.example.com", is: undefined },
  { host: "no.shop.svc.cluster.local", is: undefined },
  { host: "web.empty.svc.cluster.local", is: undefined },
  { host: "db.shop.svc.cluster.local", is: as(db, "db.shop.svc.cluster.local") },
  { host: "db-0.db.shop.svc.cluster.local", is: { addresses: ["10.1.0.1", "fd00::1"], ports: [5432, 5433] } },
  { host: "db-1-x.db.shop.svc", is: { addresses: ["10.1.0.2"], ports: [5432, 5433] } },
  { host: "10-1-0-2.db.shop.svc", is: { addresses: ["10.1.0.2"], ports: [5432, 5433] } },
  { host: "fd00--1.db.shop.svc", is: { addresses: ["fd00::1"], ports: [5432, 5433] } },
  { host: "db-2.db.shop.svc", is: undefined },
  { host: "eager.shop", is: { addresses: ["10.1.0.9"], services: [] } },
  { host: "other.shop.svc", is: { addresses: [], alias: "db.example.com" } },
  { host: "10-1-0-1.shop.pod.cluster.local", is: { addresses: ["10.1.0.1"] } },
  { host: "10-1-0-1.else.pod.cluster.local", is: undefined },
  { host: "10-9-9-9.shop.pod.cluster.local", is: undefined },
  {
    host: "_http._tcp.web.shop.svc.cluster.local",
    is: {
      addresses: [],
      services: [{ name: "web.shop.svc.cluster.local", port: 80, addresses: ["10.96.0.7", "fd00::7"] }],
    },
  },
  { host: "_quic._tcp.web.shop.svc.cluster.local", is: undefined },
  { host: "_no._tcp.web.shop.svc.cluster.local", is: undefined },
  {
    host: "_sql._tcp.db.shop.svc",
    is: {
      addresses: [],
      services: [
        { name: "db-0.db.shop.svc", port: 5433, addresses: ["10.1.0.1"] },
        { name: "10-1-0-2.db.shop.svc", port: 5433, addresses: ["10.1.0.2"] },
      ],
    },
  },
  // A name that only has names below it exists too (RFC 8020).
  ...[
    "cluster.local",
    "svc.cluster.local",
    "shop.svc.cluster.local",
    "pod.cluster.local",
    "svc",
    "shop.svc",
    "lab.internal",
    "shop.lab.internal",
    "svc.lab.internal",
    "shop.svc.lab.internal",
    "_tcp.web.shop.svc.cluster.local",
  ].map((host) => ({ host, is: none })),
  { host: "empty.svc.cluster.local", is: undefined },
  { host: "example.com.cluster.local", is: undefined },
];
for (const { host, is } of found) {
  Deno.test(`ServiceDns.find() resolves "${host}"`, async () => {
    const { signal } = new AbortController();
    const said = await new ServiceDns(view(), options).find(host, { signal });
    const named = said?.services?.map(({ name, port, addresses }) => ({ name, port, addresses }));
    assert.deepEqual(said && { ...said, ...(named && { services: named }) }, is);
  });
}

Deno.test("ServiceDns.find() fails for a forbidden namespace without asking for another", async () => {
  const held = view();
  const { signal } = new AbortController();
  await assert.rejects(
    new ServiceDns(held, options).find("web.secret.svc", { signal }),
    (error) => error instanceof PosternError && error.code === "not_allowed",
  );
  assert.deepEqual([...held.asked], ["secret"]);
});

for (const mayListAll of [true, false]) {
  const scope = mayListAll ? "the cluster" : "its namespace if it may not list more";
  Deno.test(`ServiceDns.all() lists the Services of ${scope}, and each name resolves`, async () => {
    const { signal } = new AbortController();
    const held = view();
    const ready = held.ready.bind(held);
    const refusal = new PosternError("not_allowed", "Cannot list services");
    held.ready = (namespace, given) =>
      namespace === undefined && !mayListAll ? Promise.reject(refusal) : ready(namespace, given);
    const dns = new ServiceDns(held, options);
    const all = await dns.all({ signal });
    assert.deepEqual(all.map(([first]) => first), [
      "web.shop.svc",
      "db.shop.svc",
      "eager.shop.svc",
      "other.shop.svc",
    ]);
    for (const name of all.flat()) assert.ok(await dns.find(name, { signal }), name);
  });
}

Deno.test("ServiceDns.nameOf() finds a Service's name by its address; the name resolves back to it", async () => {
  const { signal } = new AbortController();
  for (
    const { suffix, name } of [
      { suffix: undefined, name: "web.shop.svc.cluster.local" },
      { suffix: "lab.internal", name: "web.shop.svc.lab.internal" },
    ]
  ) {
    const dns = new ServiceDns(view(), { ...options, suffix });
    assert.equal(dns.nameOf("10.96.0.7"), name);
    assert.deepEqual((await dns.find(name, { signal }))?.addresses, web.addresses);
    assert.equal(dns.nameOf("10.96.0.8"), undefined);
  }
});
