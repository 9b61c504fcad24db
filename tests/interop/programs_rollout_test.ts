import assert from "node:assert/strict";
import type { KubeCluster } from "../support/kube_cluster.ts";
import { DatabaseServer, postgresPeers } from "../support/databases.ts";
import { KubeHome } from "../support/kube_instance.ts";
import { type KubeObject, service } from "../support/kube_objects.ts";
import { eventuallyInCluster } from "../support/kube_processes.ts";
import { isLongRun } from "../support/long_runs.ts";
import { freePort, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { RawClient } from "../support/raw_client.ts";
import { copyBetween, TargetServer } from "../support/target_server.ts";

// A real Deployment whose pods are connection poolers in front of one PostgreSQL. A replaced pod drains, as
// PgBouncer does: it refuses new connections, and its clients finish.

peerTest(
  "pgbench loses no transaction while a Deployment is rolled out",
  [...postgresPeers, "kubernetes", "curl", "pgbench"],
  async (peers) => {
    await using stack = new AsyncDisposableStack();
    const kube = stack.use(await KubeHome.open(peers));
    const postgres = stack.use(await DatabaseServer.postgres(peers));
    const { cluster, home } = kube;
    const pooler = () =>
      stack.use(
        new TargetServer(async (client) => {
          using behind = await RawClient.connect(postgres.address);
          await copyBetween(client, behind);
        }),
      );
    let current = pooler();
    await cluster.apply(
      deployment(current.address),
      service({ name: "db", selector: { app: "db" }, ports: [{ port: 5432 }] }),
    );
    await cluster.untilReady("default", "db");
    const port = freePort();
    await home.configure(`
listen: { forward: { "127.0.0.1:${port}": "db.default.svc:5432" } }
transports: { lab: { kubernetes: { kubeconfig: ${await cluster.writeKubeconfig()} } } }
routes: [{ to: .svc, via: lab }]
`);
    const instance = stack.use(await home.instance());
    const where = ["-h", "127.0.0.1", "-p", `${port}`, "-U", "app"];
    const pgbench = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await runPeer(peers.pgbench, [...where, ...args, "shop"], {
        env: { HOME: home.directory },
      });
      assert.equal(code, 0, `${stderr}${stdout}\n${instance.stderr}`);
      return stdout;
    };
    await pgbench("--initialize", "--quiet");
    const seconds = isLongRun() ? 60 : 6;
    const usual = ["--no-vacuum", "--client=8", "--jobs=2", `--time=${seconds}`];
    let isOver = false;
    const running = Promise.all([pgbench(...usual), pgbench(...usual, "--connect")])
      .finally(() => isOver = true);
    // Awaited below: a failure must not end the other tests.
    running.catch(() => {});
    let rollouts = 0;
    while (!isOver) {
      const next = pooler();
      await cluster.apply(deployment(next.address));
      await eventuallyInCluster("the new pod has replaced the old one", () => isRolledOut(cluster));
      await current.drain();
      current = next;
      rollouts++;
    }
    const said = await running;
    assert.ok(rollouts >= 3, `${rollouts} rollouts`);
    for (const text of said) {
      assert.match(text, /^number of failed transactions: 0 /m);
      const [, count] = /^number of transactions actually processed: (\d+)$/m.exec(text) ?? [];
      assert.ok(Number(count) > 8 * rollouts, `${count} transactions in ${rollouts} rollouts`);
    }
    // Each of these pods had connections.
    const { pods } = await cluster.forwards();
    assert.ok(Object.keys(pods).length >= 3, JSON.stringify(pods));
  },
);

function deployment(pooler: string): KubeObject {
  const labels = { app: "db" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "db", namespace: "default" },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      // The new pod is ready before the old one is removed.
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels, annotations: { "postern.test/targets": `5432=${pooler}` } },
        spec: {
          nodeName: "node",
          automountServiceAccountToken: false,
          containers: [{ name: "main", image: "none", ports: [{ containerPort: 5432 }] }],
        },
      },
    },
  };
}

async function isRolledOut(cluster: KubeCluster): Promise<boolean> {
  const path = "/apis/apps/v1/namespaces/default/deployments/db";
  const { metadata, status } = await cluster.json("GET", path) as {
    readonly metadata: { readonly generation: number };
    readonly status: Readonly<Record<string, number | undefined>>;
  };
  return status.observedGeneration === metadata.generation && status.updatedReplicas === 1 &&
    status.availableReplicas === 1 && status.replicas === 1;
}
