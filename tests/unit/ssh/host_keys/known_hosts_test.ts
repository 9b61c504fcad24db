import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import {
  formatKnownHost,
  type KnownHostEntry,
  type KnownHosts,
  parseKnownHosts,
} from "../../../../src/ssh/host_keys/known_hosts.ts";
import { type HmacSha1, matchesKnownHost } from "../../../../src/ssh/host_keys/known_host_names.ts";
import { parsePublicKey, type SshPublicKey } from "../../../../src/ssh/keys/ssh_keys.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";
import { type BlobKind, blobOf, keyOf, keyText } from "../../../support/ssh_public_keys.ts";

const hmacSha1: HmacSha1 = (key, message) => createHmac("sha1", key).update(message).digest();
const key = keyText("ed25519", 1);

function parse(text: string): KnownHosts {
  return parseKnownHosts(new TextEncoder().encode(text));
}

function keyIn(entry: KnownHostEntry | undefined): SshPublicKey {
  assert.ok(entry);
  return parsePublicKey(entry.type, entry.base64);
}

Deno.test("parseKnownHosts() reads lines with their numbers, markers and comments", () => {
  const { entries, problems } = parse(
    [
      "# a comment",
      "",
      `jump ${key}`,
      `  \tindented\t${key.replace(" ", "\t \t")} another's # comment`,
      "   # another",
      `@revoked * ${key}`,
      `@cert-authority\t*.example,!x.example ${keyText("rsa", 1)} the fleet's`,
      `last ${keyText("ecdsa256", 1)}`,
    ].join("\n"),
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(entries.map(({ line, kind, type }) => [line, kind, type]), [
    [3, "trusted", "ssh-ed25519"],
    [4, "trusted", "ssh-ed25519"],
    [6, "revoked", "ssh-ed25519"],
    [7, "authority", "ssh-rsa"],
    [8, "trusted", "ecdsa-sha2-nistp256"],
  ]);
  assert.deepEqual(keyIn(entries[0]), keyOf("ed25519", 1));
});

Deno.test("parseKnownHosts() reads every type of key, and rsa-sha2 as RSA", () => {
  for (const kind of Object.keys(blobOf) as BlobKind[]) {
    assert.deepEqual(keyIn(parse(`jump ${keyText(kind, 3)}\n`).entries[0]), keyOf(kind, 3));
  }
  const line = keyText("rsa", 1).replace("ssh-rsa", "rsa-sha2-512");
  assert.deepEqual(keyIn(parse(`jump ${line}`).entries[0]), keyOf("rsa", 1));
});

Deno.test("parseKnownHosts() reads files of other systems: carriage returns, zero bytes, bytes that are not UTF-8", () => {
  const { entries, problems } = parse(`# x\r\n\r\njump ${key}\r\nnext ${key} c\r\r\nzero ${key}\0 junk\n`);
  assert.deepEqual(entries.map(({ line }) => line), [3, 4, 5]);
  assert.deepEqual(problems, []);
  const latin = Uint8Array.of(...new TextEncoder().encode(`jump ${key} J`), 0xfc, 0xff, 10);
  assert.equal(parseKnownHosts(latin).entries.length, 1);
});

const broken: readonly { line: string; why: RegExp }[] = [
  { line: "jump", why: /no key/ },
  { line: "jump ssh-ed25519", why: /no key/ },
  { line: `@revoked ${key.split(" ")[1]}`, why: /no key/ },
  { line: "@revoked", why: /no key/ },
  { line: "@revoked    ", why: /no key/ },
  { line: `@Revoked * ${key}`, why: /marker/ },
  { line: `@revoke * ${key}`, why: /marker/ },
  { line: `@constructor * ${key}`, why: /marker/ },
  { line: `@revoked @cert-authority * ${key}`, why: /two markers/ },
  { line: `|1|abc|def ${key}`, why: /hashed name/ },
];
for (const { line, why } of broken) {
  Deno.test(`parseKnownHosts() skips "${line.slice(0, 40)}" and reports why`, () => {
    const { entries, problems } = parse(`a ${key}\n${line}\nb ${key}\n`);
    assert.deepEqual(entries.map(({ line }) => line), [1, 3]);
    assert.equal(problems.length, 1);
    assert.equal(problems[0]?.line, 2);
    assert.match(problems[0]?.message ?? "", why);
  });
}

Deno.test("parseKnownHosts() reads what formatKnownHost() writes, plain and hashed", () => {
  const hash = { salt: patternBytes(20, 5), hmacSha1 };
  for (const name of ["jump", "[Jump.Example]:2222", "::1", "bücher.example"]) {
    for (const line of [{ name, key: keyOf("rsa", 2) }, { name, key: keyOf("rsa", 2), hash }]) {
      const text = formatKnownHost(line);
      assert.ok(text.endsWith("\n"));
      assert.equal(text.startsWith("|1|"), "hash" in line);
      const { entries: [entry], problems } = parse(text);
      assert.ok(entry);
      assert.deepEqual([entry.kind, keyIn(entry), problems], ["trusted", keyOf("rsa", 2), []]);
      assert.ok(matchesKnownHost(entry.names, name, hmacSha1));
      assert.ok(!matchesKnownHost(entry.names, `${name}x`, hmacSha1));
    }
  }
});

Deno.test("formatKnownHost() never writes a pattern, or a second line", () => {
  for (const name of ["*", "a,b", "a\nb", "", "#a"]) {
    assert.throws(() => formatKnownHost({ name, key: keyOf("ed25519", 1) }), TypeError);
    const hash = { salt: patternBytes(20, 5), hmacSha1 };
    const { entries: [entry] } = parse(formatKnownHost({ name, key: keyOf("ed25519", 1), hash }));
    assert.ok(entry && matchesKnownHost(entry.names, name, hmacSha1));
    assert.ok(!matchesKnownHost(entry.names, "a", hmacSha1));
  }
});
