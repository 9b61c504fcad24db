import assert from "node:assert/strict";
import { KubeHome, NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { eventuallyInCluster } from "../support/kube_processes.ts";
import { PeerServer, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { openSshHousehold, sshHostLines, writeSshConfig } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { WebSite } from "../support/web_site.ts";

// Forwards of postern compared with those of kubectl and ssh, with the same words.

peerTest(
  "a forward survives the replacement of its pod, where kubectl port-forward ends",
  ["kubernetes", "kubectl", "curl"],
  async (peers) => {
    await using kube = await KubeHome.open(peers);
    const { cluster, home } = kube;
    await using one = new NamedServer("one");
    await using two = new NamedServer("two");
    const replica = (name: string, target: string) =>
      pod({ name, labels: { app: "web" }, ports: { http: 80 }, targets: { 80: target } });
    await cluster.apply(
      replica("web-1", one.address),
      service({ name: "web", selector: { app: "web" }, ports: [{ name: "http", port: 80 }] }),
    );
    await cluster.untilReady("default", "web");
    const kubeconfig = await cluster.writeKubeconfig();
    const words = (local: string) => ["svc/web", `${local}:80`, "-n", "default"];
    await using kubectl = await PeerServer.start(
      peers.kubectl,
      (port) => ["--kubeconfig", kubeconfig, "port-forward", ...words(`${port}`)],
      { env: { HOME: cluster.directory } },
    );
    await using instance = await home.instance([
      ...["--kubernetes", "--kubeconfig", kubeconfig, "-L", "127.0.0.1:0:web.default.svc:80"],
    ]);
    await using command = home.start(["forward", ...words("")]);
    const [forward = ""] = (await instance.ready).filter((address) => address.startsWith("forward:"));
    const [ofCommand = ""] = await command.ready;
    const addresses = [forward.replace("forward:", ""), ofCommand];
    const answer = async (address: string) => {
      const args = ["--silent", "--show-error", "--max-time", "20", `http://${address}/`];
      const { stdout, stderr } = await runPeer(peers.curl, args);
      return stdout || stderr;
    };
    for (const address of [...addresses, `127.0.0.1:${kubectl.port}`]) {
      assert.equal(await answer(address), "one", `${address}\n${instance.stderr}\n${command.stderr}`);
    }

    const seen = new Set<string>();
    let isOver = false;
    const clients = addresses.map(async (address) => {
      while (!isOver) seen.add(await answer(address));
    });
    await cluster.apply(replica("web-2", two.address));
    await cluster.untilReady("default", "web", 2);
    await cluster.remove(replica("web-1", one.address));
    await eventuallyInCluster("both forwards reach the new pod", async () => {
      const answers = await Promise.all(addresses.map(answer));
      return answers.every((body) => body === "two");
    });
    isOver = true;
    await Promise.all(clients);
    // Every request of the rollout was answered.
    assert.deepEqual([...seen].sort(), ["one", "two"], instance.stderr);
    assert.notEqual(await answer(`127.0.0.1:${kubectl.port}`), "two");
  },
);

peerTest("postern forward understands the -L of ssh", [...sshPeers, "ssh", "curl"], async (paths) => {
  await using lab = await SshLab.create(paths);
  const near = await lab.start("near");
  await using site = new WebSite();
  const lines = sshHostLines("near", near);
  await using home = await openSshHousehold(lab, {
    ssh: lines,
    postern: ["transports: { near: { ssh: near } }", "default: near"],
  });
  const config = await writeSshConfig(lab, lines);
  const { port: sitePort } = new URL(`http://${site.address}`);
  const specs = ([a, b, c]: readonly number[], socket: string) =>
    [
      `${a}:127.0.0.1:${sitePort}`,
      `[::1]:${b}:localhost:${sitePort}`,
      `127.0.0.1:${c}:127.0.0.1:${sitePort}`,
      `${socket}:127.0.0.1:${sitePort}`,
    ].flatMap((spec) => ["-L", spec]);
  const answers = async ([a, b, c]: readonly number[], socket: string) => {
    const asked = [
      [`http://127.0.0.1:${a}/seen`],
      [`http://[::1]:${a}/seen`],
      [`http://[::1]:${b}/seen`],
      [`http://127.0.0.1:${c}/seen`],
      ["--unix-socket", socket, "http://site/seen"],
    ];
    return await Promise.all(asked.map(async (args) => {
      const usual = ["-sS", "--globoff", "--max-time", "20", "--header", "Host: site"];
      const { code, stdout, stderr } = await runPeer(paths.curl, [...usual, ...args]);
      return `${code} ${stdout}${stderr}`;
    }));
  };
  const [ofSsh, ofPostern] = [freePorts(3), freePorts(3)];
  const sockets = [`${lab.directory}/ssh.sock`, `${home.directory}/postern.sock`] as const;
  const options = ["-NT", "-F", config, "-o", "ExitOnForwardFailure=yes"];
  await using _ssh = await PeerServer.start(
    paths.ssh,
    () => [...options, ...specs(ofSsh, sockets[0]), "near"],
    { port: ofSsh[0] ?? 0 },
  );
  const expected = await answers(ofSsh, sockets[0]);
  for (const answer of expected) assert.match(answer, /^0 \{/);
  await using command = home.start(["forward", ...specs(ofPostern, sockets[1])]);
  await command.ready;
  assert.deepEqual(await answers(ofPostern, sockets[1]), expected, command.stderr);
  assert.equal(near.signIns, 2, "one sign-in each");
});

/** Free ports of both address families, most likely. */
function freePorts(count: number): number[] {
  const listeners = Array.from({ length: count }, () => Deno.listen({ hostname: "::", port: 0 }));
  const ports = listeners.map(({ addr }) => addr.transport === "tcp" ? addr.port : 0);
  for (const listener of listeners) listener.close();
  return ports;
}
