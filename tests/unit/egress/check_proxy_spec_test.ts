import assert from "node:assert/strict";
import type { CheckOptions } from "../../../src/egress/check_proxy_spec.ts";
import { checkProxySpec, type ProxySpec, readProxySpec } from "../../../src/egress/mod.ts";

interface Row {
  readonly id: string;
  readonly spec: ProxySpec;
  readonly options?: CheckOptions;
  /** Each as `field reason`. */
  readonly problems?: readonly string[];
  readonly warnings?: readonly string[];
}

const inside = ["172.30.0.0/16", "10.128.0.0/14", "fd01::/48", "100.64.0.0/16"];
const rows: readonly Row[] = [
  { id: "accepts an empty spec", spec: {} },
  {
    id: "rejects a noProxy list without a proxy",
    spec: { noProxy: "a.com" },
    problems: ["noProxy ProxyMissing"],
  },
  {
    id: "rejects https:// as httpProxy",
    spec: { httpProxy: "https://p" },
    problems: ["httpProxy SchemeNotAllowed"],
  },
  { id: "accepts only an httpsProxy, with http://", spec: { httpsProxy: "http://p" } },
  {
    id: "reports every invalid field",
    spec: {
      httpProxy: "p",
      httpsProxy: "https://",
      noProxy: "*.x,Y",
      readinessEndpoints: ["ftp://x", "http://ok"],
    },
    problems: [
      "noProxy NoProxyItem",
      "noProxy NoProxyItem",
      "httpProxy UrlMalformed",
      "httpsProxy HostMissing",
      "readinessEndpoints.0 EndpointMalformed",
    ],
  },
  { id: "accepts spaces around items", spec: { httpProxy: "http://p", noProxy: "a.com, b.com" } },
  {
    id: "accepts * with a warning",
    spec: { httpProxy: "http://p", noProxy: "*" },
    warnings: ["noProxy EverythingDirect"],
  },
  {
    id: "warns about an item that matches nothing",
    spec: { httpProxy: "http://p", noProxy: "999.999.999.999" },
    warnings: ["noProxy MatchesNothing"],
  },
  {
    id: "rejects a URL without a host",
    spec: { httpProxy: "http://" },
    problems: ["httpProxy HostMissing"],
  },
  ...["10.129.0.1", "172.30.4.4", "100.64.3.2"].map((address) => ({
    id: `rejects a proxy at ${address}, inside the cluster`,
    spec: { httpProxy: `http://${address}:3128` },
    options: { clusterNetworks: inside },
    problems: ["httpProxy ProxyInsideCluster"],
  })),
  {
    id: "rejects an IPv6 proxy inside the cluster",
    spec: { httpsProxy: "http://[fd01::9]:3128" },
    options: { clusterNetworks: inside },
    problems: ["httpsProxy ProxyInsideCluster"],
  },
  {
    id: "accepts a proxy outside the cluster",
    spec: { httpProxy: "http://10.0.0.1:3128" },
    options: { clusterNetworks: inside },
  },
  {
    id: "warns about a proxy that noProxy lists",
    spec: {
      httpProxy: "http://proxy.corp.test:3128",
      httpsProxy: "http://10.1.1.1:1",
      noProxy: "corp.test,10.0.0.0/8",
    },
    warnings: ["httpProxy ProxyListed", "httpsProxy ProxyListed"],
  },
  {
    id: "rejects an http endpoint without httpProxy",
    spec: { httpsProxy: "http://p", readinessEndpoints: ["http://a.test", "https://a.test"] },
    problems: ["readinessEndpoints.0 EndpointWithoutProxy"],
  },
  {
    id: "warns about an endpoint that noProxy lists",
    spec: {
      httpProxy: "http://p",
      noProxy: "a.test",
      readinessEndpoints: ["http://x.a.test", "https://a.test:8443/x", "http://b.test", "http://localhost"],
    },
    warnings: [
      "readinessEndpoints.0 EndpointListed",
      "readinessEndpoints.1 EndpointListed",
      "readinessEndpoints.3 EndpointListed",
    ],
  },
  {
    id: "warns about endpoints without a proxy",
    spec: { readinessEndpoints: ["http://a.test"] },
    warnings: ["readinessEndpoints NeverProbed"],
  },
];

for (const { id, spec, options, problems = [], warnings = [] } of rows) {
  Deno.test(`${id} (checkProxySpec)`, () => {
    const report = checkProxySpec(spec, options);
    const short = (list: typeof report.problems) =>
      list.map(({ path, reason }) => `${path.slice(1).join(".")} ${reason}`);
    assert.deepEqual(short(report.problems), problems);
    assert.deepEqual(short(report.warnings), warnings);
  });
}

Deno.test("readProxySpec() reports every field with a wrong type", () => {
  const { spec, problems } = readProxySpec({
    httpProxy: 1,
    httpsProxy: null,
    noProxy: ["a"],
    readinessEndpoints: ["http://a.test", 2],
    trustedCA: "x",
  });
  assert.deepEqual(spec, { readinessEndpoints: ["http://a.test"] });
  assert.deepEqual(problems.map(({ path }) => path.join(".")), [
    "spec.httpProxy",
    "spec.noProxy",
    "spec.readinessEndpoints.1",
    "spec.trustedCA",
  ]);
});

Deno.test("readProxySpec() treats an empty CA name as none", () => {
  assert.deepEqual(readProxySpec({ trustedCA: { name: "" } }), { spec: {}, problems: [] });
  assert.deepEqual(readProxySpec({ trustedCA: { name: "ca" } }).spec, { trustedCA: { name: "ca" } });
  assert.deepEqual(readProxySpec(undefined), { spec: {}, problems: [] });
});
