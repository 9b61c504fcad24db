import assert from "node:assert/strict";
import { makeEgressKinds } from "../support/egress_kinds.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { peerTest } from "../support/peers.ts";

const group = "/apis/config.openshift.io/v1";
const condition = {
  type: "Accepted",
  status: "True",
  observedGeneration: 1,
  lastTransitionTime: "2026-01-02T03:04:05Z",
  reason: "AsExpected",
  message: "",
};

peerTest("A cluster takes the kinds of the egress manifests", ["kubernetes"], async ({ kubernetes }, t) => {
  await using cluster = await KubeCluster.start(kubernetes);
  await makeEgressKinds(cluster);

  await t.step("the API server reports no problem in them", async () => {
    const { items } = await cluster.json(
      "GET",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ) as {
      items: { metadata: { name: string }; status: { conditions: { type: string; status: string }[] } }[];
    };
    assert.deepEqual(items.map(({ metadata }) => metadata.name), [
      "infrastructures.config.openshift.io",
      "networks.config.openshift.io",
      "proxies.config.openshift.io",
    ]);
    for (const { metadata, status } of items) {
      const failed = status.conditions.filter(({ type }) => type === "NonStructuralSchema");
      assert.deepEqual(failed, [], metadata.name);
    }
  });

  await t.step(
    "Proxy accepts the same values as on OpenShift, even wrong ones, and no other fields",
    async () => {
      const spec = {
        httpProxy: "not an address",
        httpsProxy: "",
        noProxy: "*.a,,",
        readinessEndpoints: ["", "ftp://x"],
        trustedCA: { name: "" },
      };
      const make = (name: string, spec: unknown) =>
        cluster.json("POST", `${group}/proxies?fieldValidation=Strict`, {
          apiVersion: "config.openshift.io/v1",
          kind: "Proxy",
          metadata: { name },
          spec,
        });
      await make("cluster", spec);
      await assert.rejects(make("other", { trustedCA: {} }), /spec.trustedCA.name: Required/);
      await assert.rejects(make("other", { more: 1 }), /unknown field .*spec.more/);
      const made = await cluster.json("GET", `${group}/proxies/cluster`);
      assert.deepEqual((made as { spec: unknown }).spec, spec);
    },
  );

  await t.step("its status is a subresource with conditions", async () => {
    const status = { httpProxy: "http://p:3128", conditions: [condition] };
    const { status: kept, spec } = await patchStatus(cluster, "proxies", status);
    assert.deepEqual(kept, status);
    assert.equal((spec as { httpProxy: string }).httpProxy, "not an address");
  });

  await t.step("OpenShift's own kinds silently drop the conditions", async () => {
    await makeEgressKinds(cluster, { keepsConditions: false });
    const status = { httpProxy: "http://q:3128", conditions: [condition] };
    // The server briefly keeps the former definition.
    let kept: unknown;
    do ({ status: kept } = await patchStatus(cluster, "proxies", status)); while (
      typeof kept === "object" && kept !== null && "conditions" in kept
    );
    assert.deepEqual(kept, { httpProxy: "http://q:3128" });
  });

  await t.step("Infrastructure has a status subresource, Network does not", async () => {
    const networks = {
      clusterNetwork: [{ cidr: "10.128.0.0/14", hostPrefix: 23 }],
      serviceNetwork: ["172.30.0.0/16"],
    };
    const made = await cluster.json("POST", `${group}/networks`, {
      apiVersion: "config.openshift.io/v1",
      kind: "Network",
      metadata: { name: "cluster" },
      spec: { ...networks, networkType: "OVNKubernetes" },
      status: { ...networks, clusterNetworkMTU: 1400 },
    });
    assert.deepEqual((made as { status: unknown }).status, { ...networks, clusterNetworkMTU: 1400 });

    await cluster.json("POST", `${group}/infrastructures`, {
      apiVersion: "config.openshift.io/v1",
      kind: "Infrastructure",
      metadata: { name: "cluster" },
      spec: { platformSpec: { type: "Azure", azure: {} } },
    });
    const status = {
      apiServerInternalURI: "https://api-int.c.example.com:6443",
      platformStatus: {
        type: "Azure",
        azure: {
          cloudName: "AzureStackCloud",
          armEndpoint: "https://management.example.com",
          resourceTags: [],
        },
        openstack: { cloudName: "openstack" },
      },
    };
    const { status: kept } = await patchStatus(cluster, "infrastructures", status);
    assert.deepEqual(kept, {
      ...status,
      controlPlaneTopology: "HighlyAvailable",
      infrastructureTopology: "HighlyAvailable",
      cpuPartitioning: "None",
    });
    await assert.rejects(
      patchStatus(cluster, "infrastructures", { platformStatus: { type: "Mainframe" } }),
      /Unsupported value: .*Mainframe/,
    );
  });
});

async function patchStatus(
  cluster: KubeCluster,
  plural: string,
  status: unknown,
): Promise<{ spec: unknown; status: unknown }> {
  return await cluster.json(
    "PATCH",
    `${group}/${plural}/cluster/status`,
    { status },
    "application/merge-patch+json",
  ) as { spec: unknown; status: unknown };
}
