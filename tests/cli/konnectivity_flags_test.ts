import assert from "node:assert/strict";
import { agentCommand, metricOf, serverCommand } from "../support/konnectivity_commands.ts";
import { KonnectivityLab, konnectivityPeers, untilReady } from "../support/konnectivity_lab.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

/** Flags of a typical Deployment: those that postern uses, and those without effect. */
const serverFlags = [
  ...["--v=5", "--logtostderr=true", "--alsologtostderr", "--stderrthreshold=2", "--xfr-channel-size=100"],
  ...["--kube-api-content-type=application/json", "--kubeconfig-qps=75", "--kubeconfig-burst=150"],
  ...["--enable-profiling", "--enable-contention-profiling=false", "--warn-on-channel-limit"],
  ...["--keepalive-time=30s", "--frontend-keepalive-time=1h0m0s", "--delete-existing-uds-file=true"],
  ...["--enable-lease-controller=false", "--graceful-shutdown-timeout=0s", "--backend-dial-timeout=5s"],
  ...["--proxy-strategies=destHost,defaultRoute,default", "--server-count=1"],
  ...["--tls-min-version=VersionTLS13", "--cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
];
const agentFlags = [
  ...["--v", "3", "--logtostderr", "--probe-interval=1s", "--sync-interval=500ms", "--keepalive-time=1h"],
  ...["--xfr-channel-size=150", "--enable-profiling=false", "--warn-on-channel-limit=false"],
  ...["--alpn-proto=konnectivity", "--sync-forever=false", "--count-server-leases=false"],
  ...[
    "--server-count-source=max",
    "--agent-identifiers=host=a&ipv4=10.0.0.1&cidr=10.0.0.0/8&default-route=true",
  ],
  ...["--lease-label=k8s-app=x", "--lease-namespace=kube-system", "--kube-api-content-type=application/json"],
];
const serverMetrics = [
  ...["dial_duration_seconds", "frontend_write_duration_seconds", "dial_failure_count"],
  ...["established_connections", "pending_backend_dials", "ready_backends", "ready_backend_connections"],
  ...["grpc_connections", "http_connections", "stream_packets_total", "stream_errors_total"],
];
const agentMetrics = [
  ...["dial_duration_seconds", "endpoint_dial_failure_total", "known_server_count"],
  ...["open_server_connections", "open_endpoint_connections", "stream_packets_total", "stream_errors_total"],
];

peerTest(
  "flags, metrics and admin ports match upstream's programs",
  [...konnectivityPeers, "curl", "openssl", "promcheck"],
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    const page = await lab.page();
    await using home = await Household.open();
    const server = await serverCommand(home, lab, { more: serverFlags });
    const agent = await agentCommand(home, lab, { agents: server.agents, more: agentFlags });
    await untilReady(server.health);
    const { cert, key } = lab.pair("frontend", "client");
    const way = [
      ...["--proxy-host=127.0.0.1", `--proxy-port=${server.front}`, `--ca-cert=${lab.ca("frontend")}`],
      ...[`--client-cert=${cert}`, `--client-key=${key}`, "--request-host=127.0.0.1", "--close-idle-conn"],
    ];
    const asked = [`--request-port=${page}`, "--test-requests=3", "--test-delay=1", "--after-delay=1"];
    const began = Date.now();
    const fetched = await home.run(["konnectivity", "dial", ...way, ...asked, "--request-proto=http"]);
    assert.equal(fetched.stdout.match(/success test page/g)?.length, 3, fetched.stderr);
    assert.ok(Date.now() - began >= 2000);
    const refused = await home.run(["konnectivity", "dial", ...way, "--request-port=1", "--test-requests=2"]);
    assert.equal(refused.code, 2, refused.stderr);
    const closed = await home.run([
      "konnectivity",
      "dial",
      ...way,
      "http://127.0.0.1:1/",
      "--test-requests=2",
    ]);
    assert.equal(closed.code, 6);
    assert.match(closed.stderr, /2 of 2 requests failed; the first error: .*refused/);

    const pages = [
      { port: server.health, prefix: "server_", names: serverMetrics },
      { port: server.admin, prefix: "server_", names: serverMetrics },
      { port: agent.health, prefix: "agent_", names: agentMetrics },
    ];
    for (const { port, prefix, names } of pages) {
      const { stdout } = await runPeer(paths.curl, ["-sS", `http://127.0.0.1:${port}/metrics`]);
      const checked = await runPeer(paths.promcheck, [], { stdin: stdout });
      assert.equal(checked.code, 0, checked.stdout + checked.stderr);
      for (const name of names) {
        assert.match(stdout, new RegExp(`^# TYPE konnectivity_network_proxy_${prefix}${name} `, "m"));
      }
    }
    const values: [port: number, name: string, value: number][] = [
      [server.health, 'server_ready_backends{proxy_strategy="destHost"}', 1],
      [server.health, 'server_ready_backends{proxy_strategy="defaultRoute"}', 1],
      [server.health, 'server_grpc_connections{service_method="Connect"}', 1],
      [server.health, 'server_stream_packets_total{segment="from_client",packet_type="DIAL_REQ"}', 5],
      [server.health, 'server_stream_packets_total{segment="from_agent",packet_type="DIAL_RSP"}', 5],
      [server.health, 'server_dial_failure_count{reason="error_response"}', 2],
      [server.health, "server_dial_duration_seconds_count", 3],
      [agent.health, 'agent_endpoint_dial_failure_total{reason="unknown"}', 2],
      [agent.health, "agent_open_server_connections", 1],
    ];
    for (const [port, name, value] of values) {
      assert.equal(await metricOf(port, `konnectivity_network_proxy_${name}`), value, name);
    }
    const moved = await runPeer(paths.curl, ["-sSi", `http://127.0.0.1:${agent.admin}/metrics`]);
    assert.match(
      moved.stdout,
      new RegExp(`301 .*^location: http://127\\.0\\.0\\.1:${agent.health}/metrics`, "ims"),
    );

    const handshake = (version: string) =>
      runPeer(paths.openssl, [
        ...["s_client", "-connect", `127.0.0.1:${server.front}`, version, "-cert", cert, "-key", key],
        ...["-CAfile", lab.ca("frontend"), "-verify_return_error"],
      ], { stdin: "" });
    assert.match((await handshake("-tls1_3")).stdout, /New, TLSv1\.3/);
    assert.doesNotMatch((await handshake("-tls1_2")).stdout, /New, TLSv1\.2/);
    server.program.kill("SIGTERM");
    assert.equal((await server.program.ended).code, 0);
  },
);

