import assert from "node:assert/strict";
import { PosternError, socks5Reply } from "../../../../src/words/mod.ts";
import { HostKeys, type HostKeySettings } from "../../../../src/ssh/host_keys/host_keys.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { recordingLog } from "../../../support/recording_log.ts";
import { type BlobKind, blobOf, keyText, sshStrings } from "../../../support/ssh_public_keys.ts";

const { signal } = new AbortController();
const mine = "/home/me/.ssh/known_hosts";
const global = "/etc/ssh/ssh_known_hosts";

function settings(over: Partial<HostKeySettings> = {}): HostKeySettings {
  return {
    alias: "jump",
    hostName: "jump.example",
    port: 22,
    userKnownHostsFiles: [mine, "/home/me/.ssh/known_hosts2"],
    globalKnownHostsFiles: [global],
    strictHostKeyChecking: "yes",
    hashKnownHosts: false,
    ...over,
  };
}

function hostKeys(contents: Readonly<Record<string, string>>) {
  const files = new MemoryFiles(contents);
  const log = recordingLog();
  return { keys: new HostKeys({ files, clock: new FakeClock(), log }), files, log };
}

/** `known FILE:LINE`, or the kind of refusal. */
async function outcome(keys: HostKeys, host: HostKeySettings, blob: Uint8Array): Promise<string> {
  const decision = await keys.decide(host, blob, { signal });
  if (decision.isAccepted) return decision.because;
  const { error } = decision;
  assert.equal(error.code, "auth");
  assert.equal(socks5Reply(error), 2);
  assert.ok(error.hint);
  const [, kind = error.message] =
    /(has changed|revokes|certificate|which is not known, |which is not known:)/.exec(error.message) ?? [];
  return kind;
}

interface Case {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly host?: Partial<HostKeySettings>;
  /** The server's key (default: ed25519 with seed 1). */
  readonly shows?: Uint8Array;
  readonly is: string;
}

