import assert from "node:assert/strict";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { SshTransports } from "../support/ssh_transports.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";

const signal = new AbortController().signal;
const keysOnly = { password: false, kbdInteractive: false };

/** Damages a new key at a separate path. */
const faults: readonly {
  readonly name: string;
  readonly spoil: (path: string, sh: string) => Promise<unknown>;
  /** The error about the file, if there is one. */
  readonly says?: RegExp;
}[] = [
  {
    name: "that is a directory",
    spoil: async (path) => (await Deno.remove(path), await Deno.mkdir(path)),
    says: /directory/,
  },
  {
    name: "that is a pipe without a writer",
    spoil: async (
      path,
      sh,
    ) => (await Deno.remove(path), await runPeer(sh, ["-c", `mkfifo "$1"`, "sh", path])),
    says: /not a (regular )?file/,
  },
  {
    name: "of a megabyte",
    spoil: (path) => Deno.writeTextFile(path, "x".repeat(1_000_000)),
    says: /more than|larger|bytes/,
  },
  { name: "that is empty", spoil: (path) => Deno.writeTextFile(path, ""), says: /spoilt holds no key/ },
  {
    name: "that is not a key",
    spoil: (path) => Deno.writeFile(path, new Uint8Array(1000).fill(0xff)),
    says: /spoilt.*not UTF-8/,
  },
  {
    name: "that is truncated",
    spoil: async (path) => {
      const text = await Deno.readTextFile(path);
      await Deno.writeTextFile(path, `${text.slice(0, 200)}\n-----END OPENSSH PRIVATE KEY-----\n`);
    },
  },
  {
    name: "with other bytes in it",
    spoil: async (path) => {
      const lines = (await Deno.readTextFile(path)).split("\n");
      lines[3] = "A".repeat(lines[3]?.length ?? 0);
      await Deno.writeTextFile(path, lines.join("\n"));
    },
  },
  {
    name: "with a damaged public key file",
    spoil: (path) => Deno.writeTextFile(`${path}.pub`, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\n"),
  },
  {
    name: "with a damaged certificate file",
    spoil: (path) => Deno.writeTextFile(`${path}-cert.pub`, "ssh-ed25519-cert-v01@openssh.com AAAA\n"),
  },
];

for (const { name, spoil, says } of faults) {
  peerTest(`signInToSsh() skips a key file ${name}`, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1");
    const spoilt = await lab.makeKey("spoilt");
    await spoil(spoilt, paths.sh);
    await using ssh = new SshTransports([
      lab.host(sshd, { ...keysOnly, identityFiles: [spoilt, lab.key] }),
      lab.host({ name: "only", port: sshd.port }, { ...keysOnly, identityFiles: [spoilt] }),
    ]);
    await ssh.to("jump1").connect({ signal });
    await sshd.untilSignIns(1);
    await assert.rejects(ssh.to("only").connect({ signal }), (error) => {
      assert.ok(error instanceof Error);
      assert.equal("code" in error && error.code, "auth");
      if (says) assert.match(error.message, says);
      assert.doesNotMatch(error.message, /PRIVATE KEY|b3BlbnNzaC1rZXktdjE/);
      return true;
    });
  });
}
