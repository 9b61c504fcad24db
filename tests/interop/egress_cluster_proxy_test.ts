import assert from "node:assert/strict";
import { EgressLab } from "../support/egress_lab.ts";
import { eventually, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { startTinyproxy } from "../support/real_proxies.ts";
import { WebSite } from "../support/web_site.ts";

peerTest(
  "proxy { cluster }: a door goes where the cluster's accepted Proxy leads, and past it where its list says",
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
    await eventually("it is accepted", async () => (await lab.status())[1] === url);
    const kubeconfig = await cluster.writeKubeconfig({ name: "door.kubeconfig" });
    await home.configure(
      `transports:\n  lab: { kubernetes: { kubeconfig: ${kubeconfig} } }\n  egress: { proxy: { cluster: lab } }\ndefault: egress\n`,
    );
    await using door = await home.door();
    const address = await door.address();
    // Loopback is always direct by Go's rules: this spelling of it is not.
    const fetched = async () => {
      const url = `http://0.0.0.0:${site.port}/`;
      const { code } = await runPeer(curl, ["-sS", "--noproxy", "", "--socks5-hostname", address, url]);
      return code === 0;
    };
    assert.equal(await fetched(), true);
    await door.says(/transport=egress/);
    const dead = "http://127.0.0.1:1";
    await lab.edit({ httpsProxy: dead, noProxy: "past.example.com" });
    await eventually("the door goes where the other proxy is not", async () => !await fetched());
    await lab.edit({ httpsProxy: dead, noProxy: "0.0.0.0" });
    await eventually("the door goes past it", fetched);
    for (const { stderr } of [door, controller]) assert.equal(stderr.includes("Hunter2Secret"), false);
  },
);