const ed = (seed = 1) => keyText("ed25519", seed);
const cases: readonly Case[] = [
  { name: "a known key", files: { [mine]: `jump.example ${ed()}\n` }, is: `${mine}:1` },
  {
    name: "a key of the global file",
    files: { [mine]: "# none\n", [global]: `\njump.example ${ed()}\n` },
    is: `${global}:2`,
  },
  { name: "no file at all", files: {}, is: "which is not known:" },
  { name: "another host's key", files: { [mine]: `other ${ed()}\n` }, is: "which is not known:" },
  { name: "a changed key", files: { [mine]: `jump.example ${ed(2)}\n` }, is: "has changed" },
  {
    name: "a changed key in the second file only",
    files: { [global]: `jump.example ${ed(2)}\n` },
    is: "has changed",
  },
  {
    name: "two known keys of one type, as during a change",
    files: { [mine]: `jump.example ${ed(2)}\n`, [global]: `jump.example ${ed()}\n` },
    is: `${global}:1`,
  },
  {
    name: "a key of another type",
    files: { [mine]: `jump.example ${keyText("rsa", 1)}\n` },
    is: "which is not known, ",
  },
  {
    name: "a revoked key that is known too",
    files: { [mine]: `jump.example ${ed()}\n`, [global]: `@revoked * ${ed()}\n` },
    is: "revokes",
  },
  {
    name: "another revoked key",
    files: { [mine]: `@revoked * ${ed(2)}\njump.example ${ed()}\n` },
    is: `${mine}:2`,
  },
  {
    name: "a key revoked for another host",
    files: { [mine]: `@revoked other ${ed()}\njump.example ${ed()}\n` },
    is: `${mine}:2`,
  },
  {
    name: "a key revoked for the name without its port",
    files: { [mine]: `@revoked jump.example ${ed()}\n[jump.example]:2222 ${ed()}\n` },
    host: { port: 2222 },
    is: "revokes",
  },
  {
    name: "only an authority",
    files: { [mine]: `@cert-authority *.example ${ed()}\n` },
    is: "certificate",
  },
  {
    name: "an authority in addition to the key",
    files: { [mine]: `@cert-authority *.example ${ed(2)}\njump.example ${ed()}\n` },
    is: `${mine}:2`,
  },
  {
    name: "an authority for the name without its port",
    files: { [mine]: `@cert-authority *.example ${ed()}\n` },
    host: { port: 2222 },
    is: "certificate",
  },
  {
    name: "an authority under accept-new",
    files: { [mine]: `@cert-authority * ${ed(2)}\n` },
    host: { strictHostKeyChecking: "accept-new" },
    is: "certificate",
  },
  {
    name: "a name with its port",
    files: { [mine]: `[jump.example]:2222 ${ed()}\n` },
    host: { port: 2222 },
    is: `${mine}:1`,
  },
  {
    name: "the same name with another port",
    files: { [mine]: `[jump.example]:2222 ${ed()}\n` },
    host: { port: 2223 },
    is: "which is not known:",
  },
  {
    name: "the name alone, for another port",
    files: { [mine]: `jump.example ${ed()}\n` },
    host: { port: 2222 },
    is: `${mine}:1`,
  },
  {
    name: "the name alone, where the port has another key",
    files: { [mine]: `jump.example ${ed()}\n[jump.example]:2222 ${ed(2)}\n` },
    host: { port: 2222 },
    is: "has changed",
  },
  {
    name: "an alias with any port",
    files: { [mine]: `lab ${ed()}\n` },
    host: { port: 2222, hostKeyAlias: "LAB" },
    is: `${mine}:1`,
  },
  {
    name: "an alias instead of the name",
    files: { [mine]: `jump.example,[lab]:2222 ${ed()}\n` },
    host: { port: 2222, hostKeyAlias: "lab" },
    is: "which is not known:",
  },
  {
    name: "a name in capitals",
    files: { [mine]: `jump.example ${ed()}\n` },
    host: { hostName: "Jump.EXAMPLE" },
    is: `${mine}:1`,
  },
  {
    name: "an IPv6 address in another spelling",
    files: { [mine]: `[2001:db8::1]:2222 ${ed()}\n` },
    host: { hostName: "2001:DB8:0::1", port: 2222 },
    is: `${mine}:1`,
  },
  {
    name: "a pattern that excludes it",
    files: { [mine]: `*.example,!jump.example ${ed()}\n` },
    is: "which is not known:",
  },
  {
    name: "a broken line, then the right one",
    files: { [mine]: `jump.example ssh-ed25519 AAAA\njump.example ${ed()}\n` },
    is: `${mine}:2`,
  },
  {
    name: "files named none and /dev/null",
    files: { none: `jump.example ${ed()}\n`, "/dev/null": `jump.example ${ed()}\n` },
    host: { userKnownHostsFiles: ["none"], globalKnownHostsFiles: ["/dev/null"] },
    is: "which is not known:",
  },
  {
    name: "a changed key under accept-new",
    files: { [global]: `jump.example ${ed(2)}\n` },
    host: { strictHostKeyChecking: "accept-new" },
    is: "has changed",
  },
  {
    name: "a key of another type under accept-new",
    files: { [mine]: `jump.example ${keyText("rsa", 1)}\n` },
    host: { strictHostKeyChecking: "accept-new" },
    is: "which is not known, ",
  },
  {
    name: "a revoked key under accept-new",
    files: { [global]: `@revoked * ${ed()}\n` },
    host: { strictHostKeyChecking: "accept-new" },
    is: "revokes",
  },
  {
    name: "accept-new without a file to record it in",
    files: {},
    host: { strictHostKeyChecking: "accept-new", userKnownHostsFiles: ["none"] },
    is: "which is not known:",
  },
  {
    name: "bytes that are not a key",
    files: {},
    shows: sshStrings("ssh-new", "x"),
    is: 'Cannot trust the host key of ssh host "jump"',
  },
  {
    name: "an RSA key that is too short",
    files: {},
    host: { strictHostKeyChecking: "accept-new" },
    shows: sshStrings("ssh-rsa", Uint8Array.of(3), Uint8Array.from({ length: 64 }, () => 0x55)),
    is: 'Cannot trust the host key of ssh host "jump"',
  },
  {
    name: "an RSA key with fewer bits than the configuration requires",
    files: { [mine]: `jump.example ${keyText("rsa", 1)}\n` },
    host: { requiredRsaSize: 3072 },
    shows: blobOf.rsa(1),
    is: 'Cannot trust the host key of ssh host "jump": the key has 2048 bits, but RequiredRSASize is 3072',
  },
  {
    name: "an RSA key with as many bits as the configuration requires",
    files: { [mine]: `jump.example ${keyText("rsa", 1)}\n` },
    host: { requiredRsaSize: 2048 },
    shows: blobOf.rsa(1),
    is: `${mine}:1`,
  },
];
for (const { name, files, host, shows, is } of cases) {
  Deno.test(`HostKeys.decide() for ${name}: ${is.trim()}`, async () => {
    const { keys, files: disk } = hostKeys(files);
    assert.equal(await outcome(keys, settings(host), shows ?? blobOf.ed25519(1)), is);
    for (const [path, content] of Object.entries(files)) assert.equal(await disk.readText(path), content);
    assert.equal(await disk.info("/home/me/.ssh/known_hosts2"), undefined);
  });
}

