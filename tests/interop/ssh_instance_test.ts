import assert from "node:assert/strict";
import { atTerminal } from "../support/pseudo_terminal.ts";
import { type Instance, openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { eventually, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { WebSite } from "../support/web_site.ts";

peerTest(
  "an instance reaches a target through a chain of ssh hosts",
  [...sshPeers, "curl"],
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const [near, far] = [await lab.start("near"), await lab.start("far")];
    await using site = new WebSite();
    await using home = await openSshHousehold(lab, {
      ssh: [...sshHostLines("near", near), ...sshHostLines("far", far, "ProxyJump near")],
      postern: ["transports: { far: { ssh: far }, near: { ssh: near } }", "default: far"],
    });
    await using instance = await home.instance();
    const address = await instance.address();
    const { code, stderr } = await runPeer(paths.curl, [
      "-sSf",
      "--proxy",
      `socks5h://${address}`,
      `http://${site.address}/seen`,
    ]);
    assert.equal(code, 0, stderr + instance.stderr);
    assert.deepEqual([near.signIns, far.signIns], [1, 1]);

    const status = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
    const text = JSON.stringify(status);
    assert.match(text, /"host":"near"/);
    assert.match(text, /"host":"far"/);
  },
);

peerTest(
  "an instance starts with an unusable ssh host, and reports why",
  [...sshPeers, "curl"],
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const near = await lab.start("near");
    await using site = new WebSite();
    await using home = await openSshHousehold(lab, {
      ssh: [
        ...sshHostLines("odd", near, "KnownHostsCommand /bin/false"),
        ...sshHostLines("near", near, "RequestTTY no"),
      ],
      postern: [
        "transports: { odd: { ssh: odd }, near: { ssh: near } }",
        "default: near",
        "routes:",
        "  - { to: odd.example, via: odd }",
      ],
    });
    await using instance = await home.instance();
    await eventually("the log names the line", () => /KnownHostsCommand/.test(instance.stderr));
    assert.match(instance.stderr, /transport\.unusable .*ssh_config:4: KnownHostsCommand.*engine: openssh/);
    const proxy = `socks5h://${await instance.address()}`;
    const through = (url: string) => runPeer(paths.curl, ["-sS", "-f", "--proxy", proxy, url]);
    assert.equal((await through(`http://${site.address}/seen`)).code, 0, instance.stderr);
    assert.notEqual((await through("http://odd.example/")).code, 0);
    await eventually(
      "the error is logged",
      () => /target=odd\.example:80.*KnownHostsCommand/.test(instance.stderr),
    );
  },
);

peerTest("postern prompts for a passphrase at the terminal", [...sshPeers, "python"], async (paths) => {
  await using lab = await SshLab.create(paths);
  const near = await lab.start("near");
  const key = await lab.makeKey("locked", { passphrase: "open sesame" });
  await lab.accept("locked");
  await using site = new WebSite();
  await using home = await openSshHousehold(lab, {
    ssh: sshHostLines("near", near, `IdentityFile ${key}`, "IdentityAgent none"),
    postern: ["transports: { near: { ssh: near } }", "default: near"],
  });
  const { command, env } = home.commandLine(["explain", "--dial", site.address]);
  const { screen, code } = await atTerminal(paths.python, command, {
    steps: [{ until: `Passphrase of ${key}: `, press: "open sesame\r" }],
    env,
  });
  assert.equal(code, 0, screen);
  assert.doesNotMatch(screen, /sesame/);
  assert.match(screen, /near/);
});

peerTest(
  "an instance reaches a host with the ssh program, and the next host with the built-in engine",
  [...sshPeers, "curl", "ssh"],
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const [odd, far] = [await lab.start("odd"), await lab.start("far")];
    await using site = new WebSite();
    await using home = await openSshHousehold(lab, {
      ssh: [
        ...sshHostLines("odd", odd, "KnownHostsCommand /bin/echo"),
        ...sshHostLines("far", far, "ProxyJump odd"),
      ],
      postern: ["transports: { odd: { ssh: odd }, far: { ssh: far } }", "default: far"],
      section: ["hosts: { odd: { engine: openssh } }"],
    });
    await using instance = await home.instance();
    await fetched(paths.curl, instance, site);
    assert.deepEqual([odd.signIns, far.signIns], [1, 1]);
    const { stdout } = await home.run(["status", "-o", "json"]);
    assert.match(stdout, /"host": ?"odd"/);
    instance.kill("SIGTERM");
    assert.equal((await instance.ended).code, 0);
    // Neither the master nor its socket remains.
    await eventually("no session is left", async () => await odd.sessions() === 0);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(`${home.places.runtime}/ssh`)), []);
  },
);

async function fetched(curl: string, instance: Instance, site: WebSite): Promise<void> {
  const proxy = `socks5h://${await instance.address()}`;
  const { code, stderr } = await runPeer(curl, ["-sSf", "--proxy", proxy, `http://${site.address}/seen`]);
  assert.equal(code, 0, stderr + instance.stderr);
}
