import assert from "node:assert/strict";
import type { CheckOptions } from "../../../src/egress/check_proxy_spec.ts";
import { checkProxySpec, type ProxySpec, readProxySpec } from "../../../src/egress/mod.ts";

interface Row {
  readonly id: string;
  readonly spec: ProxySpec;
  readonly options?: CheckOptions;
  /** `field reason` of each. */
  readonly problems?: readonly string[];
  readonly warnings?: readonly string[];
}

const inside = ["172.30.0.0/16", "10.128.0.0/14", "fd01::/48", "100.64.0.0/16"];
const rows: readonly Row[] = [
  { id: "takes an empty spec", spec: {} },
  { id: "refuses a list alone", spec: { noProxy: "a.com" }, problems: ["noProxy ProxyMissing"] },
  {
    id: "refuses https:// as httpProxy",
    spec: { httpProxy: "https://p" },
    problems: ["httpProxy SchemeNotAllowed"],
  },
  { id: "takes httpsProxy alone, of http://", spec: { httpsProxy: "http://p" } },
  {
    id: "reports every bad field",
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
  { id: "takes blanks around items", spec: { httpProxy: "http://p", noProxy: "a.com, b.com" } },
  {
    id: "takes * with a warning",
    spec: { httpProxy: "http://p", noProxy: "*" },
    warnings: ["noProxy EverythingDirect"],
  },
  {
    id: "warns of what matches nothing",
    spec: { httpProxy: "http://p", noProxy: "999.999.999.999" },
    warnings: ["noProxy MatchesNothing"],
  },
  {
    id: "refuses a URL without a host",
    spec: { httpProxy: "http://" },
    problems: ["httpProxy HostMissing"],
  },
  ...["10.129.0.1", "172.30.4.4", "100.64.3.2"].map((address) => ({
    id: `refuses a proxy at ${address}, inside of the cluster`,
    spec: { httpProxy: `http://${address}:3128` },
    options: { clusterNetworks: inside },
    problems: ["httpProxy ProxyInsideCluster"],
  })),
  {
    id: "refuses an IPv6 proxy inside of the cluster",
    spec: { httpsProxy: "http://[fd01::9]:3128" },
    options: { clusterNetworks: inside },
    problems: ["httpsProxy ProxyInsideCluster"],
  },
  {
    id: "takes a proxy outside",
    spec: { httpProxy: "http://10.0.0.1:3128" },
    options: { clusterNetworks: inside },
  },
  {
    id: "warns of a proxy that its own list names",
    spec: {
      httpProxy: "http://proxy.corp.test:3128",
      httpsProxy: "http://10.1.1.1:1",
      noProxy: "corp.test,10.0.0.0/8",
    },
    warnings: ["httpProxy ProxyListed", "httpsProxy ProxyListed"],
  },
  {
    id: "refuses an http endpoint that no proxy would carry",
    spec: { httpsProxy: "http://p", readinessEndpoints: ["http://a.test", "https://a.test"] },
    problems: ["readinessEndpoints.0 EndpointWithoutProxy"],
  },
  {
    id: "warns of an endpoint in the list",
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
    id: "warns of endpoints without any proxy",
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

Deno.test("readProxySpec() names every field of another type", () => {
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

Deno.test("readProxySpec() takes an empty CA name for none", () => {
  assert.deepEqual(readProxySpec({ trustedCA: { name: "" } }), { spec: {}, problems: [] });
  assert.deepEqual(readProxySpec({ trustedCA: { name: "ca" } }).spec, { trustedCA: { name: "ca" } });
  assert.deepEqual(readProxySpec(undefined), { spec: {}, problems: [] });
});