const fingerprints = {
  shown: /ED25519 SHA256:[A-Za-z0-9+/]{43}/,
  both: /ED25519 SHA256:([A-Za-z0-9+/]{43}).*ED25519 SHA256:(?!\1)[A-Za-z0-9+/]{43}/,
};
const messages: readonly {
  name: string;
  line: string;
  host?: Partial<HostKeySettings>;
  says: RegExp[];
  hint: RegExp;
}[] = [
  {
    name: "a changed key",
    line: `jump.example ${ed(2)}`,
    says: [
      /^Cannot trust the host key of ssh host "jump" \(jump\.example\): the key has changed/,
      /known_hosts:1 has/,
      fingerprints.both,
    ],
    hint: /remove line 1 of \/home\/me\/\.ssh\/known_hosts and sign in once: ssh jump true$/,
  },
  {
    name: "a changed key where a certificate might help",
    line: `jump.example ${ed(2)}\n@cert-authority *.example ${ed(3)}`,
    says: [/has changed/, fingerprints.both],
    hint:
      /or use engine: openssh, which supports the certificate authority of \/home\/me\/\.ssh\/known_hosts:2$/,
  },
  {
    name: "another type",
    line: `jump.example ${keyText("rsa", 1)}`,
    says: [/shows ED25519 SHA256:.{43}, which is not known, .*known_hosts:1 has RSA SHA256:/],
    hint: /add the output of ssh-keyscan jump\.example to \/home\/me.* allow rsa-sha2-512$/,
  },
  {
    name: "an unknown key",
    line: "# nothing",
    host: { port: 2222, alias: "odd" },
    says: [
      /"odd" \(\[jump\.example\]:2222\)/,
      fingerprints.shown,
      /no key for .* in .*known_hosts, .*known_hosts2, /,
    ],
    hint: /sign in once: ssh odd true .*ssh-keyscan -p 2222 jump\.example/,
  },
  {
    name: "a revoked key",
    line: `@revoked * ${ed()}`,
    says: [/shows (ED25519 SHA256:.{43}), but .*known_hosts:1 revokes it \(\1\)/],
    hint: /do not sign in/,
  },
  {
    name: "an authority",
    line: `@cert-authority * ${ed(2)}`,
    says: [fingerprints.both, /known_hosts:1/],
    hint: /engine: openssh/,
  },
];
for (const { name, line, host, says, hint } of messages) {
  Deno.test(`HostKeys.verify() names file, line and fingerprints of ${name}`, async () => {
    const { keys } = hostKeys({ [mine]: `${line}\n` });
    await assert.rejects(keys.verify(settings(host), blobOf.ed25519(1), { signal }), (error) => {
      assert.ok(error instanceof PosternError);
      for (const pattern of says) assert.match(error.message, pattern);
      assert.match(error.hint ?? "", hint);
      return true;
    });
  });
}

Deno.test("HostKeys.verify() resolves for a known key", async () => {
  const { keys } = hostKeys({ [mine]: `jump.example ${ed()}\n` });
  await keys.verify(settings(), blobOf.ed25519(1), { signal });
});

