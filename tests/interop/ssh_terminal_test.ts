import assert from "node:assert/strict";
import { eventually, freePort, runPeer } from "../support/peer_program.ts";
import { type PeerPaths, peerTest } from "../support/peers.ts";
import { type AtTerminal, atTerminal, type TerminalSession } from "../support/pseudo_terminal.ts";
import { openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { WebSite } from "../support/web_site.ts";

const peers = [...sshPeers, "python", "curl"] as const;
const usual = { echo: true, lines: true };

/**
 * An instance at a separate terminal, whose only transport is an ssh host with a locked key; and one request
 * to it.
 */
async function askedByInstance(
  paths: PeerPaths<typeof peers[number]>,
  steps: readonly AtTerminal[],
): Promise<{ session: TerminalSession; answered: boolean; key: string; signIns: number }> {
  await using lab = await SshLab.create(paths);
  const near = await lab.start("near");
  const key = await lab.makeKey("locked", { passphrase: "open sesame" });
  await lab.accept("locked");
  await using site = new WebSite();
  await using home = await openSshHousehold(lab, {
    ssh: sshHostLines("near", near, `IdentityFile ${key}`, "IdentityAgent none", "PasswordAuthentication no"),
    postern: ["transports: { near: { ssh: near } }", "default: near"],
  });
  const instance = `127.0.0.1:${freePort()}`;
  const { command, env } = home.commandLine(["proxy", "--listen", instance]);
  const atItsTerminal = atTerminal(paths.python, command, { steps, env });
  const asking = (async () => {
    await eventually("the instance listens", async () => {
      const probe = await runPeer(paths.curl, ["-s", "--connect-timeout", "1", `http://${instance}/`]);
      return probe.code !== 7;
    });
    return await runPeer(paths.curl, [
      "-sSf",
      "--proxy",
      `socks5h://${instance}`,
      `http://${site.address}/seen`,
    ]);
  })();
  const [session, { code }] = await Promise.all([atItsTerminal, asking]);
  if (code === 0) await near.untilSignIns(1);
  return { session, answered: code === 0, key, signIns: near.signIns };
}

peerTest(
  "an instance at a terminal prompts for a passphrase when a request needs it",
  peers,
  async (paths) => {
    const { session, answered, key, signIns } = await askedByInstance(paths, [
      { until: "Passphrase of", press: "wrong\x15open sesame\r" },
      { until: "conn.done", signal: "TERM" },
    ]);
    assert.ok(answered, session.screen);
    assert.equal(signIns, 1);
    assert.ok(session.screen.includes(`Passphrase of ${key}: `));
    assert.doesNotMatch(session.screen, /wrong|sesame/);
    assert.deepEqual(session.during[0], { echo: false, lines: false });
    assert.deepEqual(session.during[1], usual);
    assert.deepEqual([session.code, session.after], [0, usual]);
  },
);

peerTest(
  "the interrupt key at a prompt stops the instance and restores the terminal",
  peers,
  async (paths) => {
    const { session, answered, signIns } = await askedByInstance(paths, [
      { until: "Passphrase of", press: "open\x03" },
    ]);
    assert.equal(answered, false);
    assert.equal(signIns, 0);
    assert.deepEqual([session.code, session.after], [0, usual], session.screen);
  },
);

peerTest("SIGTERM at a prompt stops the instance and restores the terminal", peers, async (paths) => {
  const { session, answered } = await askedByInstance(paths, [{ until: "Passphrase of", signal: "TERM" }]);
  assert.equal(answered, false);
  assert.deepEqual([session.code, session.after], [0, usual], session.screen);
});

peerTest(
  "an instance without a terminal does not prompt and suggests a fix",
  [...sshPeers, "curl"],
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const near = await lab.start("near");
    const key = await lab.makeKey("locked", { passphrase: "open sesame" });
    // The server accepts no other key.
    await Deno.copyFile(`${key}.pub`, `${lab.directory}/authorized_keys`);
    await using home = await openSshHousehold(lab, {
      ssh: sshHostLines("near", near, `IdentityFile ${key}`, "IdentityAgent none"),
      postern: ["transports: { near: { ssh: near } }", "default: near"],
    });
    await using instance = await home.instance();
    const { stdout } = await runPeer(paths.curl, [
      "-s",
      "--proxy",
      `http://${await instance.address()}`,
      "http://x.invalid/",
    ]);
    assert.ok(stdout.includes(`ssh-add ${key}`), `${stdout}\n${instance.stderr}`);
    const status = await home.run(["status", "-o", "json"]);
    assert.ok(status.stdout.includes(`add the key to the agent: ssh-add ${key}`), status.stdout);
  },
);
