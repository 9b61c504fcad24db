import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { PosternError } from "../../src/words/mod.ts";
import {
  formatFingerprint,
  keyLabel,
  parsePublicKey,
  type SshPublicKey,
} from "../../src/ssh/keys/ssh_keys.ts";
import {
  formatKnownHost,
  type KnownHostEntry,
  parseKnownHosts,
} from "../../src/ssh/host_keys/known_hosts.ts";
import { type HmacSha1, matchesKnownHost } from "../../src/ssh/host_keys/known_host_names.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { keyText } from "../support/ssh_public_keys.ts";

const hmacSha1: HmacSha1 = (key, message) => createHmac("sha1", key).update(message).digest();

/** Real keys, on their curves. */
async function generateKeys(sshKeygen: string, directory: string): Promise<string[]> {
  const kinds = ["-t ed25519", "-t ecdsa -b 256", "-t ecdsa -b 384", "-t ecdsa -b 521", "-t rsa -b 1024"];
  return await Promise.all(kinds.map(async (kind, index) => {
    const file = `${directory}/key${index}`;
    const made = await runPeer(sshKeygen, ["-q", "-N", "", ...kind.split(" "), "-f", file]);
    assert.equal(made.code, 0, made.stderr);
    const [type = "", base64 = ""] = (await Deno.readTextFile(`${file}.pub`)).split(" ");
    return `${type} ${base64}`;
  }));
}

function describeKey({ type, blob }: SshPublicKey): string {
  return `${keyLabel(type)} ${formatFingerprint(createHash("sha256").update(blob).digest())}`;
}

/** `LINE KIND FINGERPRINT` for each line that ssh-keygen finds for a name. */
async function foundByThem(sshKeygen: string, file: string, name: string): Promise<string[]> {
  const { stdout } = await runPeer(sshKeygen, ["-l", "-F", name, "-f", file]);
  const found: string[] = [];
  let place = "";
  for (const text of stdout.split("\n")) {
    const header = /^# Host .* found: line (\d+) ?(\w*)/.exec(text);
    if (header) place = `${header[1]} ${header[2] || "plain"}`;
    const key = /(\S+) (SHA256:\S+)/.exec(text);
    if (key) found.push(`${place} ${key[1]} ${key[2]}`);
  }
  return found;
}

const kinds = { trusted: "plain", revoked: "REVOKED", authority: "CA" };

/** The same with postern's parser. */
async function foundByUs(file: string, name: string): Promise<string[]> {
  return readable(await Deno.readFile(file)).filter(({ names }) => matchesKnownHost(names, name, hmacSha1))
    .map(({ line, kind, key }) => `${line} ${kinds[kind]} ${describeKey(key)}`);
}

/** The lines with a readable key. */
function readable(file: Uint8Array<ArrayBuffer>): (KnownHostEntry & { key: SshPublicKey })[] {
  return parseKnownHosts(file).entries.flatMap((entry) => {
    try {
      return [{ ...entry, key: parsePublicKey(entry.type, entry.base64) }];
    } catch (error) {
      assert.ok(error instanceof PosternError && error.code === "protocol");
      return [];
    }
  });
}

const names = [
  "jump.example",
  "Jump.EXAMPLE",
  "jump?.example",
  "*.example",
  "*.example,!bad.example",
  "!bad.example,*.example",
  "!*.example",
  "!jump.example",
  "!!jump.example,*",
  "*",
  "?*",
  "a,b,jump.example",
  "a,,b",
  "jump.example,",
  ",",
  "[jump.example]:2222",
  "[*]:2222",
  "[*.example]:*",
  "[::1]:2222",
  "::1",
  "192.0.2.1",
  "192.0.2.*",
  "jump.example,192.0.2.1",
  "j*p.e*e",
  "**jump**",
  "jump.exampl[e]",
  "jump.example\\",
  `a,${"x".repeat(1022)}`,
  `a,${"x".repeat(1023)}`,
  `${"x".repeat(1030)},a`,
];

const asked = [
  "jump.example",
  "jump1.example",
  "bad.example",
  "example",
  "a",
  "b",
  "c",
  "!jump.example",
  "[jump.example]:2222",
  "[bad.example]:22",
  "[jump.example]:2022",
  "::1",
  "[::1]:2222",
  "192.0.2.1",
  "192.0.2.10",
  "jump",
  "x".repeat(1022),
];

