import assert from "node:assert/strict";
import { farSide } from "../support/far_side.ts";
import { gitEnv, GitServer, makeRepository } from "../support/git_server.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { writeSshConfig } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";

// ssh and the programs that use it, to a host whose name only the upstream proxy resolves.

const name = "git.lab.example";

const programs = ["ssh", "scp", "sftp", "rsync", "git"] as const;

peerTest(
  "ssh, scp, sftp, rsync and git work with ProxyCommand postern nc",
  [...sshPeers, ...programs],
  async (peers, t) => {
    await using stack = new AsyncDisposableStack();
    const lab = stack.use(await SshLab.create(peers));
    const server = await lab.start("server", { config: ["Subsystem sftp internal-sftp"] });
    await lab.know(name, `${server.keys[0]}.pub`);
    const far = stack.use(farSide({ [`${name}:22`]: `127.0.0.1:${server.port}` }));
    const home = stack.use(await Household.open());
    await home.configure(`
transports: { far: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: lab.example, via: far }]
`);
    const instance = stack.use(await home.instance());
    const { command, env } = home.commandLine(["nc", "%h", "%p"]);
    const proxyCommand = command.map((word) => `'${word}'`).join(" ");
    const config = await writeSshConfig(lab, ["Host *.lab.example", `  ProxyCommand ${proxyCommand}`]);
    const ssh = `${peers.ssh} -F ${config}`;
    const there = `${home.directory}/there`;
    await Deno.mkdir(there);
    const bytes = patternBytes(8 << 20, 5);
    await Deno.writeFile(`${home.directory}/file`, bytes);

    const run = async (program: string, args: readonly string[], stdin = "") => {
      const ended = await runPeer(program, args, {
        stdin,
        cwd: home.directory,
        env: { ...env, ...gitEnv(home.directory), GIT_SSH_COMMAND: ssh },
      });
      assert.equal(ended.code, 0, `${program}: ${ended.stderr}\n${instance.stderr}`);
      return ended.stdout;
    };
    const arrived = async (file: string) => {
      const got = await Deno.readFile(`${there}/${file}`);
      assert.ok(got.length === bytes.length && got.every((byte, at) => byte === bytes[at]), file);
    };

    await t.step("ssh", async () => {
      assert.equal(await run(peers.ssh, ["-F", config, name, "cat; echo done"], "sent\n"), "sent\ndone\n");
    });
    await t.step("scp", async () => {
      await run(peers.scp, ["-q", "-F", config, "file", `${name}:${there}/scp`]);
      await arrived("scp");
    });
    await t.step("sftp", async () => {
      await run(peers.sftp, ["-q", "-F", config, "-b", "-", name], `put file ${there}/sftp\n`);
      await arrived("sftp");
    });
    await t.step("rsync", async () => {
      await run(peers.rsync, ["--archive", "-e", ssh, "file", `${name}:${there}/rsync`]);
      await arrived("rsync");
    });
    await t.step("git clone and push", async () => {
      await makeRepository(peers.git, there, "project");
      await cloneAndPush(run, peers.git, { url: `${name}:${there}/project.git`, there, home });
    });
    await t.step("GIT_SSH_COMMAND with the option on the command line", async () => {
      const option = `${peers.ssh} -F ${config} -o ProxyCommand="${proxyCommand}"`;
      const { code, stdout, stderr } = await runPeer(peers.git, [
        ...["ls-remote", `${name}:${there}/project.git`, "main"],
      ], { env: { ...env, ...gitEnv(home.directory), GIT_SSH_COMMAND: option } });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^[0-9a-f]{40}\trefs\/heads\/main\n$/);
    });
    assert.doesNotMatch(instance.stderr, / (?:WARN|ERROR) /);
    await t.step("ssh shows why postern cannot connect", async () => {
      const { code, stderr } = await runPeer(peers.ssh, ["-F", config, "no.lab.example", "true"], { env });
      assert.equal(code, 255);
      assert.match(stderr, /^postern: error: Cannot reach no\.lab\.example/m);
    });
    assert.match(instance.stderr, /conn\.done .*target=git\.lab\.example:22 transport=far /);
  },
);

peerTest("git clones and pushes over HTTP through the proxy", ["git"], async ({ git }) => {
  await using home = await Household.open();
  const there = `${home.directory}/there`;
  await Deno.mkdir(there);
  await makeRepository(git, there, "project");
  await using web = new GitServer(git, there);
  await using far = farSide({ [`${name}:80`]: web.address });
  await home.configure(`
transports: { far: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: lab.example, via: far }]
`);
  await using instance = await home.instance();
  for (const scheme of ["http", "socks5h"]) {
    const env = { ...gitEnv(home.directory), http_proxy: `${scheme}://${await instance.address()}` };
    const run = async (program: string, args: readonly string[]) => {
      const { code, stdout, stderr } = await runPeer(program, args, { cwd: home.directory, env });
      assert.equal(code, 0, `${scheme}: ${stderr}\n${instance.stderr}`);
      return stdout;
    };
    await cloneAndPush(run, git, { url: `http://${name}/project.git`, there, home, branch: scheme });
  }
});

/** Clones the repository, adds a commit of 4 MB, pushes it to a branch, and checks that it has arrived. */
async function cloneAndPush(
  run: (program: string, args: readonly string[]) => Promise<string>,
  git: string,
  { url, there, home, branch = "topic" }: {
    readonly url: string;
    readonly there: string;
    readonly home: Household;
    readonly branch?: string;
  },
): Promise<void> {
  const clone = `${home.directory}/clone-${branch}`;
  await run(git, ["clone", "--quiet", url, clone]);
  assert.equal(await Deno.readTextFile(`${clone}/readme`), "hello\n");
  const random = new Uint8Array(4 << 20);
  for (let at = 0; at < random.length; at += 65_536) {
    crypto.getRandomValues(random.subarray(at, at + 65_536));
  }
  await Deno.writeFile(`${clone}/large`, random);
  await run(git, ["-C", clone, "add", "large"]);
  await run(git, ["-C", clone, "commit", "--quiet", "--message=second"]);
  await run(git, ["-C", clone, "push", "--quiet", "origin", `HEAD:${branch}`]);
  const wanted = await run(git, ["-C", clone, "rev-parse", "HEAD"]);
  assert.equal(await run(git, ["-C", `${there}/project.git`, "rev-parse", branch]), wanted);
}
