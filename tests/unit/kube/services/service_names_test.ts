import assert from "node:assert/strict";
import { contextLabels, findContext } from "../../../../src/kube/config/context_names.ts";
import {
  type ClusterName,
  dashedAddress,
  parseServiceName,
} from "../../../../src/kube/services/service_names.ts";

const options = { namespace: "dev", clusterDomain: "cluster.local" };
const service = (service: string, namespace: string, port?: string): ClusterName => ({
  kind: "service",
  namespace,
  service,
  ...(port !== undefined && { port }),
});
const endpoint = (endpoint: string, service: string, namespace: string): ClusterName => ({
  kind: "endpoint",
  namespace,
  service,
  endpoint,
});
const address = (ip: string): ClusterName => ({ kind: "address", ip });
const pod = (ip: string, namespace: string): ClusterName => ({ kind: "pod", namespace, ip });

const names: readonly (readonly [string, ClusterName | undefined])[] = [
  ["10.1", address("10.0.0.1")],
  ["0xa.1.", address("10.0.0.1")],
  ["web", service("web", "dev")],
  ["web.prod", service("web", "prod")],
  ["web.prod.svc", service("web", "prod")],
  ["web.prod.svc.cluster.local", service("web", "prod")],
  ["web.prod.svc.cluster.local.", service("web", "prod")],
  ["WEB.Prod.SVC", service("web", "prod")],
  ["Web.PROD.svc.Cluster.LOCAL.", service("web", "prod")],
  ["web.svc", service("web", "svc")],
  ["svc.svc.svc", service("svc", "svc")],
  ["1-web.2", service("1-web", "2")],
  ["_http._tcp.web.prod.svc.cluster.local", service("web", "prod", "http")],
  ["_http._udp.web.prod.svc", undefined],
  ["_http.web.prod.svc", undefined],
  ["db-0.db.prod.svc.cluster.local", endpoint("db-0", "db", "prod")],
  ["db-0.db.prod.svc", endpoint("db-0", "db", "prod")],
  ["10-1-2-3.web.prod.svc", endpoint("10-1-2-3", "web", "prod")],
  ["10-1-2-3.prod.pod.cluster.local", pod("10.1.2.3", "prod")],
  ["10-1-2-3.prod.pod", pod("10.1.2.3", "prod")],
  ["fd00-244--7.prod.pod", pod("fd00:244::7", "prod")],
  ["10-1-2-300.prod.pod", undefined],
  ["10.96.0.7", address("10.96.0.7")],
  ["::ffff:10.96.0.7", address("10.96.0.7")],
  ["FD00::0:7", address("fd00::7")],
  // Without a suffix, names end with the cluster's domain.
  ["web.prod.svc.example.com", undefined],
  ["web.prod.svc.cluster.local.example.com", undefined],
  ["web.prod.cluster.local", undefined],
  ["prod.svc.cluster.local", undefined],
  ["cluster.local", service("cluster", "local")],
  ["www.example.com", undefined],
  ["a.b.c.d.prod.svc", undefined],
  ["web..svc", undefined],
  ["-web.prod", undefined],
  ["we_b.prod", undefined],
  ["", undefined],
  [".", undefined],
  [`${"a".repeat(64)}.prod`, undefined],
  [`${"a.".repeat(130)}svc`, undefined],
];

for (const [name, means] of names) {
  Deno.test(`parseServiceName() reads ${JSON.stringify(name.slice(0, 60))}`, () => {
    assert.deepEqual(parseServiceName(name, options), means);
  });
}

const suffixed: readonly (readonly [string, ClusterName | undefined])[] = [
  ["web.lab.internal", service("web", "dev")],
  ["web.shop.lab.internal", service("web", "shop")],
  ["WEB.shop.svc.LAB.internal.", service("web", "shop")],
  ["web.shop.svc.k8s.example.lab.internal", service("web", "shop")],
  ["db-0.db.shop.lab.internal", endpoint("db-0", "db", "shop")],
  ["_http._tcp.web.shop.lab.internal", service("web", "shop", "http")],
  ["a.b.c.d.lab.internal", undefined],
  // Names without the suffix also belong to this cluster if a rule routes them here.
  ["web.shop.svc.k8s.example", service("web", "shop")],
  ["web.shop.svc.cluster.local", undefined],
  ["lab.internal", service("lab", "internal")],
  ["xlab.internal", service("xlab", "internal")],
];

for (const [name, means] of suffixed) {
  Deno.test(`parseServiceName() strips the suffix of ${name}`, () => {
    const own = { namespace: "dev", clusterDomain: "K8s.example", suffix: "lab.internal" };
    assert.deepEqual(parseServiceName(name, own), means);
  });
}

Deno.test("dashedAddress() reads both families and nothing else", () => {
  assert.deepEqual(
    ["10-1-2-3", "2001-db8--7", "0--1", "10-1-2", "web-0", "10-1-2-3-4", ""].map(dashedAddress),
    ["10.1.2.3", "2001:db8::7", "::1", undefined, undefined, undefined, undefined],
  );
});

Deno.test("findContext() finds the context at the end of a name; the longest wins", () => {
  const contexts = ["lab", "prod.lab", "arn:aws:eks:eu-1:42:cluster/Web", "a@b", "a/b", "", "@"];
  assert.deepEqual(contexts.map(contextLabels), [
    ...["lab", "prod.lab", "arn-aws-eks-eu-1-42-cluster-web", "a-b", "a-b", "", ""],
  ]);
  const cases: readonly (readonly [string, readonly [string, string] | undefined])[] = [
    ["web.shop.lab", ["lab", "web.shop"]],
    ["web.Lab", ["lab", "web"]],
    ["web.shop.prod.lab", ["prod.lab", "web.shop"]],
    ["web.arn-aws-eks-eu-1-42-cluster-web", ["arn:aws:eks:eu-1:42:cluster/Web", "web"]],
    ["web.a-b", undefined],
    ["web.other", undefined],
    ["lab", undefined],
    ["xlab", undefined],
  ];
  for (const [name, found] of cases) {
    assert.deepEqual(findContext(name, contexts), found && { context: found[0], name: found[1] }, name);
  }
});
