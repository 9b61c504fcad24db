import assert from "node:assert/strict";
import { agentCommand, metricOf, serverCommand } from "../support/konnectivity_commands.ts";
import { frontends, KonnectivityLab, konnectivityPeers, untilReady } from "../support/konnectivity_lab.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { eventuallyInCluster } from "../support/kube_processes.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

const peers = [...konnectivityPeers, "kubernetes"] as const;
const [grpc] = frontends;
assert.ok(grpc);

/** A token of a service account, for an audience. */
async function tokenOf(cluster: KubeCluster, name: string, audience: string): Promise<string> {
  const made = await cluster.json("POST", `/api/v1/namespaces/konn/serviceaccounts/${name}/token`, {
    spec: { audiences: [audience], expirationSeconds: 3600 },
  });
  return (made as { status: { token: string } }).status.token;
}

/** A cluster with the service accounts of agents and of a server that has exactly the rights of a server. */
async function clusterWithAccounts(
  kubernetes: string,
): Promise<{ cluster: KubeCluster; kubeconfig: string }> {
  const cluster = await KubeCluster.start(kubernetes);
  await cluster.namespace("konn");
  for (const name of ["server", "agent", "other"]) {
    await cluster.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: "konn" } });
  }
  await cluster.allow("konn:server", undefined, [
    { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  ]);
  await cluster.allow("konn:server", "kube-system", [
    {
      apiGroups: ["coordination.k8s.io"],
      resources: ["leases"],
      verbs: ["get", "list", "create", "update", "delete"],
    },
  ]);
  const token = await cluster.serviceAccountToken("konn", "server");
  return { cluster, kubeconfig: await cluster.writeKubeconfig({ name: "server.kubeconfig", token }) };
}

const tokenFlags = [
  "--agent-namespace=konn",
  "--agent-service-account=agent",
  "--authentication-audience=konnectivity",
];

peerTest("check 30: agents sign in with tokens that a real API server checks", peers, async (paths, t) => {
  const { cluster, kubeconfig } = await clusterWithAccounts(paths.kubernetes);
  await using _cluster = cluster;
  await using lab = await KonnectivityLab.create(paths);
  await using home = await Household.open();
  const more = [...tokenFlags, `--kubeconfig=${kubeconfig}`];
  const server = await serverCommand(home, lab, { more, hasTokens: true });
  const { program, agents } = server;
  const file = `${home.directory}/token`;
  const good = await tokenOf(cluster, "agent", "konnectivity");

  const refusals = [
    { name: "an unknown token", token: "junk", says: /agent\.refused .*the API server rejects it/ },
    {
      name: "a token for another audience",
      token: await tokenOf(cluster, "agent", "others"),
      says: /agent\.refused .*(the API server rejects it|its audience is not)/,
    },
    {
      name: "the token of another service account",
      token: await tokenOf(cluster, "other", "konnectivity"),
      says: /agent\.refused .*serviceaccount:konn:other/,
    },
  ];
  for (const { name, token, says } of refusals) {
    await t.step(`${name} is refused`, async () => {
      await Deno.writeTextFile(file, token);
      const agent = await agentCommand(home, lab, { agents, token: file });
      await agent.program.says(/server\.unreachable .*the token is rejected/);
      await program.says(says);
      assert.equal(await metricOf(server.health, `${serverMetrics}ready_backend_connections`), 0);
      assert.doesNotMatch(program.stderr + agent.program.stderr, new RegExp(token.slice(0, 30)));
      agent.program.kill("SIGKILL");
      await agent.program.ended;
    });
  }
  await t.step("the agent rereads its token: a token that becomes valid lets it in", async () => {
    await Deno.writeTextFile(file, "stale");
    const agent = await agentCommand(home, lab, { agents, token: file, more: ["--agent-id=ours"] });
    await agent.program.says(/server\.unreachable/);
    await Deno.writeTextFile(file, good);
    await program.says(/agent\.joined agent=ours/);
    await untilReady(server.health);
    agent.program.kill("SIGKILL");
    await agent.program.ended;
  });
  await t.step("a Go agent signs in too, and not without a token", async () => {
    await lab.goAgent(server, [`--service-account-token-path=${file}`, "--agent-id=go"]);
    await program.says(/agent\.joined agent=go/);
    await agentCommand(home, lab, { agents });
    await program.says(/agent\.refused .*a bearer token is required/);
  });
  await t.step("while the API server is down no agent can sign in, then all can again", async () => {
    await cluster.stopApi();
    const agent = await agentCommand(home, lab, { agents, token: file, more: ["--agent-id=late"] });
    await agent.program.says(/server\.unreachable .*cannot check the token now/);
    await program.says(/agent\.refused .*Cannot reach the API server/);
    await cluster.startApi();
    await program.says(/agent\.joined agent=late/);
  });
  await t.step("a Go server accepts the token of our agent", async () => {
    const go = await lab.goServer(grpc, { more: ["--cluster-ca-cert=", ...more] });
    await agentCommand(home, lab, { agents: go.agents, token: file });
    await untilReady(go.health);
  });
});

const serverMetrics = "konnectivity_network_proxy_server_";
const known = "konnectivity_network_proxy_agent_known_server_count";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

peerTest(
  "agents of postern and Go count servers of both by their Leases",
  peers,
  async (paths) => {
    const { cluster, kubeconfig } = await clusterWithAccounts(paths.kubernetes);
    await using _cluster = cluster;
    await using lab = await KonnectivityLab.create(paths);
    await using home = await Household.open();
    const spec = {
      holderIdentity: "gone",
      leaseDurationSeconds: 30,
      renewTime: "2026-01-01T00:00:00.000000Z",
    };
    const labels = { "k8s-app": "konnectivity-server" };
    const gone = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "gone", labels },
      spec,
    };
    await cluster.json("POST", leases, gone);
    await cluster.json("POST", leases, { ...gone, metadata: { name: "strange", labels: { app: "other" } } });

    const more = ["--enable-lease-controller", `--kubeconfig=${kubeconfig}`];
    const ours = await serverCommand(home, lab, { more: [...more, "--server-id=ours"] });
    const names = async () => {
      const { items } = await cluster.json("GET", leases) as { items: { metadata: { name: string } }[] };
      return items.map(({ metadata }) => metadata.name).filter((name) => !/^apiserver-|^kube-/.test(name))
        .sort();
    };
    await ours.program.says(/lease\.culled lease=gone/);
    assert.deepEqual(await names(), ["konnectivity-proxy-server-ours", "strange"]);
    assert.equal(await metricOf(ours.health, `${serverMetrics}culled_leases_count`), 1);
    await lab.goServer(grpc, { more: [...more, "--server-id=theirs"] });
    await eventuallyInCluster("both have a Lease", async () => (await names()).length === 3);

    const reader = await cluster.writeKubeconfig({ name: "reader.kubeconfig" });
    const counting = ["--count-server-leases", `--kubeconfig=${reader}`];
    const agent = await agentCommand(home, lab, { agents: ours.agents, more: counting });
    const agentsOfGo = await lab.goAgent(ours, counting);
    await eventually("our agent counts both", async () => await metricOf(agent.health, known) === 2);
    const goHealth = agentsOfGo.port;
    await eventually("the agent of Go counts both", async () => await metricOf(goHealth, known) === 2);

    ours.program.kill("SIGTERM");
    assert.equal((await ours.program.ended).code, 0);
    assert.deepEqual(await names(), ["konnectivity-proxy-server-theirs", "strange"]);
    await eventually("our agent counts one", async () => await metricOf(agent.health, known) === 1);
  },
);
