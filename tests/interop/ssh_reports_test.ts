import assert from "node:assert/strict";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { openSshHousehold, sshHostLines, writeSshConfig } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { WebSite } from "../support/web_site.ts";

/** A household with a working chain of hosts, an unusable host, and a host with a locked key. */
async function household(lab: SshLab): Promise<{ home: Household; ports: { near: number; far: number } }> {
  const [near, far] = [await lab.start("near"), await lab.start("far")];
  const locked = await lab.makeKey("locked", { passphrase: "secret" });
  const closed = await lab.start("closed", { config: [`AuthorizedKeysFile ${locked}.pub`] });
  const home = await openSshHousehold(lab, {
    ssh: [
      ...sshHostLines("near", near),
      ...sshHostLines("far", far, "ProxyJump near"),
      ...sshHostLines("odd", near, "ProxyJump none", "KnownHostsCommand /bin/false"),
      ...sshHostLines("locked", closed, `IdentityFile ${locked}`, "IdentityAgent none"),
    ],
    postern: [
      "transports: { far: { ssh: far }, odd: { ssh: odd }, locked: { ssh: locked } }",
      "default: far",
      "routes:",
      "  - { to: odd.example, via: odd }",
      "  - { to: locked.example, via: locked }",
    ],
  });
  return { home, ports: { near: near.port, far: far.port } };
}

peerTest(
  "explain lists the hosts of a chain from the files, and times each of them",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using site = new WebSite();
    const { home, ports } = await household(lab);
    await using _home = home;
    const way = `path     here > far (ssh near at 127.0.0.1:${ports.near} > far at 127.0.0.1:${ports.far})`;

    const files = await home.run(["explain", "--dial", site.address]);
    assert.equal(files.code, 0, files.stdout + files.stderr);
    assert.ok(files.stdout.includes(way), files.stdout);
    const steps = ["reached ssh near", "signed in to ssh near", "reached ssh far", "signed in to ssh far"];
    const found = files.stdout.split("\n").flatMap((line) =>
      steps.find((step) => line.endsWith(` ms  ${step}`)) ?? []
    );
    assert.deepEqual(found, steps, files.stdout);

    const odd = await home.run(["explain", "odd.example:80"]);
    assert.equal(odd.code, 0);
    assert.match(odd.stdout, /problem {2}odd: Cannot use ssh odd: \S+ssh_config:\d+: KnownHostsCommand/);
    assert.match(odd.stdout, /engine: openssh for this host/);

    await using instance = await home.instance();
    const before = await home.run(["explain", site.address]);
    assert.ok(before.stdout.includes(way), before.stdout + instance.stderr);
    const { dial } = JSON.parse((await home.run(["explain", "--dial", site.address, "-o", "json"])).stdout);
    assert.equal(dial.steps.filter(({ step }: { step: string }) => steps.includes(step)).length, 4);
    const again = await home.run(["explain", "--dial", site.address]);
    assert.match(again.stdout, / ms {2}signed in to ssh near, ssh far earlier\n/);
  },
);

peerTest("status shows each chain, and a hint after a failed sign-in", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using site = new WebSite();
  const { home, ports } = await household(lab);
  await using _home = home;
  await using instance = await home.instance();
  assert.equal((await home.run(["explain", "--dial", site.address])).code, 0, instance.stderr);
  assert.equal((await home.run(["explain", "--dial", "locked.example:80"])).code, 5);
  let text = "";
  await eventually("the round trip is known", async () => {
    text = (await home.run(["status"])).stdout;
    return /^ {2}far +near .* ready .* ms /m.test(text);
  });
  assert.match(
    text,
    new RegExp(`^  far +near +127\\.0\\.0\\.1:${ports.near} +ready +\\w+ +\\d+\\.\\d ms +\\d+ +1 +0$`, "m"),
  );
  assert.match(text, new RegExp(`^ +far +127\\.0\\.0\\.1:${ports.far} +ready `, "m"));
  assert.match(text, /^ {2}locked +ssh +- +failing .*Cannot sign in to ssh locked/m);
  assert.match(text, /^ {2}odd +ssh +- +unusable .*ssh_config:\d+: KnownHostsCommand/m);
  assert.match(text, /^ {2}locked: .*ssh-add \S+locked$/m);
  assert.match(text, /^ {2}odd: use engine: openssh for this host$/m);
  const [{ transports }] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  const { hops } = transports.find(({ name }: { name: string }) => name === "far");
  assert.deepEqual(hops.map(({ host, state, reconnects }: Hop) => [host, state, reconnects]), [
    ["near", "ready", 0],
    ["far", "ready", 0],
  ]);
});