Deno.test("HostKeys notices a changed file, and reads an unchanged one only once", async () => {
  const { keys, files } = hostKeys({ [mine]: `jump.example ${ed()}\n` });
  for (let round = 0; round < 3; round++) {
    assert.equal(await outcome(keys, settings(), blobOf.ed25519(1)), `${mine}:1`);
  }
  assert.deepEqual(files.reads, [mine]);
  files.put(mine, `jump.example ${ed(2)}\n`);
  assert.equal(await outcome(keys, settings(), blobOf.ed25519(1)), "has changed");
  await files.remove(mine);
  assert.equal(await outcome(keys, settings(), blobOf.ed25519(1)), "which is not known:");
  files.put(mine, `jump.example ${ed()}\n`);
  assert.equal(await outcome(keys, settings(), blobOf.ed25519(1)), `${mine}:1`);
  keys.forget();
  assert.equal(await outcome(keys, settings(), blobOf.ed25519(1)), `${mine}:1`);
  assert.equal(files.reads.length, 4);
});

class UnreadableFiles extends MemoryFiles {
  override read(path: string): Promise<Uint8Array<ArrayBuffer>> {
    return path === global
      ? Promise.reject(new PosternError("not_allowed", `Cannot read "${path}": permission denied`))
      : super.read(path);
  }
}

Deno.test("HostKeys uses the files that it can read, but accepts no new key", async () => {
  const files = new UnreadableFiles({ [mine]: `jump.example ${ed()}\n`, [global]: "x" });
  const keys = new HostKeys({ files, clock: new FakeClock(), log: recordingLog() });
  const host = settings({ strictHostKeyChecking: "accept-new" });
  assert.equal(await outcome(keys, host, blobOf.ed25519(1)), `${mine}:1`);
  const decision = await keys.decide({ ...host, hostName: "new.example" }, blobOf.ed25519(1), { signal });
  assert.ok(!decision.isAccepted);
  assert.match(decision.error.message, /no readable file has a key for "new\.example"/);
  assert.match(String(decision.error.cause), /permission denied/);
  assert.deepEqual(
    (await keys.problems(host)).map(({ file, option, severity }) => [file, option, severity]),
    [
      [global, "GlobalKnownHostsFile", "note"],
    ],
  );
});

Deno.test("HostKeys.problems() lists the ignored lines", async () => {
  const { keys } = hostKeys({
    [mine]: `# fine\na ssh-ed25519 AAAA\njump ${ed()}\n@revoke * ${ed()}\n`,
    [global]: "jump\n",
  });
  assert.deepEqual(await keys.problems(settings()), [
    {
      severity: "note",
      file: mine,
      line: 2,
      option: "UserKnownHostsFile",
      message: "ignored line: Cannot read the public key: the key is truncated",
    },
    {
      severity: "note",
      file: mine,
      line: 4,
      option: "UserKnownHostsFile",
      message: "ignored line: the marker is neither @revoked nor @cert-authority",
    },
    {
      severity: "note",
      file: global,
      line: 1,
      option: "GlobalKnownHostsFile",
      message: "ignored line: the line has no key",
    },
  ]);
});

Deno.test("HostKeys yields to the event loop while it searches thousands of hashed lines", async () => {
  const hidden = (index: number) =>
    `|1|${btoa(String(index).padStart(20, "0"))}|${"A".repeat(27)}= ${ed(2)}\n`;
  const lines = Array.from({ length: 1600 }, (_, index) => hidden(index)).join("");
  const files = new MemoryFiles({ [mine]: `${lines}jump.example ${ed()}\n` });
  let turns = 0;
  class CountingClock extends FakeClock {
    override after(ms: number, task: () => void): Disposable {
      turns++;
      const timer = super.after(ms, task);
      void this.advance(ms);
      return timer;
    }
  }
  const keys = new HostKeys({ files, clock: new CountingClock(), log: recordingLog() });
  assert.equal(await outcome(keys, settings(), blobOf.ed25519(1)), `${mine}:1601`);
  assert.equal(turns, 3);
  assert.equal(await outcome(keys, settings(), blobOf.ed25519(1)), `${mine}:1601`);
  assert.equal(turns, 3);
});

