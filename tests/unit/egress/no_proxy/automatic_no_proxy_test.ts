import assert from "node:assert/strict";
import {
  acceptedStatus,
  automaticNoProxy,
  type AutomaticSettings,
  mergedNoProxy,
  type PlatformFacts,
  readInfrastructure,
  readInstallFacts,
  readNetwork,
} from "../../../../src/egress/mod.ts";
import type { InfrastructureFacts } from "../../../../src/egress/platform_facts.ts";

interface Row {
  readonly id: string;
  readonly platformStatus?: unknown;
  readonly internalApi?: string;
  readonly topology?: string;
  readonly networking?: unknown;
  readonly clusterNetwork?: string;
  readonly settings?: AutomaticSettings;
  readonly user?: string;
  readonly noProxy?: string;
  readonly problems?: readonly RegExp[];
  readonly warnings?: readonly RegExp[];
}

const base = ".cluster.local,.svc,10.0.0.0/16,10.128.0.0/14,127.0.0.1,172.30.0.0/16,192.168.7.0/24," +
  "api-int.c.example.com,fd00::/64,localhost";
const after = (entry: string, added: string) => base.replace(`${entry},`, `${entry},${added},`);
const withMetadata = after("127.0.0.1", "169.254.169.254");
const withAzure = after("127.0.0.1", "168.63.129.16,169.254.169.254");

const rows: readonly Row[] = [
  ...["None", "BareMetal", "VSphere"].map((type) => ({
    id: `${type}`,
    platformStatus: { type },
    noProxy: base,
  })),
  { id: "no platform status", noProxy: base },
  {
    id: "AWS us-west-2",
    platformStatus: { type: "AWS", aws: { region: "us-west-2" } },
    noProxy: withMetadata.replace(".svc,", ".svc,.us-west-2.compute.internal,"),
  },
  {
    id: "AWS us-east-1",
    platformStatus: { type: "AWS", aws: { region: "us-east-1" } },
    noProxy: withMetadata.replace(".svc,", ".ec2.internal,.svc,"),
  },
  {
    id: "AWS without a region",
    platformStatus: { type: "AWS", aws: {} },
    noProxy: `..compute.internal,${withMetadata}`,
    warnings: [/AWS region is empty/],
  },
  {
    id: "GCP",
    platformStatus: { type: "GCP", gcp: {} },
    noProxy: `${withMetadata},metadata,metadata.google.internal,metadata.google.internal.`,
  },
  {
    id: "Azure public",
    platformStatus: { type: "Azure", azure: { cloudName: "AzurePublicCloud" } },
    noProxy: withMetadata,
  },
  { id: "OpenStack", platformStatus: { type: "OpenStack" }, noProxy: withMetadata },
  {
    id: "Azure US government",
    platformStatus: { type: "Azure", azure: { cloudName: "AzureUSGovernmentCloud" } },
    noProxy: withAzure,
  },
  {
    id: "Azure with an empty cloud name",
    platformStatus: { type: "Azure", azure: {} },
    noProxy: withAzure,
  },
  {
    id: "Azure Stack",
    platformStatus: {
      type: "Azure",
      azure: { cloudName: "AzureStackCloud", armEndpoint: "https://management.local.azurestack.external" },
    },
    noProxy: withAzure.replace("fd00::/64,", "fd00::/64,https://management.local.azurestack.external,"),
    warnings: [/full URL, which no client matches/],
  },
  {
    id: "trimmed user items",
    user: "b.com, a.com",
    networking: {},
    noProxy:
      ".cluster.local,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,a.com,api-int.c.example.com,b.com,localhost",
  },
  { id: "no duplicates", user: "localhost,.svc,x.com,x.com", noProxy: `${base},x.com` },
  {
    id: "byte order",
    user: "Z.com,a.com,9.9.9.9,_x,.z,::1",
    noProxy:
      ".cluster.local,.svc,.z,10.0.0.0/16,10.128.0.0/14,127.0.0.1,172.30.0.0/16,192.168.7.0/24,9.9.9.9,::1," +
      "Z.com,_x,a.com,api-int.c.example.com,fd00::/64,localhost",
  },
  {
    id: "an invalid machine network and an empty one",
    networking: { machineNetwork: [{ cidr: "nonsense" }, {}, { cidr: "10.0.0.0/16" }] },
    problems: [/machineNetwork\[0\].*not a network: "nonsense"/, /machineNetwork\[1\].*is empty/],
  },
  {
    id: "machine network 0.0.0.0/0 is dropped",
    networking: { machineCIDR: "0.0.0.0/0", machineNetwork: [{ cidr: "0.0.0.0/0" }] },
    noProxy: ".cluster.local,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,api-int.c.example.com,localhost",
  },
  {
    id: "machine network ::/0 is kept",
    networking: { machineNetwork: [{ cidr: "::/0" }] },
    noProxy: ".cluster.local,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,::/0,api-int.c.example.com,localhost",
    warnings: [/::\/0, every IPv6 address bypasses the proxy/],
  },
  { id: "internal API URL empty", internalApi: "", problems: [/apiServerInternalURI.*is empty/] },
  {
    id: "internal API URL without a scheme",
    internalApi: "api-int.c.example.com:6443",
    noProxy: `,${base.replace("api-int.c.example.com,", "")}`,
    warnings: [/has no host/],
  },
  {
    id: "internal API at an IPv6 address",
    internalApi: "https://[fd00::1]:6443",
    noProxy: base.replace("api-int.c.example.com,fd00::/64", "fd00::/64,fd00::1"),
  },
  { id: "* alone", user: "*", noProxy: "*" },
  {
    id: "the cluster network grows",
    clusterNetwork: "10.128.0.0/13",
    noProxy: base.replace("10.128.0.0/14", "10.128.0.0/13"),
  },
  {
    id: "a hosted control plane that reaches the API through the proxy",
    topology: "External",
    settings: { proxiesInternalApi: true },
    noProxy: base.replace(".cluster.local,", ".cluster.local,.hypershift.local,").replace(
      "api-int.c.example.com,",
      "",
    ),
  },
  {
    id: "AWS without the AWS section",
    platformStatus: { type: "AWS" },
    problems: [/platformStatus\.aws.*is missing/],
  },
  {
    id: "Azure without the Azure section",
    platformStatus: { type: "Azure" },
    problems: [/platformStatus\.azure.*is missing/],
  },
  {
    id: "etcdNames adds the members' names",
    settings: { etcdNames: true },
    noProxy: base.replace(
      "fd00::/64",
      "etcd-0.c.example.com,etcd-1.c.example.com,etcd-2.c.example.com,fd00::/64",
    ),
  },
  {
    id: "exclude removes an automatic entry, but not the user's",
    settings: { exclude: [".svc", "127.0.0.1", "nowhere.test"] },
    user: "127.0.0.1",
    noProxy: base.replace(".svc,", ""),
    warnings: [/"nowhere\.test", which is not an automatic entry/],
  },
];