peerTest("test signs in to all hosts at once, next to a running instance", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const { home } = await household(lab);
  await using _home = home;
  await using instance = await home.instance();
  const { code, stdout, stderr } = await home.run(["test"]);
  assert.equal(code, 7, stdout + stderr + instance.stderr);
  assert.match(stdout, /^ok {7}far +jump host +\d+ ms {2}near \d+ ms > far \d+ ms$/m);
  assert.match(
    stdout,
    /^FAILED {3}odd +jump host +\d+ ms\n +Cannot use ssh odd: .*KnownHostsCommand.*\n +use engine: openssh/m,
  );
  assert.match(
    stdout,
    /^FAILED {3}locked +jump host +\d+ ms {2}locked\n +Cannot sign in .*\n +.*ssh-add \S+locked$/m,
  );

  const far = await home.run(["test", "f?r", "-o", "json", "--timeout", "20s"]);
  assert.equal(far.code, 0, far.stdout + far.stderr);
  const [{ name, outcome, hops }, ...more] = JSON.parse(far.stdout).tests;
  assert.deepEqual([name, outcome, hops.map(({ host }: Hop) => host), more], [
    "far",
    "ok",
    ["near", "far"],
    [],
  ]);
  // The name of a host on the path selects the transports through it.
  assert.equal((await home.run(["test", "near"])).code, 0);
  const all = JSON.parse((await home.run(["test", "-o", "json"])).stdout);
  assert.deepEqual(all.counts, { ok: 1, failed: 2, skipped: 0 });
  assert.deepEqual(all.tests.map(({ name, outcome }: { name: string; outcome: string }) => [name, outcome]), [
    ["far", "ok"],
    ["odd", "failed"],
    ["locked", "failed"],
  ]);
  const status = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  assert.ok(status[0].transports.every(({ dials }: { dials: number }) => dials === 0));
});

peerTest("test reports a silent host after --timeout", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = silent.addr as Deno.NetAddr;
  await using home = await openSshHousehold(lab, {
    ssh: sshHostLines("silent", { port }),
    postern: ["transports: { silent: { ssh: silent } }"],
  });
  const { code, stdout } = await home.run(["test", "--timeout", "300ms"]);
  assert.equal(code, 7);
  assert.match(
    stdout,
    /^FAILED {3}silent .*\n +Cannot connect the transport "silent": not connected within 0\.3 s$/m,
  );
});

peerTest("config check and doctor report unusable ssh hosts", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const { home } = await household(lab);
  await using _home = home;
  const check = await home.run(["config", "check"]);
  assert.equal(check.code, 0, check.stderr);
  assert.match(
    check.stderr,
    /warning: transports\.odd cannot be used: \S+ssh_config:\d+: KnownHostsCommand of ssh odd/,
  );
  assert.match(check.stderr, /is valid, but 1 transport cannot be used: odd\n/);
  const json = JSON.parse((await home.run(["config", "check", "-o", "json"])).stdout);
  assert.deepEqual(json.errors, []);
  assert.deepEqual(
    json.transports.map(({ name, isUsable }: { name: string; isUsable: boolean }) => [name, isUsable]),
    [
      ["far", true],
      ["odd", false],
      ["locked", true],
    ],
  );
  const doctor = await home.run(["doctor"]);
  assert.equal(doctor.code, 7, doctor.stdout + doctor.stderr);
  assert.match(doctor.stdout, /^failed {2}transport "odd": \S+ssh_config:\d+: KnownHostsCommand/m);
  assert.match(
    doctor.stdout,
    /^ok {6}ssh host near: \S+ at 127\.0\.0\.1:\d+: 1 key to offer, host key known$/m,
  );
  assert.match(
    doctor.stdout,
    /^warning ssh host locked: \S+locked has a passphrase, and no agent holds it\n +ssh-add/m,
  );
});

