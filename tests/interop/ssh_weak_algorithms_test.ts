import assert from "node:assert/strict";
import type { SshHost } from "../../src/ssh/mod.ts";
import { peerTest } from "../support/peers.ts";
import { SshAgent, sshAgentPeers } from "../support/ssh_agent.ts";
import { SshTransports } from "../support/ssh_transports.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";

const signal = new AbortController().signal;
const keysOnly = { password: false, kbdInteractive: false };

async function signIn(lab: SshLab, sshd: Sshd, more: Partial<SshHost> = {}): Promise<void> {
  await using ssh = new SshTransports([lab.host(sshd, { ...keysOnly, ...more })]);
  await ssh.to(sshd.name).connect({ signal });
}

const modern = ["ssh-ed25519", "rsa-sha2-512", "rsa-sha2-256"];

peerTest(
  "a host key is accepted with SHA-1 only if HostKeyAlgorithms names ssh-rsa",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1", { hostKeys: ["rsa"], config: ["HostKeyAlgorithms ssh-rsa"] });
    await assert.rejects(signIn(lab, sshd), { code: "protocol", message: /host key/ });
    await assert.rejects(signIn(lab, sshd, { hostKeyAlgorithms: modern }), { code: "protocol" });
    await signIn(lab, sshd, { hostKeyAlgorithms: [...modern, "ssh-rsa"] });
    await sshd.untilSignIns(1);
    // The signature is checked and the key compared.
    await Deno.writeTextFile(lab.knownHosts, "");
    await lab.know(`[127.0.0.1]:${sshd.port}`, `${await lab.makeKey("other", { type: "rsa" })}.pub`);
    await assert.rejects(signIn(lab, sshd, { hostKeyAlgorithms: ["ssh-rsa"] }), {
      code: "auth",
      message: /host key|changed/,
    });
    await sshd.untilSignIns(1);
  },
);

peerTest(
  "a key signs with SHA-1 only if PubkeyAcceptedAlgorithms names ssh-rsa",
  [...sshPeers, ...sshAgentPeers],
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1", {
      config: ["PubkeyAcceptedAlgorithms ssh-rsa"],
    });
    const key = await lab.makeKey("rsa", { type: "rsa" });
    await lab.accept("rsa");
    await using agent = new SshAgent(`${lab.directory}/agent`, paths);
    await agent.add(key);
    // OpenSSH announces algorithms that it does not accept, so SHA-1 is the only one to try.
    const old = { pubkeyAcceptedAlgorithms: ["ssh-rsa"] };
    const ways = [{ identityFiles: [key] }, { identityFiles: [], identityAgent: agent.path }];
    for (const [at, way] of ways.entries()) {
      await assert.rejects(signIn(lab, sshd, way), { code: "auth" });
      await signIn(lab, sshd, { ...way, ...old });
      await sshd.untilSignIns(at + 1);
    }
    // If a server supports better algorithms, postern uses them.
    const able = await lab.start("able", {
      config: ["PubkeyAcceptedAlgorithms +ssh-rsa", "LogLevel DEBUG1"],
    });
    const both = { pubkeyAcceptedAlgorithms: [...modern, "ssh-rsa"] };
    await signIn(lab, able, { identityFiles: [key], ...both });
    assert.match(able.log, /rsa-sha2-512/);
    assert.doesNotMatch(able.log, /userauth_pubkey: .*pkalg ssh-rsa /);
  },
);

peerTest("RequiredRSASize rejects short keys, the server's and the user's", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1", { hostKeys: ["rsa", "ed25519"] });
  const key = await lab.makeKey("rsa", { type: "rsa" });
  const locked = await lab.makeKey("locked", { type: "rsa", passphrase: "words" });
  await lab.accept("rsa");
  await signIn(lab, sshd, { identityFiles: [key], requiredRsaSize: 2048 });
  const short = { identityFiles: [key, locked], requiredRsaSize: 3072, hostKeyAlgorithms: ["ssh-ed25519"] };
  await assert.rejects(signIn(lab, sshd, short), {
    code: "auth",
    message:
      /no key to offer.*cannot use .*rsa: the key has 2048 bits, but RequiredRSASize is 3072.*locked: the key has 2048/,
  });
  await signIn(lab, sshd, { ...short, identityFiles: [key, lab.key] });
  await sshd.untilSignIns(2);
  await assert.rejects(signIn(lab, sshd, { hostKeyAlgorithms: ["rsa-sha2-512"], requiredRsaSize: 3072 }), {
    code: "auth",
    message: /Cannot trust the host key .*2048 bits, but RequiredRSASize is 3072/,
  });
  await sshd.untilSignIns(2);
});