for (const row of rows) {
  Deno.test(`automaticNoProxy(): ${row.id}`, () => {
    const { user = "", problems = [], warnings = [] } = row;
    const automatic = automaticNoProxy(factsOf(row), row.settings);
    assert.equal(automatic.problems.length, problems.length, automatic.problems.join("; "));
    problems.forEach((says, index) => assert.match(automatic.problems[index] ?? "", says));
    assert.equal(automatic.warnings.length, warnings.length, automatic.warnings.join("; "));
    warnings.forEach((says, index) => assert.match(automatic.warnings[index] ?? "", says));
    if (row.noProxy !== undefined) assert.equal(mergedNoProxy(user, automatic.entries), row.noProxy);
    else assert.deepEqual(automatic.entries, []);
  });
}

Deno.test("automaticNoProxy() reports every missing fact", () => {
  const infrastructure: InfrastructureFacts = { internalApi: "", platform: "AWS", isHosted: false };
  const { problems } = automaticNoProxy({
    infrastructure,
    network: { serviceNetworks: [], clusterNetworks: [] },
    install: { machineNetworks: [""] },
  });
  assert.equal(problems.length, 5);
});

Deno.test("acceptedStatus() without a proxy has three empty values", () => {
  const empty = { httpProxy: "", httpsProxy: "", noProxy: "" };
  assert.deepEqual(acceptedStatus({}, ["a"]), empty);
  assert.deepEqual(acceptedStatus({ readinessEndpoints: ["http://x"] }, ["a"]), empty);
});

Deno.test("acceptedStatus() has the requested proxy and the merged list", () => {
  assert.deepEqual(acceptedStatus({ httpsProxy: "http://p", noProxy: "b, a" }, ["a", "c"]), {
    httpProxy: "",
    httpsProxy: "http://p",
    noProxy: "a,b,c",
  });
  assert.equal(acceptedStatus({ httpProxy: "http://p", noProxy: "*" }, ["a"]).noProxy, "*");
});

Deno.test("readInfrastructure(), readNetwork() and readInstallFacts() accept any value", () => {
  for (const value of [undefined, null, 1, "x", [], {}, { status: 1 }, { status: { platformStatus: [] } }]) {
    assert.deepEqual(readInfrastructure(value), { internalApi: "", isHosted: false });
    assert.deepEqual(readNetwork(value), { serviceNetworks: [], clusterNetworks: [] });
    assert.deepEqual(readInstallFacts(value), { machineNetworks: [] });
  }
});

function factsOf(row: Row): PlatformFacts {
  const { internalApi = "https://api-int.c.example.com:6443", clusterNetwork = "10.128.0.0/14" } = row;
  const networking = {
    machineNetwork: [{ cidr: "10.0.0.0/16" }, { cidr: "192.168.7.0/24" }, { cidr: "fd00::/64" }],
  };
  return {
    infrastructure: readInfrastructure({
      status: {
        apiServerInternalURI: internalApi,
        ...(row.platformStatus !== undefined && { platformStatus: row.platformStatus }),
        ...(row.topology !== undefined && { controlPlaneTopology: row.topology }),
      },
    }),
    network: readNetwork({
      status: {
        serviceNetwork: ["172.30.0.0/16"],
        clusterNetwork: [{ cidr: clusterNetwork, hostPrefix: 23 }],
      },
    }),
    install: readInstallFacts({ networking: row.networking ?? networking }),
  };
}
