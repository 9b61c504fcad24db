import assert from "node:assert/strict";
import type { SshHost } from "../../src/ssh/mod.ts";
import { peerTest } from "../support/peers.ts";
import { SshAgent, sshAgentPeers } from "../support/ssh_agent.ts";
import { SshTransports, type SshTransportsOptions } from "../support/ssh_transports.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";

const signal = new AbortController().signal;
const agentPeers = [...sshPeers, ...sshAgentPeers] as const;

/** Signs in with other settings than the default. */
async function signIn(
  lab: SshLab,
  sshd: Sshd,
  more: Partial<SshHost>,
  options: SshTransportsOptions = {},
): Promise<void> {
  await using ssh = new SshTransports([lab.host(sshd, more)], options);
  await ssh.to(sshd.name).connect({ signal });
}

const keyKinds = [
  { name: "an ed25519 key", type: "ed25519", more: [] },
  { name: "an ecdsa key", type: "ecdsa", more: [] },
  { name: "an ecdsa key of 521 bits in PEM", type: "ecdsa", more: ["-b", "521", "-m", "PEM"] },
  { name: "an rsa key", type: "rsa", more: [] },
  { name: "an rsa key in PEM", type: "rsa", more: ["-m", "PEM"] },
  { name: "an rsa key in PKCS #8", type: "rsa", more: ["-m", "PKCS8"] },
  { name: "an ecdsa key in PKCS #8", type: "ecdsa", more: ["-m", "PKCS8"] },
] as const;

for (const { name, type, more } of keyKinds) {
  peerTest(`signInToSsh() uses ${name} of a file, locked or not`, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1");
    const key = await lab.makeKey("key", { type, more });
    const locked = await lab.makeKey("locked", { type, more, passphrase: "secret words" });
    await lab.accept("key");
    await lab.accept("locked");
    await signIn(lab, sshd, { identityFiles: [key] });
    assert.equal(sshd.signIns, 1);
    const asked: string[] = [];
    await signIn(lab, sshd, { identityFiles: [locked] }, {
      prompt: ({ text }) => Promise.resolve((asked.push(text), "secret words")),
    });
    assert.deepEqual(asked, [`Passphrase of ${locked}: `]);
    assert.equal(sshd.signIns, 2);
    await assert.rejects(signIn(lab, sshd, { identityFiles: [locked] }), {
      code: "auth",
      hint: `add the key to the agent: ssh-add ${locked}`,
    });
    const wrong = { prompt: () => Promise.resolve("something else") };
    await assert.rejects(signIn(lab, sshd, { identityFiles: [locked] }, wrong), { code: "auth" });
  });
}

peerTest("signInToSsh() reports that there is no key, and how to get one", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  await assert.rejects(signIn(lab, sshd, { identityFiles: [`${lab.directory}/missing`] }), {
    code: "auth",
    message: /Cannot sign in to ssh jump1 as .*no key to offer/,
    hint: /start an ssh agent|ssh-copy-id/,
  });
  await assert.rejects(signIn(lab, sshd, { identityFiles: [], identityAgent: `${lab.directory}/none` }), {
    code: "auth",
    message: /cannot reach the ssh agent at \S+: no such socket/,
  });
});

peerTest(
  "signInToSsh() notices a restarted agent, and its new keys",
  agentPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1");
    const socket = `${lab.directory}/agent`;
    const settings = { identityFiles: [], identityAgent: socket };
    await using ssh = new SshTransports([lab.host(sshd, settings)]);
    const transport = ssh.to("jump1");
    {
      await using agent = new SshAgent(socket, paths);
      await agent.add(await lab.makeKey("stranger"));
      await assert.rejects(transport.connect({ signal }), { code: "auth", message: /stranger of the agent/ });
      await agent.add(lab.key);
      await transport.connect({ signal });
      assert.equal(sshd.signIns, 1);
    }
    await using agent = new SshAgent(socket, paths);
    for (const type of ["rsa", "ecdsa"] as const) {
      await agent.add(await lab.makeKey(type, { type }));
      await lab.accept(type);
    }
    await signIn(lab, sshd, settings);
    assert.match(sshd.log.split("Accepted").at(-1) ?? "", /RSA/);
  },
);

peerTest(
  "signInToSsh() offers configured keys first, within MaxAuthTries",
  agentPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1", { config: ["MaxAuthTries 3"] });
    await using agent = new SshAgent(`${lab.directory}/agent`, paths);
    for (let at = 0; at < 6; at++) await agent.add(await lab.makeKey(`stranger${at}`));
    await agent.add(lab.key);
    const settings = { identityAgent: agent.path };
    await signIn(lab, sshd, settings);
    await assert.rejects(signIn(lab, sshd, { ...settings, identityFiles: [] }), {
      code: "auth",
      message: /Too many authentication failures/i,
      hint: /IdentitiesOnly/,
    });
    // A public key only selects that key in the agent.
    await Deno.rename(lab.key, `${lab.key}.away`);
    await signIn(lab, sshd, { ...settings, identitiesOnly: true });
    assert.equal(sshd.signIns, 2);
  },
);

