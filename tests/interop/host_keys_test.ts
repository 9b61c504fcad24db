import assert from "node:assert/strict";
import { createFiles } from "../../src/runtime/files/files.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { HostKeys, type HostKeySettings } from "../../src/ssh/host_keys/host_keys.ts";
import { decodePaddedBase64 } from "../../src/ssh/keys/ssh_keys.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { recordingLog } from "../support/recording_log.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";

const peers = [...sshPeers, "ssh"] as const;
const { signal } = new AbortController();

function hostKeys(): HostKeys {
  return new HostKeys({ files: createFiles(systemClock), clock: systemClock, log: recordingLog() });
}

/** `TYPE BASE64` of a server's key. */
async function publicKey(server: Sshd, type: "ed25519" | "ecdsa" | "rsa"): Promise<string> {
  const file = server.keys.find((key) => key.endsWith(type));
  return (await Deno.readTextFile(`${file}.pub`)).split(" ").slice(0, 2).join(" ");
}

function blobOf(text: string): Uint8Array<ArrayBuffer> {
  const blob = decodePaddedBase64(text.split(" ")[1] ?? "");
  assert.ok(blob, text);
  return blob;
}

/** Whether ssh accepts a server that shows its key of the first algorithm that it supports. */
async function sshAccepts(
  ssh: string,
  { lab, host, algorithms }: { lab: SshLab; host: HostKeySettings; algorithms: readonly string[] },
): Promise<boolean> {
  const options = [
    "BatchMode=yes",
    "LogLevel=ERROR",
    "IdentityAgent=none",
    `IdentityFile=${lab.key}`,
    `UserKnownHostsFile=${host.userKnownHostsFiles.join(" ")}`,
    `GlobalKnownHostsFile=${host.globalKnownHostsFiles.join(" ") || "none"}`,
    `StrictHostKeyChecking=${host.strictHostKeyChecking}`,
    `HashKnownHosts=${host.hashKnownHosts ? "yes" : "no"}`,
    `HostKeyAlgorithms=${algorithms.join(",")}`,
    ...host.hostKeyAlias === undefined ? [] : [`HostKeyAlias=${host.hostKeyAlias}`],
  ];
  const { code, stderr } = await runPeer(ssh, [
    ...["-F", "none", "-p", String(host.port)],
    ...options.flatMap((option) => ["-o", option]),
    ...[host.hostName, "true"],
  ]);
  if (code === 0) return true;
  assert.match(stderr, /Host key verification failed/);
  return false;
}

/**
 * The contents of the files. `PORT` is the server's port, `ED` and `RSA` are its keys, `NEW` is another key.
 */
interface Case {
  readonly name: string;
  readonly user?: string;
  readonly global?: string;
  readonly host?: Partial<HostKeySettings>;
  readonly accepts: boolean;
  /** Set when ssh accepts the server and postern deliberately does not. */
  readonly differs?: true;
}

const own = "[127.0.0.1]:PORT";
const takesNew = { strictHostKeyChecking: "accept-new" } as const;
const cases: readonly Case[] = [
  { name: "nothing", accepts: false },
  { name: "the key", user: `${own} ED`, accepts: true },
  { name: "the key in the global file", global: `${own} ED`, accepts: true },
  { name: "the key in a list", user: `other,${own} ED`, accepts: true },
  { name: "the key for a pattern", user: "[127.0.0.?]:* ED", accepts: true },
  { name: "a pattern that excludes it", user: "*,!*127.0.0.1* ED", accepts: false },
  { name: "a pattern that excludes it with the port only", user: `*,!${own} ED`, accepts: true },
  { name: "the name without its port", user: "127.0.0.1 ED", accepts: true },
  {
    name: "the name without its port, another key for the port",
    user: `127.0.0.1 ED\n${own} NEW`,
    accepts: false,
  },
  { name: "another key", user: `${own} NEW`, accepts: false },
  { name: "another key first", user: `${own} NEW\n${own} ED`, accepts: true },
  { name: "another key in the global file", user: `${own} ED`, global: `${own} NEW`, accepts: true },
  { name: "a key of another type", user: `${own} RSA`, accepts: false },
  { name: "revoked for all", user: `@revoked * ED\n${own} ED`, accepts: false },
  { name: "revoked in a later file", user: `${own} ED`, global: `@revoked ${own} ED`, accepts: false },
  { name: "another one revoked", user: `@revoked * NEW\n${own} ED`, accepts: true },
  { name: "revoked for another host", user: `@revoked other ED\n${own} ED`, accepts: true },
  {
    name: "revoked with a tab after the marker",
    user: `@revoked\t* ED\n${own} ED`,
    accepts: false,
    differs: true,
  },
  { name: "an authority", user: "@cert-authority * NEW", accepts: false },
  { name: "the key as an authority", user: `@cert-authority ${own} ED`, accepts: false },
  {
    name: "broken lines and the key",
    user: `${own} ssh-ed25519 AAAA\n@x ${own} ED\n${own}\n${own} ED`,
    accepts: true,
  },
  { name: "an alias", user: "lab ED", host: { hostKeyAlias: "lab" }, accepts: true },
  { name: "an alias in capitals", user: "lab ED", host: { hostKeyAlias: "LAB" }, accepts: true },
  { name: "an alias with a port", user: `[lab]:PORT ED`, host: { hostKeyAlias: "lab" }, accepts: false },
  {
    name: "an alias when only the name is known",
    user: `${own} ED`,
    host: { hostKeyAlias: "lab" },
    accepts: false,
  },
  { name: "accept-new", host: takesNew, accepts: true },
  { name: "accept-new, hashed", host: { ...takesNew, hashKnownHosts: true }, accepts: true },
  { name: "accept-new under an alias", host: { ...takesNew, hostKeyAlias: "Lab" }, accepts: true },
  { name: "accept-new after other lines", user: "# mine\nother NEW\n", host: takesNew, accepts: true },
  { name: "accept-new of a changed key", user: `${own} NEW`, host: takesNew, accepts: false },
  { name: "accept-new, changed in the global file", global: `${own} NEW`, host: takesNew, accepts: false },
  { name: "accept-new of another type", user: `${own} RSA`, host: takesNew, accepts: false },
  { name: "accept-new of a revoked key", user: "@revoked * ED", host: takesNew, accepts: false },
  {
    name: "accept-new of a key revoked for the name",
    user: "@revoked 127.0.0.1 ED",
    host: takesNew,
    accepts: false,
    differs: true,
  },
  {
    name: "accept-new with a known authority",
    user: "@cert-authority * NEW",
    host: takesNew,
    accepts: false,
    differs: true,
  },
  { name: "accept-new into no file", host: { ...takesNew, userKnownHostsFiles: ["none"] }, accepts: false },
  {
    name: "accept-new into /dev/null",
    host: { ...takesNew, userKnownHostsFiles: ["/dev/null"] },
    accepts: true,
  },
];

