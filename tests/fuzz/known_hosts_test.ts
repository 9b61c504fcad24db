import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { PosternError } from "../../src/words/mod.ts";
import { decodePublicKey, parsePublicKey } from "../../src/ssh/keys/ssh_keys.ts";
import { formatKnownHost, parseKnownHosts } from "../../src/ssh/host_keys/known_hosts.ts";
import {
  type HmacSha1,
  isPlainKnownHost,
  matchesKnownHost,
} from "../../src/ssh/host_keys/known_host_names.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";
import { type BlobKind, blobOf, keyOf, keyText } from "../support/ssh_public_keys.ts";

const hmacSha1: HmacSha1 = (key, message) => createHmac("sha1", key).update(message).digest();
const blobKinds = Object.keys(blobOf) as BlobKind[];
const kind = fc.constantFrom(...blobKinds);
const key = fc.tuple(kind, fc.integer({ min: 0, max: 1e6 })).map(([kind, seed]) => keyOf(kind, seed));
const name = fc.string({ unit: fc.constantFrom(..."abXY019-._[]:*?!,|#@ é\n"), minLength: 1, maxLength: 30 });
const salt = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Uint8Array.from(bytes));

/** Checks that each line of a file is read, reported or empty, in order and independent of other lines. */
function checkFile(bytes: Uint8Array<ArrayBuffer>): void {
  const { entries, problems } = parseKnownHosts(bytes);
  const lines = bytes.reduce((count, byte) => count + (byte === 10 ? 1 : 0), 1);
  const seen = [...entries, ...problems].map(({ line }) => line);
  assert.equal(new Set(seen).size, seen.length);
  for (const line of seen) assert.ok(line >= 1 && line <= lines);
  for (const { message } of problems) assert.notEqual(message, "");
  for (const { names } of entries) {
    matchesKnownHost(names, "jump.example", hmacSha1);
  }
  const behind = Uint8Array.of(...bytes, 10, ...new TextEncoder().encode(`last ${keyText("ed25519", 1)}\n`));
  assert.equal(parseKnownHosts(behind).entries.length, entries.length + 1);
}

Deno.test("parseKnownHosts() accepts any bytes", () => {
  const junk = fc.uint8Array({ maxLength: 400 }).map((bytes) => Uint8Array.from(bytes));
  fc.assert(fc.property(junk, checkFile), { numRuns: fuzzRuns(1000) });
});

Deno.test("parseKnownHosts() accepts any lines of meaningful pieces", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...[
        "\n",
        " ",
        "\t",
        "\r\n",
        "\0",
        "#",
        "@revoked ",
        "@cert-authority ",
        "@",
        "|1|",
        "|",
        "!",
        "*",
        ",",
      ],
      ...["jump ", "jump", "[jump]:22 ", "ssh-ed25519 ", "ssh-rsa", "AAAA", "=", "\xff", "é"],
    ),
    kind.map((kind) => ` ${keyText(kind, 1)}`),
    kind.map((kind) => keyText(kind, 2).slice(0, -3)),
  );
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => new TextEncoder().encode(pieces.join("")));
  fc.assert(fc.property(text, checkFile), { numRuns: fuzzRuns(2000) });
});

Deno.test("parseKnownHosts() reads a line of formatKnownHost() for exactly that name", () => {
  const law = fc.property(key, name, name, fc.option(salt), (key, name, other, salt) => {
    if (!salt && !isPlainKnownHost(name)) return;
    const line = formatKnownHost({ name, key, ...(salt && { hash: { salt, hmacSha1 } }) });
    assert.equal(line.split("\n").length, 2);
    const { entries: [entry, ...more], problems } = parseKnownHosts(new TextEncoder().encode(line));
    assert.ok(entry);
    assert.deepEqual([more, problems, entry.kind], [[], [], "trusted"]);
    assert.deepEqual(parsePublicKey(entry.type, entry.base64), key);
    assert.ok(matchesKnownHost(entry.names, name, hmacSha1));
    const isSame = other.toLowerCase() === name.toLowerCase();
    assert.equal(matchesKnownHost(entry.names, other, hmacSha1), isSame);
  });
  fc.assert(law, { numRuns: fuzzRuns(1000) });
});

Deno.test("decodePublicKey() returns a stable key or throws protocol for any changed key", () => {
  const law = fc.property(key, fc.nat(), fc.nat({ max: 255 }), fc.nat({ max: 8 }), (key, at, byte, cut) => {
    const bytes = key.blob.slice(0, key.blob.length - cut);
    bytes[at % bytes.length] = byte;
    try {
      const decoded = decodePublicKey(bytes);
      assert.deepEqual(decodePublicKey(decoded.blob), decoded);
    } catch (error) {
      assert(error instanceof PosternError && error.code === "protocol", String(error));
    }
  });
  fc.assert(law, { numRuns: fuzzRuns(2000) });
});

Deno.test("parsePublicKey() accepts any two words or throws protocol", () => {
  const word = fc.oneof(fc.string(), kind.map((kind) => keyText(kind, 1)), fc.base64String());
  fc.assert(
    fc.property(word, word, (type, base64) => {
      try {
        parsePublicKey(type, base64);
      } catch (error) {
        assert(error instanceof PosternError && error.code === "protocol", String(error));
      }
    }),
    { numRuns: fuzzRuns(1000) },
  );
});