/** Lines with one list of names: markers, blanks, comments, and lines with one error each. */
function linesFor(hosts: string, [key, ...more]: readonly [string, ...string[]]): string[] {
  const [type = "", base64 = ""] = key.split(" ");
  return [
    `${hosts} ${key}`,
    `${hosts} ${key} a comment`,
    `\t ${hosts}\t ${type} \t${base64}\t# comment`,
    `${hosts} ${key}\r`,
    `@revoked ${hosts} ${key}`,
    `@cert-authority ${hosts} ${key}`,
    `@cert-authority   ${hosts}   ${key} c`,
    `@Revoked ${hosts} ${key}`,
    `@revoked @revoked ${hosts} ${key}`,
    `@ ${hosts} ${key}`,
    `# ${hosts} ${key}`,
    hosts,
    `${hosts} ${type}`,
    `${hosts} # ${key}`,
    `${hosts} ${base64} ${type}`,
    `${hosts} ${type.toUpperCase()} ${base64}`,
    `${hosts} ${type} ${base64.slice(0, -4)}`,
    `${hosts} ${type} ${base64}AAAA`,
    `${hosts} ${type} ${base64.replace(/[A-Za-z]/, "!")}`,
    `${hosts} 1024 65537 12345678901234567890`,
    ...more.map((other) => `${hosts} ${other}`),
    ...more.map((other) => `${hosts} ${type} ${other.split(" ")[1]}`),
  ];
}

async function corpus(sshKeygen: string, directory: string): Promise<string[]> {
  const [first = "", ...more] = await generateKeys(sshKeygen, directory);
  const rsa = more.find((key) => key.startsWith("ssh-rsa")) ?? "";
  const keys: [string, ...string[]] = [first, ...more];
  return [
    ...names.flatMap((hosts) => linesFor(hosts, keys)),
    `jump.example ${rsa.replace("ssh-rsa", "rsa-sha2-256")}`,
    `jump.example ${rsa.replace("ssh-rsa", "rsa-sha2-512")}`,
    `jump.example ${keyText("securityKey", 1)}`,
    ...["|", "|1|", "|1|a|b", "|2|", "|1|AAAA|AAAA"].map((hosts) => `${hosts} ${first}`),
  ];
}

peerTest("parseKnownHosts() finds what ssh-keygen -F finds, plain and hashed", ["ssh_keygen"], async (
  { ssh_keygen: sshKeygen },
) => {
  const directory = await Deno.makeTempDir();
  const file = `${directory}/known_hosts`;
  const lines = await corpus(sshKeygen, directory);
  assert.ok(lines.length > 700, `${lines.length} lines`);
  let found = 0;
  const compare = async (): Promise<void> => {
    for (const name of asked) {
      const theirs = await foundByThem(sshKeygen, file, name);
      assert.deepEqual(await foundByUs(file, name), theirs, name);
      found += theirs.length;
    }
  };
  await Deno.writeTextFile(file, lines.join("\n"));
  await compare();
  assert.ok(found > 1000, `${found} found`);
  // ssh-keygen refuses to hash a file with invalid lines, and does not hash patterns.
  const whole = readable(await Deno.readFile(file)).map(({ line }) => lines[line - 1] ?? "");
  await Deno.writeTextFile(file, whole.filter((line) => !/[\t\r]/.test(line)).join("\n") + "\n");
  const before = found;
  const hashed = await runPeer(sshKeygen, ["-H", "-f", file]);
  assert.equal(hashed.code, 0, hashed.stderr);
  assert.match(await Deno.readTextFile(file), /^\|1\|/m);
  await compare();
  assert.ok(found > before + 500, `${found - before} found`);
});

peerTest("ssh-keygen finds what formatKnownHost() writes, and nothing else", ["ssh_keygen"], async (
  { ssh_keygen: sshKeygen },
) => {
  const directory = await Deno.makeTempDir();
  const keys = (await generateKeys(sshKeygen, directory)).map((text) => {
    const [type = "", base64 = ""] = text.split(" ");
    return parsePublicKey(type, base64);
  });
  const written = ["jump.example", "[jump.example]:2222", "::1", "[::1]:2222", "192.0.2.1", "*", "a,b", "!a"];
  const lines = written.flatMap((name) =>
    keys.map((key) => ({ name, key, hash: { salt: crypto.getRandomValues(new Uint8Array(20)), hmacSha1 } }))
  );
  const plain = lines.filter(({ name }) => !/[*,!]/.test(name)).map(({ name, key }) => ({ name, key }));
  const file = `${directory}/written`;
  for (const set of [lines, plain]) {
    await Deno.writeTextFile(file, set.map(formatKnownHost).join(""));
    for (const name of [...written, "a", "b", "anything"]) {
      const expected = set.flatMap((line, index) =>
        line.name === name ? [`${index + 1} plain ${describeKey(line.key)}`] : []
      );
      assert.deepEqual(await foundByThem(sshKeygen, file, name), expected, name);
      assert.deepEqual(await foundByUs(file, name), expected, name);
    }
  }
});
