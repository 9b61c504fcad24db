import assert from "node:assert/strict";
import { ncProgram } from "../support/nc_household.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";

peerTest(
  "ssh, scp and git reach a server through postern nc as ProxyCommand, with an instance and without",
  [...sshPeers, "ssh", "scp", "git"],
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const [near, far] = [
      await lab.start("near"),
      await lab.start("far", { config: ["Subsystem sftp internal-sftp"] }),
    ];
    await using home = await openSshHousehold(lab, {
      ssh: sshHostLines("near", near),
      postern: [
        "transports: { near: { ssh: near } }",
        "routes: [{ to: 127.0.0.1, via: near }]",
        "listen:",
        "  mixed: 127.0.0.1:0",
        `  auth: { users: [{ name: me, passwordFile: ${lab.directory}/password }] }`,
      ],
    });
    await Deno.writeTextFile(`${lab.directory}/password`, "a password of a listener\n");
    const data = patternBytes(3_000_000);
    await Deno.writeFile(`${lab.directory}/data`, data);
    const options = [
      ...["-F", "none", "-i", lab.key, "-o", "BatchMode=yes", "-o", `UserKnownHostsFile=${lab.knownHosts}`],
      ...["-o", `ProxyCommand=${await ncProgram(home)} nc %h %p`],
    ];
    const env = { HOME: home.directory };
    const there = `${lab.user}@127.0.0.1`;
    const use = async (name: string) => {
      const said = await runPeer(paths.ssh, [...options, "-p", String(far.port), there, "cat; echo done"], {
        stdin: "hello\n",
        env,
      });
      assert.deepEqual([said.code, said.stdout, said.stderr], [0, "hello\ndone\n", ""]);

      const copy = `${lab.directory}/${name}`;
      const scp = await runPeer(paths.scp, [
        ...["-q", "-S", paths.ssh, "-P", String(far.port), ...options],
        ...[`${lab.directory}/data`, `${there}:${copy}`],
      ], { env });
      assert.equal(scp.code, 0, scp.stderr);
      assert.deepEqual(await Deno.readFile(copy), data);

      const git = (...args: readonly string[]) =>
        runPeer(paths.git, args, {
          env: {
            ...env,
            GIT_SSH_COMMAND: [paths.ssh, ...options].map((word) => `'${word}'`).join(" "),
            GIT_CONFIG_GLOBAL: "/dev/null",
          },
        });
      const repository = `${lab.directory}/${name}.git`;
      const made = await git("init", "-q", "--bare", repository);
      assert.equal(made.code, 0, made.stderr);
      const seen = await git("ls-remote", `ssh://${there}:${far.port}${repository}`);
      assert.deepEqual([seen.code, seen.stdout], [0, ""], seen.stderr);
    };
    await use("without");
    await near.untilSignIns(3);
    await using instance = await home.instance();
    await use("with");
    // The three connections share one session of the instance.
    await near.untilSignIns(4);
    // ssh waits for the end of the output of its ProxyCommand, and keeps the input open.
    const killed = await runPeer(paths.ssh, [...options, "-p", String(far.port), there, "kill -9 $PPID"], {
      env,
    });
    assert.deepEqual([killed.code, killed.stdout], [255, ""], killed.stderr);
    assert.match(killed.stderr, /closed by remote host|Broken pipe/);
    assert.match(instance.stderr, /conn\.done .*protocol=nc .*outcome=done/);
  },
);

peerTest(
  "ssh with the Host blocks of postern ssh-config, which postern's own ssh reads too",
  [...sshPeers, "ssh"],
  async (paths) => {
    await using lab = await SshLab.create(paths);
    // The jump host has a name among those that it leads to.
    const near = await lab.start("near", { config: ["ListenAddress 127.0.0.2"] });
    const far = await lab.start("far");
    const blocks = `${lab.directory}/postern.conf`;
    await Deno.writeTextFile(blocks, "");
    await using home = await openSshHousehold(lab, {
      ssh: [
        `Include ${blocks}`,
        `Host 127.0.0.2`,
        `  Port ${near.port}`,
        `  HostKeyAlias [127.0.0.1]:${near.port}`,
      ],
      postern: ["transports: { near: { ssh: 127.0.0.2 } }", "routes: [{ to: 127.0.0.0/8, via: near }]"],
    });
    const postern = await ncProgram(home);
    const ssh = (host: string, port: number) =>
      runPeer(paths.ssh, [
        "-F",
        `${lab.directory}/ssh_config`,
        "-o",
        "BatchMode=yes",
        "-p",
        String(port),
        host,
        "echo hi",
      ], {
        env: { HOME: home.directory },
      });
    const printed = await home.run(["ssh-config"]);
    assert.equal(printed.code, 0, printed.stderr);
    assert.match(printed.stdout, /^Host 127\.\*\.\*\.\* !127\.0\.0\.2\n {2}ProxyCommand \S.* nc %h %p\n/m);

    // The program under test needs the variables of its home.
    const own = printed.stdout.replace(/(?<=^ {2}ProxyCommand ).*(?= nc %h)/m, postern);
    await Deno.writeTextFile(blocks, own);
    const shown = await ssh("127.0.0.1", far.port);
    assert.deepEqual([shown.code, shown.stdout], [0, "hi\n"], shown.stderr);
    await near.untilSignIns(1);
    await far.untilSignIns(1);

    // Without the exclusion, postern's own ssh ignores the ProxyCommand for its jump host.
    await Deno.writeTextFile(blocks, own.replace(" !127.0.0.2", ""));
    const again = await ssh("127.0.0.1", far.port);
    assert.deepEqual([again.code, again.stdout], [0, "hi\n"], again.stderr);
    await using _instance = await home.instance();
    const third = await ssh("127.0.0.1", far.port);
    assert.deepEqual([third.code, third.stdout], [0, "hi\n"], third.stderr);
  },
);

const loops = [
  { engine: "builtin", hasInstance: true },
  { engine: "builtin", hasInstance: false },
  { engine: "openssh", hasInstance: false },
] as const;
for (const { engine, hasInstance } of loops) {
  const instance = hasInstance ? "with" : "without";
  peerTest(
    `postern nc in a script as ProxyCommand refuses to wait for itself, ${instance} an instance, engine ${engine}`,
    [...sshPeers, "ssh"],
    async (paths) => {
      await using lab = await SshLab.create(paths);
      const near = await lab.start("near");
      const script = `${lab.directory}/via`;
      await using home = await openSshHousehold(lab, {
        ssh: sshHostLines("near", near, `ProxyCommand ${script} %h %p`),
        postern: ["transports: { near: { ssh: near } }", "routes: [{ to: 127.0.0.1, via: near }]"],
        section: engine === "openssh" ? ["hosts: { near: { engine: openssh } }"] : [],
      });
      const postern = await ncProgram(home);
      await Deno.writeTextFile(script, `#!/bin/sh\nexec ${postern} nc "$@"\n`, { mode: 0o755 });
      await using _instance = hasInstance ? await home.instance() : undefined;
      const { code, stderr } = await home.run(["nc", "127.0.0.1", String(near.port)]);
      assert.equal(code, 6, stderr);
      assert.match(stderr, /the ProxyCommand of ssh host "near" requests it.*would be a loop/);
    },
  );
}