peerTest("HostKeys.decide() accepts what ssh accepts, and leaves the same files", peers, async (paths) => {
  await using lab = await SshLab.create(paths);
  // Newer servers lock out clients that often disconnect early, so each server handles only some cases.
  for (let at = 0; at < cases.length; at += 10) {
    const server = await lab.start(`jump${at}`, { hostKeys: ["ed25519", "rsa"] });
    for (const row of cases.slice(at, at + 10)) await checkCase(row, { lab, server, ssh: paths.ssh });
  }
});

async function checkCase(row: Case, { lab, server, ssh }: { lab: SshLab; server: Sshd; ssh: string }) {
  const shown = await publicKey(server, "ed25519");
  const words: Record<string, string> = {
    PORT: String(server.port),
    ED: shown,
    RSA: await publicKey(server, "rsa"),
    NEW: (await Deno.readTextFile(`${lab.key}.pub`)).split(" ").slice(0, 2).join(" "),
  };
  const fill = (text = "") => text.replace(/\b(PORT|ED|RSA|NEW)\b/g, (word) => words[word] ?? "");
  const [userFile, globalFile] = [`${lab.directory}/user`, `${lab.directory}/global`];
  const host: HostKeySettings = lab.host(server, {
    userKnownHostsFiles: [userFile],
    globalKnownHostsFiles: [globalFile],
    ...row.host,
  });
  const reset = async () => {
    for (const [file, text] of [[userFile, row.user], [globalFile, row.global]] as const) {
      await Deno.remove(file).catch(() => {});
      if (text !== undefined) await Deno.writeTextFile(file, text === "" ? "" : `${fill(text).trimEnd()}\n`);
    }
  };
  const left = async () => await Deno.readTextFile(userFile).catch(() => undefined);
  await reset();
  const theirs = await sshAccepts(ssh, { lab, host, algorithms: ["ssh-ed25519"] });
  const theirFile = await left();
  await reset();
  const ours = await hostKeys().decide(host, blobOf(shown), { signal });
  const ourFile = await left();
  assert.equal(ours.isAccepted, row.accepts, `${row.name}: ${JSON.stringify(ours)}`);
  assert.equal(theirs, row.differs ? !row.accepts : row.accepts, `${row.name}: ssh itself`);
  if (row.differs) return;
  if (host.hashKnownHosts) {
    const salted = /\|1\|\S+/;
    assert.match(ourFile ?? "", salted);
    assert.equal(ourFile?.replace(salted, ""), theirFile?.replace(salted, ""), row.name);
    assert.ok(await sshAccepts(ssh, { lab, host, algorithms: ["ssh-ed25519"] }), "ssh reads the file");
    assert.equal(await left(), ourFile);
  } else assert.equal(ourFile, theirFile, row.name);
}

const supported = ["ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256"];

peerTest("HostKeys.algorithms() makes a server show the known key", peers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const server = await lab.start("jump", { hostKeys: ["ed25519", "ecdsa", "rsa"] });
  for (const type of ["ed25519", "ecdsa", "rsa"] as const) {
    for (const name of [`[127.0.0.1]:${server.port}`, "127.0.0.1"]) {
      const file = `${lab.directory}/only_${type}`;
      await Deno.writeTextFile(file, `${name} ${await publicKey(server, type)}\n`);
      const host = lab.host(server, { userKnownHostsFiles: [file] });
      const algorithms = await hostKeys().algorithms(host, supported);
      assert.deepEqual([...algorithms].sort(), [...supported].sort());
      assert.ok(await sshAccepts(paths.ssh, { lab, host, algorithms }), `${type} of ${name}`);
    }
  }
  const reversed = lab.host(server, { userKnownHostsFiles: [`${lab.directory}/only_rsa`] });
  assert.ok(
    !await sshAccepts(paths.ssh, { lab, host: reversed, algorithms: supported }),
    "the order matters",
  );
});
