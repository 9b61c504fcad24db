import assert from "node:assert/strict";
import {
  automaticNoProxy,
  checkProxySpec,
  mergedNoProxy,
  readCaBundle,
  readInstallConfig,
} from "../../../src/egress/mod.ts";
import { testTls } from "../../support/tls_files.ts";

const proxy = { httpProxy: "http://proxy.test:3128" };
const cluster = { baseDomain: "example.com", metadata: { name: "c" } };

Deno.test("readInstallConfig() provides the facts for the no-proxy list before the cluster exists", () => {
  const { spec, facts } = readInstallConfig({
    ...cluster,
    proxy: { ...proxy, noProxy: "corp.test" },
    platform: { aws: { region: "us-west-2" } },
    networking: {
      machineNetwork: [{ cidr: "10.0.0.0/16" }, { cidr: "192.168.7.0/24" }, { cidr: "fd00::/64" }],
    },
  });
  // Equals the list in the cluster, with the installer's default networks.
  assert.equal(
    mergedNoProxy(spec.noProxy ?? "", automaticNoProxy(facts).entries),
    ".cluster.local,.svc,.us-west-2.compute.internal,10.0.0.0/16,10.128.0.0/14,127.0.0.1,169.254.169.254," +
      "172.30.0.0/16,192.168.7.0/24,api-int.c.example.com,corp.test,fd00::/64,localhost",
  );
});

const platforms = [
  [{ none: {} }, "None"],
  [{ baremetal: {} }, "BareMetal"],
  [{ vsphere: {} }, "VSphere"],
  [{ gcp: { projectID: "p" } }, "GCP"],
  [{ azure: { region: "x" } }, "Azure"],
  [{ openstack: {} }, "OpenStack"],
  [{ novel: {} }, "novel"],
] as const;
for (const [platform, name] of platforms) {
  Deno.test(`readInstallConfig() maps ${JSON.stringify(platform)} to ${name}`, () => {
    const { facts } = readInstallConfig({ ...cluster, platform });
    assert.equal(facts.infrastructure.platform, name);
    assert.deepEqual(automaticNoProxy(facts).problems, []);
  });
}

for (const address of ["10.128.0.9", "172.30.0.9", "100.64.0.9", "[fd98::9]"]) {
  Deno.test(`a proxy at ${address} is inside the future cluster`, () => {
    const { spec, clusterNetworks } = readInstallConfig({
      ...cluster,
      proxy: { httpProxy: `http://${address}:3128` },
    });
    const { problems } = checkProxySpec(spec, { clusterNetworks });
    assert.deepEqual(problems.map(({ reason }) => reason), ["ProxyInsideCluster"]);
  });
}

const wired = [
  { name: "a proxy", config: { proxy }, wires: true },
  { name: "no proxy", config: {}, wires: false },
  { name: "no proxy, and the policy Always", config: { additionalTrustBundlePolicy: "Always" }, wires: true },
];
for (const { name, config, wires } of wired) {
  Deno.test(`readInstallConfig() ${wires ? "wires" : "does not wire"} the bundle with ${name}`, () => {
    const { spec, trustBundle } = readInstallConfig({ ...config, additionalTrustBundle: testTls.ca });
    assert.equal(trustBundle, testTls.ca);
    assert.deepEqual(spec.trustedCA, wires ? { name: "user-ca-bundle" } : undefined);
  });
}

Deno.test("readCaBundle() rejects text after the last block where the installer does", async () => {
  const now = new Date("2030-01-01");
  const text = `${testTls.ca}words\n`;
  assert.deepEqual((await readCaBundle(text, { now })).problems, []);
  const { problems } = await readCaBundle(text, { now, refusesTextBehind: true });
  assert.deepEqual(problems.map(({ reason }) => reason), ["TextBehind"]);
  assert.deepEqual(
    (await readCaBundle(`# x\n${testTls.ca}\n\n`, { now, refusesTextBehind: true })).problems,
    [],
  );
});

for (const value of [undefined, null, 1, [], { proxy: 1, networking: 2, platform: [], metadata: "x" }]) {
  Deno.test(`readInstallConfig() accepts ${JSON.stringify(value)}`, () => {
    const { facts, clusterNetworks } = readInstallConfig(value);
    assert.equal(facts.infrastructure.internalApi, "");
    assert.deepEqual(clusterNetworks, ["10.128.0.0/14", "172.30.0.0/16", "100.64.0.0/16", "fd98::/64"]);
  });
}
