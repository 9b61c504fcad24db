import assert from "node:assert/strict";
import { parseServiceName } from "../../../../src/kube/services/service_names.ts";
import { type ClusterPlaces, findPlaces } from "../../../../src/kube/services/service_targets.ts";
import { isPosternError, socks5Reply } from "../../../../src/words/mod.ts";
import {
  FakeClusterView,
  podRecord,
  serviceRecord,
  sliceRecord,
} from "../../../support/fake_cluster_view.ts";

const { signal } = new AbortController();
const tcp = (name: string, port: number, targetPort: number | string = port) =>
  ({ name, protocol: "TCP", port, targetPort }) as const;
const udp = (name: string, port: number) => ({ name, protocol: "UDP", port, targetPort: port }) as const;

const view = new FakeClusterView({
  services: [
    serviceRecord({ namespace: "dev", name: "web", clusterIps: ["10.96.0.7", "fd00::7"] }),
    serviceRecord({
      namespace: "prod",
      name: "web",
      ports: [tcp("http", 80, "http"), tcp("admin", 81, "admin")],
    }),
    serviceRecord({ namespace: "prod", name: "db", isHeadless: true, ports: [tcp("sql", 5432)] }),
    serviceRecord({
      namespace: "prod",
      name: "dns",
      ports: [udp("dns", 53), tcp("dns-tcp", 53), udp("only", 54)],
    }),
    serviceRecord({ namespace: "prod", name: "slow" }),
    serviceRecord({ namespace: "prod", name: "nosy", publishesNotReady: true }),
    serviceRecord({ namespace: "prod", name: "bare", hasSelector: false }),
    serviceRecord({ namespace: "prod", name: "strange", hasSelector: false }),
    serviceRecord({ namespace: "prod", name: "portless" }),
    serviceRecord({ namespace: "prod", name: "out", type: "ExternalName", externalName: "db.example.com" }),
  ],
  slices: {
    "dev/web": [
      sliceRecord(["web-0", "!web-1"], 8080),
      sliceRecord(["web-0", "!web-1"], 8080, { addressType: "IPv6" }),
    ],
    "prod/web": [
      sliceRecord(["old"], 8080),
      sliceRecord(["new"], 9090),
      sliceRecord(["old", "new"], 8081, { name: "admin" }),
    ],
    "prod/db": [{
      ...sliceRecord([], 5432, { name: "sql" }),
      endpoints: [
        {
          addresses: ["10.244.0.10"],
          isReady: true,
          isServing: true,
          isTerminating: false,
          pod: "db-x",
          hostname: "db-0",
        },
        { addresses: ["10.244.0.11"], isReady: true, isServing: true, isTerminating: false, pod: "db-1" },
        { addresses: ["10.244.0.12"], isReady: false, isServing: false, isTerminating: true, pod: "db-2" },
      ],
    }],
    "prod/dns": [sliceRecord(["dns-0"], 5353, { name: "dns-tcp" })],
    "prod/slow": [sliceRecord(["!a", "!b"], 80)],
    "prod/portless": [sliceRecord(["a"], 81, { name: "other" })],
    "prod/nosy": [sliceRecord(["!a"], 80)],
    "prod/strange": [{
      ...sliceRecord([], 80),
      endpoints: [{ addresses: ["192.0.2.1"], isReady: true, isServing: true, isTerminating: false }],
    }],
  },
  pods: [
    podRecord({ namespace: "prod", name: "one", ips: ["10.244.0.9", "fd00:244::9"] }),
    podRecord({ namespace: "prod", name: "gone", ips: ["10.244.0.9"], phase: "Succeeded" }),
    podRecord({
      namespace: "prod",
      name: "a",
      ips: ["192.0.2.7"],
      ports: [{ name: "x", protocol: "TCP", port: 80 }],
    }),
    podRecord({
      namespace: "prod",
      name: "b",
      ips: ["192.0.2.7"],
      ports: [{ name: "x", protocol: "TCP", port: 81 }],
    }),
    podRecord({
      namespace: "prod",
      name: "c",
      ips: ["192.0.2.7"],
      ports: [{ name: "x", protocol: "TCP", port: 81 }],
    }),
  ],
});

function find(host: string, port: number, of = view): Promise<ClusterPlaces> {
  const name = parseServiceName(host, { namespace: "dev", clusterDomain: "cluster.local" });
  assert.ok(name, host);
  return findPlaces(name, port, { view: of, cluster: "lab", namespace: "dev", signal });
}