const supported = [
  "ssh-ed25519",
  "ecdsa-sha2-nistp256",
  "ecdsa-sha2-nistp384",
  "rsa-sha2-512",
  "rsa-sha2-256",
  "ssh-rsa",
];
const orders: readonly {
  name: string;
  known: readonly [BlobKind, number][];
  host?: Partial<HostKeySettings>;
  more?: string;
  is: readonly string[];
}[] = [
  { name: "nothing", known: [], is: supported },
  { name: "ed25519", known: [["ed25519", 1]], is: supported },
  {
    name: "one curve",
    known: [["ecdsa384", 1]],
    is: ["ecdsa-sha2-nistp384", ...supported.filter((name) => name !== "ecdsa-sha2-nistp384")],
  },
  {
    name: "RSA",
    known: [["rsa", 1]],
    is: ["rsa-sha2-512", "rsa-sha2-256", "ssh-rsa", ...supported.slice(0, 3)],
  },
  {
    name: "RSA and ECDSA, in the order of the defaults",
    known: [["rsa", 1], ["ecdsa256", 1]],
    is: [
      "ecdsa-sha2-nistp256",
      "rsa-sha2-512",
      "rsa-sha2-256",
      "ssh-rsa",
      "ssh-ed25519",
      "ecdsa-sha2-nistp384",
    ],
  },
  {
    name: "RSA, within what the configuration allows",
    known: [["rsa", 1]],
    host: {
      hostKeyAlgorithms: ["ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519", "rsa-sha2-256", "new@example"],
    },
    is: ["rsa-sha2-256", "ssh-ed25519"],
  },
  {
    name: "a revoked ed25519 and RSA",
    known: [["ed25519", 1], ["rsa", 1]],
    more: `@revoked * ${ed()}\n@cert-authority * ${keyText("ecdsa256", 1)}\n`,
    is: ["rsa-sha2-512", "rsa-sha2-256", "ssh-rsa", ...supported.slice(0, 3)],
  },
];
for (const { name, known, host, more = "", is } of orders) {
  Deno.test(`HostKeys.algorithms() with known keys: ${name}`, async () => {
    const lines = known.map(([kind, seed]) => `jump.example ${keyText(kind, seed)}\n`).join("");
    const { keys } = hostKeys({ [mine]: lines + more });
    assert.deepEqual(await keys.algorithms(settings(host), supported), is);
    // Known by its name without a port, looked up with another port.
    assert.deepEqual(await keys.algorithms(settings({ ...host, port: 2222 }), supported), is);
  });
}

Deno.test("HostKeys.algorithms() prefers the key of the port when both are known", async () => {
  const { keys } = hostKeys({
    [mine]: `jump.example ${ed()}\n[jump.example]:2222 ${keyText("ecdsa256", 1)}\n`,
  });
  const [first] = await keys.algorithms(settings({ port: 2222 }), supported);
  assert.equal(first, "ecdsa-sha2-nistp256");
});

Deno.test("HostKeys.algorithms() rejects when the engine supports none of the allowed ones", async () => {
  const { keys } = hostKeys({});
  const host = settings({ hostKeyAlgorithms: ["ssh-ed25519-cert-v01@openssh.com"] });
  await assert.rejects(keys.algorithms(host, supported), (error) => {
    assert.ok(error instanceof PosternError && error.code === "config");
    assert.match(error.hint ?? "", /engine: openssh/);
    return true;
  });
});

Deno.test("HostKeys.algorithms() offers weak ones only if the configuration names them", async () => {
  const { keys } = hostKeys({ [mine]: `jump.example ${keyText("rsa", 1)}\n` });
  const usual = ["ssh-ed25519", "rsa-sha2-512"];
  const more = { onRequest: ["ssh-rsa"] };
  assert.deepEqual(await keys.algorithms(settings(), usual, more), ["rsa-sha2-512", "ssh-ed25519"]);
  const named = settings({ hostKeyAlgorithms: [...usual, "ssh-rsa", "ssh-dss"] });
  assert.deepEqual(await keys.algorithms(named, usual, more), ["rsa-sha2-512", "ssh-rsa", "ssh-ed25519"]);
});
