import assert from "node:assert/strict";
import { KubeCluster } from "../support/kube_cluster.ts";
import { type KubeObject, service } from "../support/kube_objects.ts";
import { containersOf, Manifests, templateOf } from "../support/manifests.ts";
import { eventually, freePort, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { assertJustEnough, Audit, rightsOf } from "../support/rights.ts";

const namespace = "konnectivity-agent";

peerTest(
  "The rights of the Konnectivity manifests are sufficient and all used",
  ["kubectl", "kubernetes", "curl"],
  async ({ kubectl, kubernetes, curl }, t) => {
    await using audit = await Audit.create();
    // An API server that streams lists gets no list requests; other API servers do.
    const apiOptions = [...audit.apiOptions, "--feature-gates=WatchList=false"];
    await using cluster = await KubeCluster.start(kubernetes, { apiOptions });
    await using home = await Household.open();
    await cluster.namespace(namespace);
    for (const name of ["konnectivity-server", "konnectivity-agent", "konnectivity-sidecar"]) {
      await cluster.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } });
    }
    const kubeconfigOf = async (account: string) => {
      const token = await cluster.serviceAccountToken(namespace, account);
      return await cluster.writeKubeconfig({ name: account, token });
    };
    const guest = await Deno.readTextFile(await kubeconfigOf("konnectivity-server"));
    await using manifests = await Manifests.create(kubectl, { guest });
    const certs = `${manifests.directory}/konnectivity/examples/servers/certs`;

    await t.step("rights of the sidecar", async () => {
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
      // There is no server: the name is resolved before the request.
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

    await t.step("rights of servers and agents, with tokens", async () => {
      const withTokens = async (name: string, side: string) =>
        await manifests.render(
          await manifests.write(
            `konnectivity/${side}-with-tokens`,
            `resources: [../examples/${name}]\ncomponents: [../tokens/${side}]`,
          ),
        );
      const servers = await withTokens("servers", "server");
      const agents = await withTokens("agents", "agent");
      const rights = agents.filter(({ kind }) => /^(Cluster)?Role(Binding)?$/.test(kind));
      await cluster.apply(...rights, goneServer);
      const [serverPort, healthPort] = [freePort(), freePort()];
      const startServer = async () => {
        const server = home.start(
          await localArguments(servers, `${home.directory}/server`, {
            "agent-port": serverPort,
            more: [
              "--server-bind-address=127.0.0.1",
              "--agent-bind-address=127.0.0.1",
              `--admin-port=${freePort()}`,
            ],
          }),
          { env: { PROXY_SERVER_ID: "server-0" } },
        );
        await server.ready;
        return server;
      };
      // A killed server left its Lease, which it takes over again.
      const killed = await startServer();
      await untilLeases(cluster, ["konnectivity-proxy-server-server-0"]);
      killed.kill("SIGKILL");
      await killed.ended;
      const server = await startServer();
      const directory = `${home.directory}/agent`;
      const agentArguments = await localArguments(agents, directory, {
        "proxy-server-port": serverPort,
        "health-server-port": healthPort,
        more: [
          ...["--proxy-server-host=127.0.0.1", `--kubeconfig=${await kubeconfigOf("konnectivity-agent")}`],
          ...["--health-server-host=127.0.0.1", `--admin-server-port=${freePort()}`],
          `--service-account-token-path=${directory}/token`,
        ],
      });
      await Deno.writeTextFile(`${directory}/token`, await tokenFor(cluster, "konnectivity-agent"));
      const agent = home.start(agentArguments);
      await eventually("the agent has connected to the server", async () => {
        const { stdout } = await runPeer(curl, ["-s", `http://127.0.0.1:${healthPort}/readyz`]);
        return stdout.trim() === "ok";
      }, 20_000).catch((error) => {
        throw new Error(`${error.message}: ${agent.stderr}${server.stderr}`);
      });
      for (const one of [agent, server]) one.kill("SIGTERM");
      await Promise.all([agent.ended, server.ended]);
      await untilLeases(cluster, []);
      for (const name of ["konnectivity-server", "konnectivity-agent"]) {
        const account = `${namespace}:${name}`;
        assertJustEnough(rightsOf(agents, account), await audit.asked(account));
      }
    });
  },
);

/** The Lease of a server that disappeared years ago. */
const goneServer = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "gone", namespace, labels: { "k8s-app": "konnectivity-server" } },
  spec: { holderIdentity: "gone", leaseDurationSeconds: 30, renewTime: "2020-01-02T03:04:05.000000Z" },
};

/** The command line in a manifest, with its Secrets in a directory, other ports and further flags. */
async function localArguments(
  objects: readonly KubeObject[],
  directory: string,
  { more, ...ports }: {
    readonly more: readonly string[];
    readonly [port: string]: number | readonly string[];
  },
): Promise<string[]> {
  const [template] = objects.flatMap((object) => templateOf(object) ?? []);
  assert.ok(template);
  const [container] = containersOf(template);
  for (const { name, mountPath } of container?.volumeMounts ?? []) {
    const secretName = template.spec.volumes?.find((volume) => volume.name === name)?.secret?.secretName;
    const secret = objects.find(({ kind, metadata }) => kind === "Secret" && metadata.name === secretName);
    if (!secret) continue;
    await Deno.mkdir(`${directory}${mountPath}`, { recursive: true });
    for (const [key, value] of Object.entries(secret["data"] as Record<string, string>)) {
      await Deno.writeTextFile(`${directory}${mountPath}/${key}`, atob(value));
    }
  }
  const given = new Set(more.map((word) => word.replace(/=.*/, "")));
  const words = (container?.args ?? []).filter((word) => !given.has(word.replace(/=.*/, ""))).map((word) => {
    const [, name = ""] = /^--([a-z-]*port)=/.exec(word) ?? [];
    return name === ""
      ? word.replace("=/etc/", `=${directory}/etc/`)
      : `--${name}=${ports[name] ?? freePort()}`;
  });
  return [...words, ...more];
}

async function tokenFor(cluster: KubeCluster, account: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const made = await cluster.json("POST", path, { spec: { audiences: ["konnectivity-server"] } });
  return (made as { status: { token: string } }).status.token;
}

async function untilLeases(cluster: KubeCluster, names: readonly string[]): Promise<void> {
  await eventually(`the Leases are ${names.join()}`, async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    const { items } = await cluster.json("GET", path) as { items: KubeObject[] };
    return items.map(({ metadata }) => metadata.name).join() === names.join();
  });
}