const found: readonly (readonly [string, number, readonly string[]])[] = [
  ["web", 80, ["dev/web-0:8080"]],
  ["web.prod", 80, ["prod/old:8080", "prod/new:9090"]],
  ["web.prod", 81, ["prod/old:8081", "prod/new:8081"]],
  ["_admin._tcp.web.prod.svc", 1, ["prod/old:8081", "prod/new:8081"]],
  ["db.prod.svc", 5432, ["prod/db-x:5432", "prod/db-1:5432"]],
  ["db.prod.svc", 9999, ["prod/db-x:9999", "prod/db-1:9999"]],
  ["db-0.db.prod.svc.cluster.local", 5432, ["prod/db-x:5432"]],
  ["db-1.db.prod.svc", 5432, ["prod/db-1:5432"]],
  ["10-244-0-11.db.prod.svc", 5432, ["prod/db-1:5432"]],
  ["dns.prod", 53, ["prod/dns-0:5353"]],
  ["nosy.prod", 80, ["prod/a:80"]],
  ["10.96.0.7", 80, ["dev/web-0:8080"]],
  ["fd00::7", 80, ["dev/web-0:8080"]],
  ["10.244.0.9", 1234, ["prod/one:1234"]],
  ["fd00:244::9", 1234, ["prod/one:1234"]],
  ["10-244-0-9.prod.pod.cluster.local", 1234, ["prod/one:1234"]],
  ["192.0.2.7", 80, ["prod/a:80"]],
];

for (const [host, port, places] of found) {
  Deno.test(`findPlaces() finds ${host}:${port}`, async () => {
    const answer = await find(host, port);
    assert.ok("places" in answer);
    assert.deepEqual(answer.places.map(({ namespace, pod, port }) => `${namespace}/${pod}:${port}`), places);
  });
}

const missing: readonly (readonly [string, number, string, RegExp, number])[] = [
  ["web", 81, "refused", /port 81 of the Service dev\/web of lab: it has 80 \(http\)$/, 5],
  ["nothing.prod", 80, "name_not_found", /Cannot find the Service "prod\/nothing" in lab$/, 4],
  ["slow.prod", 80, "unreachable", /no ready endpoint \(2 not ready\)$/, 4],
  ["portless.prod", 80, "unreachable", /no ready endpoint \(no pod has the port "http"\)$/, 4],
  ["bare.prod", 80, "unreachable", /no ready endpoint \(the Service has no endpoints\)$/, 4],
  ["strange.prod", 80, "unreachable", /its endpoints are not pods/, 4],
  ["dns.prod", 54, "not_allowed", /port 54 of .*: it is a UDP port$/, 7],
  ["_dns._tcp.dns.prod.svc", 53, "not_allowed", /the port "dns" of .*: it is a UDP port$/, 7],
  ["_no._tcp.web.prod.svc", 80, "refused", /the port "no" of .*: it has 80 \(http\), 81 \(admin\)$/, 5],
  ["db-2.db.prod.svc", 5432, "unreachable", /no ready endpoint \(1 not ready\)$/, 4],
  ["db-9.db.prod.svc", 5432, "name_not_found", /Cannot find the endpoint "db-9" of/, 4],
  ["10.99.0.1", 80, "name_not_found", /no Service and no pod of lab has this address$/, 4],
  ["10-244-0-9.dev.pod", 80, "name_not_found", /no pod of the namespace "dev" of lab/, 4],
  ["192.0.2.7", 81, "refused", /prod\/b, prod\/c declare port 81$/, 5],
  ["192.0.2.7", 9, "refused", /prod\/a, prod\/b, prod\/c have this address, and none declares port 9$/, 5],
];

for (const [host, port, code, message, reply] of missing) {
  Deno.test(`findPlaces() explains why it cannot find ${host}:${port}`, async () => {
    const error = await find(host, port).then(() => undefined, (error) => error);
    assert.ok(isPosternError(error, code as "refused"), String(error));
    assert.match(error.message, message);
    assert.equal(socks5Reply(error), reply);
  });
}

Deno.test("findPlaces() leaves an ExternalName to the caller", async () => {
  const answer = await find("out.prod", 5432);
  assert.equal("externalName" in answer && answer.externalName, "db.example.com");
});

Deno.test("findPlaces() searches what is allowed, and names the missing right", async () => {
  const narrow = new FakeClusterView({ ...view.parts, pods: [], allowed: ["dev"] });
  assert.ok("places" in await find("web", 80, narrow));
  assert.ok("places" in await find("10.96.0.7", 80, narrow));
  await assert.rejects(find("web.prod", 80, narrow), {
    code: "not_allowed",
    message: /in the namespace "prod"/,
  });
  await assert.rejects(find("10.96.0.8", 80, narrow), { code: "not_allowed", message: /everywhere/ });
  // A Service in memory needs no further requests.
  const asked = narrow.asked.length;
  await find("10.96.0.7", 80, narrow);
  assert.equal(narrow.asked.length, asked);
});
