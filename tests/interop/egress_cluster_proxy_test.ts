import assert from "node:assert/strict";
import { EgressLab } from "../support/egress_lab.ts";
import { eventually, freePort, runPeer } from "../support/peer_program.ts";

import { peerTest } from "../support/peers.ts";
import { startTinyproxy } from "../support/real_proxies.ts";
import { WebSite } from "../support/web_site.ts";

peerTest(
  "proxy { cluster }: an instance uses the cluster's accepted Proxy, and bypasses it for targets in noProxy",
  ["kubernetes", "tinyproxy", "curl"],
  async ({ kubernetes, tinyproxy, curl }) => {
    await using lab = await EgressLab.start(kubernetes);
    const { home, cluster } = lab;
    const account = { user: "u", password: "Hunter2Secret" };
    await using proxy = await startTinyproxy(tinyproxy, home.directory, account);
    await using site = new WebSite();
    const url = `http://u:Hunter2Secret@${proxy.address}`;
    await lab.edit({ httpsProxy: url, noProxy: "past.example.com" });
    await using controller = await lab.controller();
    await eventually("the proxy is accepted", async () => (await lab.status())[1] === url);
    const kubeconfig = await cluster.writeKubeconfig({ name: "postern.kubeconfig" });
    await home.configure(
      `transports:\n  lab: { kubernetes: { kubeconfig: ${kubeconfig} } }\n  egress: { proxy: { cluster: lab } }\ndefault: egress\n`,
    );
    await using instance = await home.instance();
    const address = await instance.address();
    // Go always connects to loopback directly, but not with this spelling.
    const fetched = async () => {
      const url = `http://0.0.0.0:${site.port}/`;
      const { code } = await runPeer(curl, ["-sS", "--noproxy", "", "--socks5-hostname", address, url]);
      return code === 0;
    };
    assert.equal(await fetched(), true);
    await instance.says(/transport=egress/);
    const dead = "http://127.0.0.1:1";
    await lab.edit({ httpsProxy: dead, noProxy: "past.example.com" });
    await eventually("the instance uses the new proxy, which is down", async () => !await fetched());
    await lab.edit({ httpsProxy: dead, noProxy: "0.0.0.0" });
    await eventually("the instance bypasses the proxy", fetched);
    for (const { stderr } of [instance, controller]) assert.equal(stderr.includes("Hunter2Secret"), false);
  },
);

peerTest(
  "a Konnectivity agent reaches its server through the cluster's accepted Proxy, and follows its changes",
  ["kubernetes", "tinyproxy"],
  async ({ kubernetes, tinyproxy }) => {
    await using lab = await EgressLab.start(kubernetes);
    const { home, cluster } = lab;
    await using proxy = await startTinyproxy(tinyproxy, home.directory);
    const certificates = `${home.directory}/certs`;
    // Go would connect to loopback directly, but not with this spelling.
    const made = await home.run(["konnectivity", "certs", "--san=0.0.0.0", certificates]);
    assert.equal(made.code, 0, made.stderr);
    const back = (name: string) => [
      `${certificates}/agent/issued/${name}.crt`,
      `${certificates}/agent/private/${name}.key`,
    ];
    const [agents, health] = [freePort(), freePort()];
    const [serverCert, serverKey] = back("proxy-frontend");
    await using server = home.start([
      ...["konnectivity", "server", "--server-port=0", `--uds-name=${home.directory}/front.sock`],
      ...[`--agent-port=${agents}`, "--agent-bind-address=127.0.0.1"],
      ...[`--health-port=${health}`, "--health-bind-address=127.0.0.1", `--admin-port=${freePort()}`],
      `--cluster-ca-cert=${certificates}/agent/issued/ca.crt`,
      ...[`--cluster-cert=${serverCert}`, `--cluster-key=${serverKey}`],
    ]);
    await server.ready;
    await using _controller = await lab.controller();
    await lab.edit({ httpsProxy: "http://127.0.0.1:1" });
    await eventually("the proxy is accepted", async () => (await lab.status())[1] === "http://127.0.0.1:1");
    const [cert, key] = back("proxy-agent");
    await using agent = home.start([
      ...["konnectivity", "agent", "--proxy-server-host=0.0.0.0", `--proxy-server-port=${agents}`],
      ...["--health-server-host=127.0.0.1", `--health-server-port=${freePort()}`],
      ...[`--admin-server-port=${freePort()}`, "--sync-interval=100ms", "--sync-interval-cap=200ms"],
      ...[`--ca-cert=${certificates}/agent/issued/ca.crt`, `--agent-cert=${cert}`, `--agent-key=${key}`],
      ...["--cluster-proxy", `--kubeconfig=${await cluster.writeKubeconfig({ name: "agent.kubeconfig" })}`],
    ]);
    await agent.says(/127\.0\.0\.1:1\b.*refused/);
    const isReady = async () => {
      const answer = await fetch(`http://127.0.0.1:${health}/readyz`);
      await answer.body?.cancel();
      return answer.ok;
    };
    assert.equal(await isReady(), false);
    await lab.edit({ httpsProxy: `http://${proxy.address}` });
    await eventually("the agent joins through the working proxy", isReady);
    for (const program of [agent, server]) {
      program.kill("SIGTERM");
      assert.equal((await program.ended).code, 0, program.stderr);
    }
  },
);
