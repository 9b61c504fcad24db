import { encodeBase64 } from "../../../../src/core/mod.ts";
import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import {
  algorithmsOf,
  decodePaddedBase64,
  decodePublicKey,
  formatFingerprint,
  formatPublicKey,
  isSameKey,
  keyLabel,
  keyTypeOf,
  parsePublicKey,
} from "../../../../src/ssh/keys/ssh_keys.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";
import { type BlobKind, blobOf, keyOf, keyText, sshStrings } from "../../../support/ssh_public_keys.ts";

const kinds: readonly { kind: BlobKind; type: string; label: string }[] = [
  { kind: "ed25519", type: "ssh-ed25519", label: "ED25519" },
  { kind: "rsa", type: "ssh-rsa", label: "RSA" },
  { kind: "dsa", type: "ssh-dss", label: "DSA" },
  { kind: "ecdsa256", type: "ecdsa-sha2-nistp256", label: "ECDSA" },
  { kind: "ecdsa384", type: "ecdsa-sha2-nistp384", label: "ECDSA" },
  { kind: "ecdsa521", type: "ecdsa-sha2-nistp521", label: "ECDSA" },
  { kind: "securityKey", type: "sk-ssh-ed25519@openssh.com", label: "ED25519-SK" },
  { kind: "ecdsaSecurityKey", type: "sk-ecdsa-sha2-nistp256@openssh.com", label: "ECDSA-SK" },
];

function refuses(why: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof PosternError && error.code === "protocol", String(error));
    assert.match(error.message, /^Cannot read the public key: /);
    assert.match(error.message, why);
    return true;
  };
}

for (const { kind, type, label } of kinds) {
  Deno.test(`decodePublicKey() reads exactly one ${type} key`, () => {
    const blob = blobOf[kind](1);
    assert.deepEqual(decodePublicKey(blob), { type, blob });
    assert.equal(keyLabel(type), label);
    assert.deepEqual(parsePublicKey(type, encodeBase64(blob)), { type, blob });
    assert.equal(formatPublicKey({ type, blob }), keyText(kind, 1));
    for (let cut = 0; cut < blob.length; cut++) {
      assert.throws(() => decodePublicKey(blob.slice(0, cut)), refuses(/the key is truncated/));
    }
    assert.throws(() => decodePublicKey(Uint8Array.of(...blob, 0)), refuses(/unexpected bytes/));
  });
}

const rsa = (e: Uint8Array | number[], n: Uint8Array | number[]) =>
  sshStrings("ssh-rsa", Uint8Array.from(e), Uint8Array.from(n));
const n2048 = [0, 0x80, ...patternBytes(255)];
const broken: readonly { name: string; blob: Uint8Array<ArrayBuffer>; why: RegExp }[] = [
  { name: "an unknown type", blob: sshStrings("ssh-new", "x"), why: /unknown key type "ssh-new"/ },
  {
    name: "a certificate",
    blob: sshStrings("ssh-ed25519-cert-v01@openssh.com", patternBytes(32)),
    why: /unknown key type .*cert-v01@openssh\.com"/,
  },
  { name: "a name with a terminal escape", blob: sshStrings("\x1b[2J"), why: /type "\?\[2J"/ },
  { name: "a short ed25519", blob: sshStrings("ssh-ed25519", patternBytes(31)), why: /31 bytes, not 32/ },
  {
    name: "another curve",
    blob: sshStrings("ecdsa-sha2-nistp256", "nistp384", patternBytes(97)),
    why: /curve is not nistp256/,
  },
  {
    name: "a compressed point",
    blob: sshStrings("ecdsa-sha2-nistp256", "nistp256", Uint8Array.of(2, ...patternBytes(32))),
    why: /uncompressed/,
  },
  { name: "a negative number", blob: rsa([1, 0, 1], [0x80, ...patternBytes(255)]), why: /negative/ },
  { name: "RSA of 1016 bits", blob: rsa([1, 0, 1], [0, 0x80, ...patternBytes(126)]), why: /1016 bits/ },
  { name: "RSA of 1023 bits", blob: rsa([1, 0, 1], [0x40, ...patternBytes(127)]), why: /1023 bits/ },
  { name: "RSA of nothing", blob: rsa([1, 0, 1], []), why: /too short/ },
  { name: "a huge field", blob: Uint8Array.of(255, 255, 255, 255), why: /claims 4294967295 bytes/ },
];
for (const { name, blob, why } of broken) {
  Deno.test(`decodePublicKey() rejects ${name}`, () => {
    assert.throws(() => decodePublicKey(blob), refuses(why));
  });
}

Deno.test("decodePublicKey() normalizes an RSA key, so that zeros do not hide it from a revocation", () => {
  const plain = decodePublicKey(rsa([1, 0, 1], n2048));
  for (const zeros of [[0], [0, 0], new Array(100).fill(0)]) {
    const padded = decodePublicKey(rsa([...zeros, 1, 0, 1], [...zeros, ...n2048]));
    assert.ok(isSameKey(plain, padded));
    assert.deepEqual(plain, padded);
  }
  assert.ok(!isSameKey(plain, decodePublicKey(rsa([3], n2048))));
  assert.equal(decodePublicKey(rsa([1, 0, 1], [0, 0x80, ...patternBytes(127)])).type, "ssh-rsa");
});

Deno.test("parsePublicKey() rejects a key whose type differs from its line", () => {
  const base64 = encodeBase64(blobOf.ed25519(1));
  assert.throws(() => parsePublicKey("ssh-rsa", base64), refuses(/the key's type is ssh-ed25519/));
  assert.throws(() => parsePublicKey("ED25519", base64), refuses(/the line says "ED25519"/));
  for (const text of ["", "AAA", "!!!!", `${base64}\n`, base64.slice(0, -1), `=${base64.slice(1)}`]) {
    assert.throws(() => parsePublicKey("ssh-ed25519", text), refuses(/not base64/));
  }
});

Deno.test("parsePublicKey() accepts the signature algorithms of RFC 8332 for ssh-rsa", () => {
  const base64 = encodeBase64(blobOf.rsa(1));
  for (const type of ["ssh-rsa", "rsa-sha2-256", "rsa-sha2-512"]) {
    assert.deepEqual(parsePublicKey(type, base64), keyOf("rsa", 1));
    assert.equal(keyTypeOf(type), "ssh-rsa");
    assert.ok(algorithmsOf("ssh-rsa").includes(type));
  }
});

Deno.test("keyTypeOf() returns undefined for certificates and property names", () => {
  for (
    const name of ["ssh-ed25519-cert-v01@openssh.com", "rsa-sha2-512-cert-v01@openssh.com", "toString", ""]
  ) {
    assert.equal(keyTypeOf(name), undefined);
    assert.equal(keyLabel(name), name);
    assert.deepEqual(algorithmsOf(name), [name]);
  }
});

Deno.test("formatFingerprint() omits padding, as ssh does", () => {
  assert.equal(formatFingerprint(new Uint8Array(32)), `SHA256:${"A".repeat(43)}`);
});

Deno.test("decodePaddedBase64() undoes encodeBase64()", () => {
  for (let length = 1; length < 70; length++) {
    const bytes = patternBytes(length, length);
    assert.deepEqual(decodePaddedBase64(encodeBase64(bytes)), bytes);
  }
});