peerTest("an instance applies a change of the ssh configuration by itself", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using site = new WebSite();
  const near = await lab.start("near");
  await Deno.mkdir(`${lab.directory}/conf.d`);
  await using home = await openSshHousehold(lab, {
    ssh: [`Include ${lab.directory}/conf.d/*`, ...sshHostLines("near", near, "KnownHostsCommand /bin/false")],
    postern: ["transports: { near: { ssh: near }, far: { ssh: far.invalid } }", "default: near"],
  });
  await using instance = await home.instance();
  const dial = () => home.run(["explain", "--dial", site.address]);
  assert.equal((await dial()).code, 4);
  const config = `${lab.directory}/ssh_config`;
  await Deno.writeTextFile(
    `${config}.new`,
    (await Deno.readTextFile(config)).replace(/.*KnownHosts.*\n/, ""),
  );
  await Deno.rename(`${config}.new`, config);
  await instance.says(/config\.reloaded/);
  const { code, stdout } = await dial();
  assert.equal(code, 0, stdout + instance.stderr);

  // A new file that matches a pattern is a change too.
  await Deno.writeTextFile(`${lab.directory}/conf.d/more`, sshHostLines("far.invalid", near).join("\n"));
  await instance.says(/config\.reloaded[^]*config\.reloaded/);
  const { transports: [, far] } = JSON.parse((await home.run(["config", "check", "-o", "json"])).stdout);
  assert.equal(far.isUsable, true);
  await eventually("the new address is known", async () => {
    const [{ transports }] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
    return transports.find(({ name }: { name: string }) => name === "far").detail.includes(`:${near.port}`);
  });
  // The session of the unchanged host was kept.
  assert.equal(near.signIns, 1);
});

peerTest("hosts of the ssh program are reported like the others", [...sshPeers, "ssh"], async (paths) => {
  await using lab = await SshLab.create(paths);
  await using site = new WebSite();
  const near = await lab.start("near");
  const config = await writeSshConfig(lab, sshHostLines("near", near, "CheckHostIP yes"));
  await using home = await Household.open();
  await home.configure(
    `ssh: { config: "${config}", hosts: { near: { engine: openssh } } }\n` +
      "transports: { near: { ssh: near } }\ndefault: near\n",
  );
  const check = await home.run(["config", "check"]);
  assert.deepEqual([check.code, check.stderr.includes("warning")], [0, false], check.stderr);
  const doctor = await home.run(["doctor"]);
  assert.match(doctor.stdout, /^ok {6}ssh program: OpenSSH_/m);
  const test = await home.run(["test"]);
  assert.match(test.stdout, /^ok {7}near +jump host +\d+ ms {2}near \d+ ms$/m, test.stdout + test.stderr);
  const explained = await home.run(["explain", "--dial", site.address]);
  assert.equal(explained.code, 0, explained.stdout + explained.stderr);
  assert.match(explained.stdout, /path {5}here > near \(ssh near/);
  await using instance = await home.instance();
  const through = await home.run(["explain", "--dial", site.address]);
  assert.equal(through.code, 0, through.stdout + instance.stderr);
  const [{ transports }] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  const { state, hops } = transports.find(({ name }: { name: string }) => name === "near");
  assert.deepEqual([state, hops.map(({ host, state }: Hop) => [host, state])], ["ready", [[
    "near",
    "ready",
  ]]]);
});

interface Hop {
  readonly host: string;
  readonly state: string;
  readonly reconnects: number;
}
