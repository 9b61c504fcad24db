import assert from "node:assert/strict";
import { type Frontend, KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { eventually, freePort, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";

interface Roles {
  readonly server: Instance;
  readonly agent: Instance;
  /** The options of upstream's client for the frontend. */
  readonly options: readonly string[];
  readonly front: { readonly port: number } | { readonly path: string };
  /** The port for agents. */
  readonly agents: number;
}

/** Starts postern as server and agent with the command lines of upstream's README. */
async function bringUp(
  home: Household,
  lab: KonnectivityLab,
  { mode, isSocket }: Frontend,
): Promise<Roles> {
  const [port, agents, health, agentHealth] = [freePort(), freePort(), freePort(), freePort()];
  const [admin, agentAdmin] = [freePort(), freePort()];
  const socket = `${home.directory}/front-${port}.sock`;
  const front = lab.pair("frontend", "server"), back = lab.pair("agent", "server");
  const own = lab.pair("agent", "client"), client = lab.pair("frontend", "client");
  const tls = [
    `--server-ca-cert=${lab.ca("frontend")}`,
    `--server-cert=${front.cert}`,
    `--server-key=${front.key}`,
  ];
  const loopback = [
    "--agent-bind-address=127.0.0.1",
    "--health-bind-address=127.0.0.1",
    `--admin-port=${admin}`,
  ];
  const server = home.start([
    ...["konnectivity", "server", `--mode=${mode}`, `--agent-port=${agents}`, `--health-port=${health}`],
    ...[`--cluster-ca-cert=${lab.ca("agent")}`, `--cluster-cert=${back.cert}`, `--cluster-key=${back.key}`],
    ...isSocket
      ? ["--server-port=0", `--uds-name=${socket}`]
      : [`--server-port=${port}`, "--server-bind-address=127.0.0.1", ...tls],
    ...loopback,
  ]);
  await Promise.race([server.ready, failing(server)]);
  const agent = home.start([
    ...["konnectivity", "agent", "--proxy-server-host=127.0.0.1", `--proxy-server-port=${agents}`],
    ...["--health-server-host=127.0.0.1", `--health-server-port=${agentHealth}`, "--agent-id=first"],
    `--admin-server-port=${agentAdmin}`,
    ...[`--ca-cert=${lab.ca("agent")}`, `--agent-cert=${own.cert}`, `--agent-key=${own.key}`],
  ]);
  await agent.ready;
  await server.says(/agent\.joined agent=first/);
  await eventually("both are ready", async () => {
    for (const at of [health, agentHealth]) {
      const answer = await fetch(`http://127.0.0.1:${at}/readyz`);
      await answer.body?.cancel();
      if (!answer.ok) return false;
    }
    return true;
  });
  const options = isSocket ? ["--proxy-host=", "--proxy-port=0", `--proxy-uds=${socket}`] : [
    ...["--proxy-host=127.0.0.1", `--proxy-port=${port}`, `--ca-cert=${lab.ca("frontend")}`],
    ...[`--client-cert=${client.cert}`, `--client-key=${client.key}`],
  ];
  return { server, agent, options, front: isSocket ? { path: socket } : { port }, agents };
}

/** Fails with the output of a program that ended too early. */
async function failing(program: Instance): Promise<never> {
  const { stderr } = await program.ended;
  throw new Error(`the program ended: ${stderr}`);
}

const readme = [
  { name: "gRPC over TLS", mode: "grpc", isSocket: false },
  { name: "gRPC over a socket", mode: "grpc", isSocket: true },
  { name: "CONNECT over TLS", mode: "http-connect", isSocket: false },
] as const;

for (const frontend of readme) {
  peerTest(
    `postern konnectivity runs every role of upstream's README: ${frontend.name}`,
    [...konnectivityPeers, "curl"],
    async (paths) => {
      await using lab = await KonnectivityLab.create(paths);
      const page = await lab.page();
      await using home = await Household.open();
      const { server, agent, options, front } = await bringUp(home, lab, frontend);
      const asking = ["--request-host=127.0.0.1", `--request-port=${page}`];

      const ours = await home.run(["konnectivity", "dial", `--mode=${frontend.mode}`, ...options, ...asking]);
      assert.match(ours.stdout, /success test page/, ours.stderr);
      const theirs = await lab.goClient(frontend, front, { port: page });
      assert.match(theirs.said, /success test page/);

      if (frontend.mode === "http-connect" && "port" in front) {
        const { cert, key } = lab.pair("frontend", "client");
        const { stdout, stderr } = await runPeer(paths.curl, [
          ...["-sS", "-p", "--noproxy", "", "-x", `https://127.0.0.1:${front.port}`],
          ...["--proxy-cacert", lab.ca("frontend"), "--proxy-cert", cert, "--proxy-key", key],
          `http://127.0.0.1:${page}/success`,
        ]);
        assert.match(stdout, /success test page/, stderr);
      }

      agent.kill("SIGTERM");
      assert.equal((await agent.ended).code, 0);
      const without = await home.run([
        "konnectivity",
        "dial",
        `--mode=${frontend.mode}`,
        ...options,
        ...asking,
      ]);
      assert.equal(without.code, 6);
      assert.match(without.stderr, /No agent available/);
      server.kill("SIGTERM");
      assert.equal((await server.ended).code, 0);
    },
  );
}

peerTest(
  "postern konnectivity server and agent reject unknown certificates",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using home = await Household.open();
    const { server, front, agents } = await bringUp(home, lab, readme[0]);
    assert.ok("port" in front);
    const { cert, key } = lab.pair("stranger", "client");
    const args = ["konnectivity", "dial", "--proxy-host=127.0.0.1", `--proxy-port=${front.port}`];
    const stranger = await home.run([
      ...args,
      ...[`--ca-cert=${lab.ca("frontend")}`, `--client-cert=${cert}`, `--client-key=${key}`],
      "http://127.0.0.1:1/",
    ]);
    assert.notEqual(stranger.code, 0);
    const anonymous = await home.run([...args, `--ca-cert=${lab.ca("frontend")}`, "http://127.0.0.1:1/"]);
    assert.notEqual(anonymous.code, 0);
    await server.says(/(client\.refused [^]*){2}/);
    for (const who of [[`--agent-cert=${cert}`, `--agent-key=${key}`], []]) {
      const agent = home.start([
        ...["konnectivity", "agent", "--proxy-server-host=127.0.0.1", `--proxy-server-port=${agents}`],
        ...["--health-server-host=127.0.0.1", `--health-server-port=${freePort()}`],
        ...[`--admin-server-port=${freePort()}`, `--ca-cert=${lab.ca("agent")}`, ...who],
      ]);
      await agent.says(/server\.unreachable/);
      agent.kill("SIGKILL");
      await agent.ended;
    }
    await server.says(/(client\.refused [^]*){4}/);
    assert.doesNotMatch(server.stderr, /conn\.(done|failed)/);
    assert.equal(server.stderr.match(/agent\.joined/g)?.length, 1);
  },
);

peerTest("postern konnectivity server reports missing options", konnectivityPeers, async (paths) => {
  await using lab = await KonnectivityLab.create(paths);
  await using home = await Household.open();
  const { cert, key } = lab.pair("agent", "server");
  const back = [`--cluster-ca-cert=${lab.ca("agent")}`, `--cluster-cert=${cert}`, `--cluster-key=${key}`];
  const cases: [args: readonly string[], says: RegExp, code: number][] = [
    [[], /Cannot accept agents: missing certificate files/, 2],
    [back, /Cannot accept clients over TCP: missing certificate files/, 4],
    [[...back, "--server-port=0"], /neither --server-port nor --uds-name is set/, 2],
    [[...back, "--proxy-strategies=nearest"], /Cannot use "nearest" in --proxy-strategies/, 2],
  ];
  for (const [args, says, code] of cases) {
    const { code: ended, stderr } = await home.run(["konnectivity", "server", ...args]);
    assert.match(stderr, says);
    assert.equal(ended, code, stderr);
  }
});
