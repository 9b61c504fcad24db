import assert from "node:assert/strict";
import { createFiles } from "../../src/runtime/files/files.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { HostKeys, type HostKeySettings } from "../../src/ssh/host_keys/host_keys.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { recordingLog } from "../support/recording_log.ts";
import { blobOf, keyText } from "../support/ssh_public_keys.ts";

const { signal } = new AbortController();
const isPosix = Deno.build.os !== "windows";

function hostKeys(): HostKeys {
  return new HostKeys({ files: createFiles(systemClock), clock: systemClock, log: recordingLog() });
}

function settings(file: string, hostName = "jump.example"): HostKeySettings {
  return {
    alias: "jump",
    hostName,
    port: 22,
    userKnownHostsFiles: [file],
    globalKnownHostsFiles: [],
    strictHostKeyChecking: "accept-new",
    hashKnownHosts: false,
  };
}

async function mode(path: string): Promise<number> {
  return ((await Deno.stat(path)).mode ?? 0) & 0o777;
}

Deno.test(
  { name: "accept-new creates a private directory and a private file", ignore: !isPosix },
  async () => {
    const home = await Deno.makeTempDir();
    const file = `${home}/new/.ssh/known_hosts`;
    await hostKeys().verify(settings(file), blobOf.ed25519(1), { signal });
    assert.equal(await mode(`${home}/new/.ssh`), 0o700);
    assert.equal(await mode(file), 0o600);
    assert.deepEqual([...Deno.readDirSync(`${home}/new/.ssh`)].map(({ name }) => name), ["known_hosts"]);
  },
);

peerTest("accept-new keeps modes and links", ["sh"], async ({ sh }) => {
  const home = await Deno.makeTempDir();
  await Deno.chmod(home, 0o755);
  await Deno.writeTextFile(`${home}/dotfile`, "# mine\n", { mode: 0o644 });
  // Deno creates links only with unrestricted write permission.
  const { code, stderr } = await runPeer(sh, ["-c", "ln -s dotfile known_hosts"], { cwd: home });
  assert.equal(code, 0, stderr);
  await hostKeys().verify(settings(`${home}/known_hosts`), blobOf.ed25519(1), { signal });
  assert.ok((await Deno.lstat(`${home}/known_hosts`)).isSymlink);
  assert.equal(await Deno.readTextFile(`${home}/dotfile`), `# mine\njump.example ${keyText("ed25519", 1)}\n`);
  assert.deepEqual([await mode(home), await mode(`${home}/dotfile`)], [0o755, 0o644]);
});

Deno.test("accept-new writes each of many concurrent hosts once, on a separate line", async () => {
  const file = `${await Deno.makeTempDir()}/known_hosts`;
  const instances = [hostKeys(), hostKeys(), hostKeys()];
  const names = Array.from({ length: 8 }, (_, index) => `host${index}.example`);
  const decisions = await Promise.all(
    instances.flatMap((keys) =>
      names.map((name) => keys.decide(settings(file, name), blobOf.ed25519(1), { signal }))
    ),
  );
  assert.ok(decisions.every(({ isAccepted }) => isAccepted));
  const lines = (await Deno.readTextFile(file)).trimEnd().split("\n").sort();
  assert.deepEqual(lines, names.map((name) => `${name} ${keyText("ed25519", 1)}`));
});

Deno.test("accept-new accepts nothing new if the file is a directory", async () => {
  const directory = await Deno.makeTempDir();
  const keys = hostKeys();
  const decision = await keys.decide(settings(directory), blobOf.ed25519(1), { signal });
  assert.ok(!decision.isAccepted);
  assert.match(String(decision.error.cause), /not a regular file/);
  assert.match((await keys.problems(settings(directory)))[0]?.message ?? "", /not a regular file/);
});

Deno.test("HostKeys sees the changes of other programs", async () => {
  const file = `${await Deno.makeTempDir()}/known_hosts`;
  const keys = hostKeys();
  const host: HostKeySettings = { ...settings(file), strictHostKeyChecking: "yes" };
  const isAccepted = async () => (await keys.decide(host, blobOf.ed25519(1), { signal })).isAccepted;
  assert.equal(await isAccepted(), false);
  await Deno.writeTextFile(file, `jump.example ${keyText("ed25519", 1)}\n`);
  assert.equal(await isAccepted(), true);
  await Deno.writeTextFile(file, `@revoked * ${keyText("ed25519", 1)}\n`, { append: true });
  assert.equal(await isAccepted(), false);
});