peerTest("konnectivity reports unusable flags", konnectivityPeers, async (paths) => {
  await using lab = await KonnectivityLab.create(paths);
  await using home = await Household.open();
  const { cert, key } = lab.pair("agent", "server");
  const back = [`--cluster-cert=${cert}`, `--cluster-key=${key}`];
  const ca = `--cluster-ca-cert=${lab.ca("agent")}`;
  const tokens = ["--agent-namespace=a", "--agent-service-account=b", "--authentication-audience=c"];
  const cases: [args: readonly string[], says: RegExp, code: number][] = [
    [["server", ...back, ca, ...tokens], /Cannot require both certificates and tokens from agents/, 2],
    [["server", ...back, "--agent-namespace=a"], /Cannot check agents' tokens: incomplete token options/, 2],
    [["server", ...back, ca, "--agent-port=50000"], /port 50000 for --agent-port/, 2],
    [["server", ...back, ca, "--health-port=80"], /port 80 for --health-port/, 2],
    [["server", ...back, ca, "--uds-name=/tmp/x"], /on both a unix socket and a port/, 2],
    [["server", ...back, ca, `--server-cert=${cert}`], /must be given together/, 2],
    [["server", ...back, ca, "--tls-min-version=1.2"], /VersionTLS12/, 2],
    [["server", ...back, ca, "--cipher-suites=RC4"], /"RC4" as a cipher suite/, 2],
    [["server", ...back, ca, "--enable-lease-controller=perhaps"], /neither true nor false/, 2],
    [
      ["server", ...back, ca, "--uds-name=/tmp/x", "--server-port=0", "--enable-lease-controller"],
      /does not run in a pod[^]*--kubeconfig/,
      4,
    ],
    [["agent", "--agent-identifiers=name=a"], /"name" in --agent-identifiers/, 2],
    [["agent", "--server-count-source=least"], /default.*max/, 2],
    [["agent", "--health-server-port=60000"], /port 60000/, 2],
  ];
  for (const [args, says, code] of cases) {
    const { code: ended, stderr } = await home.run(["konnectivity", ...args]);
    assert.match(stderr, says);
    assert.equal(ended, code, stderr);
  }
});