peerTest(
  "signInToSsh() survives an agent that hangs, refuses or sends invalid answers",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1");
    const answers = [
      undefined,
      [0, 0, 0, 1, 5],
      [255, 255, 255, 255],
      [0, 0, 0, 9, 12, 0, 0, 0, 2, 0, 0, 0, 1],
      [],
    ];
    for (const [at, answer] of answers.entries()) {
      const path = `${lab.directory}/agent${at}`;
      using listener = Deno.listen({ transport: "unix", path });
      const serving = (async () => {
        using client = await listener.accept();
        await client.read(new Uint8Array(100));
        if (answer) await client.write(Uint8Array.from(answer));
        // Until the peer closes the connection.
        if (!answer) await client.read(new Uint8Array(1)).catch(() => null);
      })();
      await signIn(lab, sshd, { identityAgent: path });
      await serving;
      assert.equal(sshd.signIns, at + 1);
    }
  },
);

for (const type of ["ed25519", "ecdsa", "rsa"] as const) {
  peerTest(
    `signInToSsh() uses a certificate for an ${type} key, of a file and of an agent`,
    agentPeers,
    async (paths) => {
      await using lab = await SshLab.create(paths);
      const authority = await lab.makeKey("authority");
      const sshd = await lab.start("jump1", { config: [`TrustedUserCAKeys ${authority}.pub`] });
      const key = await lab.makeKey("certified", { type });
      await assert.rejects(signIn(lab, sshd, { identityFiles: [key] }), { code: "auth" });
      await lab.keygen("-q", "-s", authority, "-I", "me", "-n", lab.user, `${key}.pub`);
      await signIn(lab, sshd, { identityFiles: [key] });
      assert.match(sshd.log, /Accepted publickey .*-CERT/i);
      await using agent = new SshAgent(`${lab.directory}/agent`, paths);
      await agent.add(key);
      await signIn(lab, sshd, { identityFiles: [], identityAgent: agent.path });
      assert.equal(sshd.signIns, 2);
    },
  );
}

peerTest("signInToSsh() continues after a partial success", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1", { config: ["AuthenticationMethods publickey,publickey"] });
  const second = await lab.makeKey("second");
  await lab.accept("second");
  await assert.rejects(signIn(lab, sshd, {}), { code: "auth" });
  await signIn(lab, sshd, { identityFiles: [lab.key, second] });
});

peerTest(
  "host keys: only ed25519 of several is known, and an alias is looked up without a port",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1", { hostKeys: ["rsa", "ecdsa", "ed25519"] });
    await Deno.writeTextFile(lab.knownHosts, "");
    await lab.know(`[127.0.0.1]:${sshd.port}`, `${sshd.keys[2]}.pub`);
    await signIn(lab, sshd, {});
    for (const at of [0, 1]) {
      await Deno.writeTextFile(lab.knownHosts, "");
      await lab.know("some-alias", `${sshd.keys[at]}.pub`);
      await signIn(lab, sshd, { hostKeyAlias: "some-alias" });
    }
    await assert.rejects(signIn(lab, sshd, {}), { code: "auth", message: /host key/ });
    await signIn(lab, sshd, { strictHostKeyChecking: "accept-new" });
    await signIn(lab, sshd, {});
    assert.equal(sshd.signIns, 5);
  },
);

for (
  const [list, value] of [
    ["ciphers", "aes128-gcm@openssh.com"],
    ["ciphers", "aes256-gcm@openssh.com"],
    ["ciphers", "aes256-ctr"],
    ["ciphers", "chacha20-poly1305@openssh.com"],
    ["macs", "hmac-sha2-512-etm@openssh.com"],
    ["macs", "hmac-sha2-256"],
    ["kexAlgorithms", "curve25519-sha256"],
    ["kexAlgorithms", "ecdh-sha2-nistp384"],
    ["kexAlgorithms", "diffie-hellman-group-exchange-sha256"],
    ["kexAlgorithms", "diffie-hellman-group14-sha256"],
  ] as const
) {
  peerTest(`SshEngine supports ${list} ${value}`, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1");
    await signIn(lab, sshd, { [list]: [value], ...(list === "macs" && { ciphers: ["aes128-ctr"] }) });
    assert.equal(sshd.signIns, 1);
  });
}

peerTest(
  "SshEngine names a list of unknown algorithms, and a list without a common one",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1", { config: ["Ciphers aes256-ctr"] });
    await assert.rejects(signIn(lab, sshd, { macs: ["umac-128@openssh.com"] }), {
      code: "config",
      message: /none of its MACs/,
    });
    await assert.rejects(signIn(lab, sshd, { ciphers: ["aes128-ctr"] }), {
      code: "protocol",
      message: /no matching C->S cipher/,
    });
  },
);
