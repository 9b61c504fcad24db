import assert from "node:assert/strict";
import { PosternError, socks5Reply } from "../../src/words/mod.ts";
import { silentLog } from "../../src/core/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { HostKeys } from "../../src/ssh/host_keys/host_keys.ts";
import { openSshSession } from "../../src/ssh/session/open_ssh_session.ts";
import type { SshHost } from "../../src/ssh/mod.ts";
import { peerTest } from "../support/peers.ts";
import { type HostKeyType, type Sshd, SshLab, sshPeers } from "../support/sshd.ts";

const { signal } = new AbortController();

/** Signs in with the current files, and disconnects. */
async function signInOnce(host: SshHost): Promise<void> {
  const files = createFiles(systemClock);
  const network = createNetwork();
  const hostKeys = new HostKeys({ files, clock: systemClock, log: silentLog });
  const conn = await network.connect({ host: host.hostName, port: host.port }, { signal });
  const deps = { network, clock: systemClock, files, hostKeys, keepalive: 3000, deadAfter: 6000 };
  await using _session = await openSshSession(conn, host, { deps, signal });
}

async function publicKey(server: Sshd, type: HostKeyType): Promise<string> {
  const file = server.keys.find((key) => key.endsWith(type));
  return (await Deno.readTextFile(`${file}.pub`)).split(" ").slice(0, 2).join(" ");
}

/** A host with only these known lines. */
async function knownBy(
  { lab, server, more = {} }: { lab: SshLab; server: Sshd; more?: Partial<SshHost> },
  lines: string,
): Promise<SshHost> {
  const file = `${lab.directory}/known_${crypto.randomUUID()}`;
  await Deno.writeTextFile(file, lines);
  return lab.host(server, { userKnownHostsFiles: [file], ...more });
}

peerTest(
  "a session requests the known host key from a server with several keys",
  sshPeers,
  async (
    paths,
  ) => {
    await using lab = await SshLab.create(paths);
    const types: readonly HostKeyType[] = ["ed25519", "ecdsa", "rsa"];
    const server = await lab.start("jump", { hostKeys: types });
    for (const type of types) {
      const key = await publicKey(server, type);
      await signInOnce(await knownBy({ lab, server }, `[127.0.0.1]:${server.port} ${key}\n`));
    }
    assert.equal(server.signIns, types.length);
  },
);

peerTest("a session finds the key under HostKeyAlias without the port", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const server = await lab.start("jump");
  const key = await publicKey(server, "ed25519");
  await signInOnce(await knownBy({ lab, server, more: { hostKeyAlias: "lab" } }, `lab ${key}\n`));
  assert.equal(server.signIns, 1);
});

peerTest(
  "a session ends before the sign-in when the key is changed, unknown or revoked",
  sshPeers,
  async (
    paths,
  ) => {
    await using lab = await SshLab.create(paths);
    const server = await lab.start("jump");
    const key = await publicKey(server, "ed25519");
    const other = (await Deno.readTextFile(`${lab.key}.pub`)).split(" ").slice(0, 2).join(" ");
    const name = `[127.0.0.1]:${server.port}`;
    const cases = [
      {
        lines: `${name} ${other}\n`,
        says: /the key has changed: the server shows ED25519 SHA256:.*:1 has ED25519 SHA256:/,
      },
      { lines: "", says: /which is not known/ },
      { lines: `@revoked * ${key}\n${name} ${key}\n`, says: /:1 revokes/ },
      { lines: `@cert-authority * ${other}\n`, says: /only a certificate/ },
    ];
    for (const { lines, says } of cases) {
      const host = await knownBy({ lab, server }, lines);
      await assert.rejects(signInOnce(host), (error) => {
        assert.ok(error instanceof PosternError, String(error));
        assert.equal(socks5Reply(error), 2);
        assert.match(error.message, says);
        return true;
      });
    }
    assert.equal(server.signIns, 0);
  },
);

peerTest(
  "a session with accept-new records the server's key, and requires it later",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const server = await lab.start("jump", { hostKeys: ["ed25519", "ecdsa"] });
    const host = await knownBy({ lab, server, more: { strictHostKeyChecking: "accept-new" } }, "");
    await signInOnce(host);
    await signInOnce({ ...host, strictHostKeyChecking: "yes" });
    const [file = ""] = host.userKnownHostsFiles;
    assert.equal(
      await Deno.readTextFile(file),
      `[127.0.0.1]:${server.port} ${await publicKey(server, "ed25519")}\n`,
    );
    assert.equal(server.signIns, 2);
  },
);
