import assert from "node:assert/strict";
import { KubeCluster } from "../support/kube_cluster.ts";
import { service } from "../support/kube_objects.ts";
import { Manifests } from "../support/manifests.ts";
import { freePort, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { assertJustEnough, Audit, rightsOf } from "../support/rights.ts";

const namespace = "konnectivity-agent";

peerTest(
  "The rights of the Konnectivity manifests are enough, and none is more than is used",
  ["kubectl", "kubernetes", "curl"],
  async ({ kubectl, kubernetes, curl }, t) => {
    await using audit = await Audit.create();
    // An API server that streams its lists is never asked for one; the others are.
    const apiOptions = [...audit.apiOptions, "--feature-gates=WatchList=false"];
    await using cluster = await KubeCluster.start(kubernetes, { apiOptions });
    await using manifests = await Manifests.create(kubectl);
    await using home = await Household.open();
    await cluster.namespace(namespace);
    const kubeconfigOf = async (account: string) => {
      const token = await cluster.serviceAccountToken(namespace, account);
      return await cluster.writeKubeconfig({ name: account, token });
    };
    const certs = `${manifests.directory}/konnectivity/examples/servers/certs`;

    await t.step("of the sidecar", async () => {
      const objects = await manifests.render("konnectivity/sidecar-rights");
      await cluster.apply(...objects, service({ name: "catalog", ports: [{ port: 80 }] }));
      const sidecar = home.start([
        ...[
          "konnectivity",
          "socks5",
          `--konnectivity-port=${freePort()}`,
          "--konnectivity-hostname=127.0.0.1",
        ],
        ...[`--ca-cert-path=${certs}/frontend/issued/ca.crt`, `--serving-port=${freePort()}`],
        `--tls-cert-path=${certs}/frontend/issued/proxy-client.crt`,
        `--tls-key-path=${certs}/frontend/private/proxy-client.key`,
        `--kubeconfig=${await kubeconfigOf("konnectivity-sidecar")}`,
      ]);
      const address = await sidecar.address();
      // There is no server: what the name means is known before one is asked.
      const { stderr } = await runPeer(curl, [
        "-sS",
        "-x",
        `socks5h://${address}`,
        "http://catalog.default.svc/",
      ]);
      assert.match(stderr, /SOCKS5/);
      sidecar.kill("SIGTERM");
      await sidecar.ended;
      assert.match(sidecar.stderr, /catalog/);
      const account = `${namespace}:konnectivity-sidecar`;
      assertJustEnough(rightsOf(objects, account), await audit.asked(account));
    });
  },
);
