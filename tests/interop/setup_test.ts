import assert from "node:assert/strict";
import { KubeCluster } from "../support/kube_cluster.ts";
import { NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { runPeer } from "../support/peer_program.ts";
import { inNamespace } from "../support/namespaces.ts";
import type { PeerName } from "../../scripts/peer_table.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { startTinyproxy } from "../support/real_proxies.ts";
import { openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";

const account = { user: "me", password: "s3cretWord" };

const namespace = inNamespace("--mount");

setupTest(
  "postern setup configures ssh hosts, clusters and a proxy from an empty home, within a minute",
  [...sshPeers, "curl", "kubernetes", "tinyproxy"],
  async (paths, t) => {
    await using lab = await SshLab.create(paths);
    // Only the jump host knows this name.
    const bastion = await lab.start("bastion", { hosts: { "db.corp.example": "127.0.0.1" } });
    const stranger = await lab.start("stranger");
    const known = await Deno.readTextFile(lab.knownHosts);
    // The host key of the second server is not known, and its configuration would accept any new key.
    await Deno.writeTextFile(lab.knownHosts, known.split("\n").slice(0, 1).join("\n") + "\n");
    await using cluster = await KubeCluster.start(paths.kubernetes);
    await using web = new NamedServer("from a pod");
    await cluster.apply(
      pod({ name: "web", labels: { app: "web" }, targets: { 80: web.address } }),
      service({ name: "web", selector: { app: "web" }, ports: [{ port: 80 }] }),
    );
    await cluster.untilReady("default", "web");
    await using proxy = await startTinyproxy(paths.tinyproxy, lab.directory, account);
    await using hidden = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("from behind ssh"),
    );
    await using home = await openSshHousehold(lab, {
      ssh: [
        ...sshHostLines("bastion", bastion),
        ...sshHostLines("stranger-gw", stranger, "StrictHostKeyChecking accept-new"),
        "Host db",
        "  HostName db.corp.example",
        `  Port ${hidden.addr.port}`,
        "  ProxyJump bastion",
        "Host nowhere.invalid",
        "  ProxyJump bastion",
      ],
      postern: [],
    });
    const configFile = `${home.places.config}/config.yaml`;
    const before = await Deno.readTextFile(configFile);
    await Deno.mkdir(`${home.directory}/.kube`);
    const lost = cluster.kubeconfig({ context: "lost", cluster: { server: "https://127.0.0.1:1" } });
    const expired = cluster.kubeconfig({
      context: "expired",
      token: "expired",
      cluster: { server: `https://localhost:${cluster.address.split(":")[1]}` },
    });
    const kubeconfig = merged([cluster.kubeconfig({ context: "lab" }), lost, expired]);
    await Deno.writeTextFile(`${home.directory}/.kube/config`, kubeconfig);
    const env = {
      http_proxy: `http://${account.user}:${encodeURIComponent(account.password)}@${proxy.address}`,
    };

    await t.step("without a terminal it prints the diff and writes nothing", async () => {
      const { code, stdout, stderr } = await home.run(["setup", "--timeout", "10s"], { env });
      assert.equal(code, 0, stderr);
      assert.match(stderr, /nothing written; to write it, add --yes/);
      assert.match(stdout, /^\+ {2}bastion: \{ ssh: bastion \}$/m);
      assert.equal(await Deno.readTextFile(configFile), before);
    });

    const begun = performance.now();
    const written = await home.run(["setup", "--yes", "--timeout", "10s"], { env });
    await t.step("it tries every line and names those that do not work", () => {
      const { code, stderr } = written;
      assert.equal(code, 0, stderr);
      assert.match(stderr, /^ok +ssh bastion: signed in to bastion$/m);
      assert.match(stderr, /^ok +kubernetes lab: 127\.0\.0\.1:[0-9]+ answers: Kubernetes v/m);
      assert.match(stderr, /^ok +proxy proxy: 127\.0\.0\.1:[0-9]+ answers$/m);
      assert.match(
        stderr,
        /^ok +route =db\.corp\.example: db\.corp\.example:[0-9]+ answers through bastion$/m,
      );
      assert.match(
        stderr,
        /^failed +ssh stranger-gw: .*its host key is not known yet\n +.*ssh stranger-gw$/m,
      );
      assert.match(stderr, /^failed +route =nowhere\.invalid: Cannot reach nowhere\.invalid:22.*bastion/m);
      assert.match(stderr, /^failed +kubernetes lost: .*refused/m);
      assert.match(stderr, /^failed +kubernetes expired: .*401/m);
    });
    const instance = await home.instance();
    const through = `socks5h://${await instance.address()}`;
    const fetched = async (url: string) =>
      (await runPeer(paths.curl, ["--silent", "--max-time", "30", "--proxy", through, url])).stdout;
    await t.step("curl then reaches a pod, a host behind ssh, and explain shows the proxy", async () => {
      assert.equal(await fetched("http://web.default.svc.lab/"), "from a pod");
      assert.equal(await fetched("http://web.default.svc/"), "");
      const plain = await home.run(["explain", "web.default.svc:80"]);
      assert.match(plain.stdout, /^web\.default\.svc:80 goes to reject$/m);
      assert.equal(await fetched(`http://db.corp.example:${hidden.addr.port}/`), "from behind ssh");
      const { stdout } = await home.run(["explain", "--dial", "nothing.invalid:80"]);
      assert.match(stdout, /^nothing\.invalid:80 goes to proxy\n[^]*reached the proxy "proxy"/);
    });
    const seconds = (performance.now() - begun) / 1000;
    await t.step("all of it takes less than a minute", () => {
      assert.ok(seconds < 60, `${seconds} s`);
    });

    await t.step("the old lines stay, and no secret is printed or in the configuration", async () => {
      const after = await Deno.readTextFile(configFile);
      assert.ok(after.startsWith(before), after);
      for (const text of [after, written.stdout, written.stderr]) {
        assert.doesNotMatch(text, /s3cret|token-of/);
        assert.doesNotMatch(text, /stranger-gw: \{|lost: \{|nowhere\.invalid, via|expired: \{/);
      }
      const password = `${home.places.config}/proxy.password`;
      assert.equal(await Deno.readTextFile(password), `${account.password}\n`);
      assert.equal(((await Deno.stat(password)).mode ?? 0) & 0o777, 0o600);
      assert.doesNotMatch(await Deno.readTextFile(lab.knownHosts), new RegExp(`:${stranger.port} `));
    });

    await t.step("a second run proposes nothing", async () => {
      const after = await Deno.readTextFile(configFile);
      const { code, stdout, stderr } = await home.run(["setup", "--yes", "--timeout", "10s"], { env });
      assert.deepEqual([code, stdout], [0, ""], stderr);
      assert.match(stderr, /nothing to add to ".*": 4 lines left out, because the check failed\n$/);
      assert.equal(await Deno.readTextFile(configFile), after);
    });
  },
);

setupTest(
  "postern setup reaches an API server through the jump host of its domain",
  [...sshPeers, "kubernetes"],
  async (paths) => {
    await using lab = await SshLab.create(paths);
    // Only the jump host knows these names.
    const hosts = { "api.inner.example": "127.0.0.1", "db.inner.example": "127.0.0.1" };
    const jump = await lab.start("jump", { hosts });
    await using cluster = await KubeCluster.start(paths.kubernetes);
    await using home = await openSshHousehold(lab, {
      ssh: [
        ...sshHostLines("jump", jump),
        ...["db", "api"].flatMap((name) => [`Host ${name}.inner.example`, `  Port ${jump.port}`]),
        "Host *.inner.example",
        "  ProxyJump jump",
      ],
      postern: [],
    });
    const server = `https://api.inner.example:${cluster.address.split(":")[1]}`;
    await Deno.mkdir(`${home.directory}/.kube`);
    await Deno.writeTextFile(
      `${home.directory}/.kube/config`,
      cluster.kubeconfig({ context: "inner", cluster: { server, "tls-server-name": "localhost" } }),
    );
    const { code, stdout, stderr } = await home.run(["setup", "--yes", "--timeout", "10s"]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^ok +kubernetes inner: .* answers through jump: Kubernetes v/m);
    assert.match(stdout, /^\+ {2}inner: \{ kubernetes: \{ context: inner, suffix: inner \}, via: jump \}$/m);
    assert.match(stdout, /^\+ {2}- \{ to: \.inner\.example, via: jump \}$/m);
    const { stderr: checked } = await home.run(["config", "check"]);
    assert.match(checked, /is valid$/m);
  },
);

/** Registers a test whose ssh servers have their own hosts file. */
function setupTest<Name extends PeerName>(...[name, peers, test]: Parameters<typeof peerTest<Name>>): void {
  if ("missing" in namespace) skippedTest(name, namespace.missing);
  else peerTest(name, peers, test);
}

/** Merges kubeconfigs with one context each. */
function merged(texts: readonly string[]): string {
  const [first, ...more] = texts.map((text) => JSON.parse(text));
  for (const list of ["clusters", "contexts", "users"]) {
    for (const other of more) first[list].push(...other[list]);
  }
  return JSON.stringify(first, null, 2);
}
