import assert from "node:assert/strict";
import { createMessage, encrypt, generateKey, readKey } from "openpgp";
import { openSecrets, PrivateKeys } from "../../../src/emergency/mod.ts";
import { isPosternError } from "../../../src/words/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const passphrase = "pass phrase ü";
const alice = await generateKey({ userIDs: [{ name: "alice" }], passphrase });
const bob = await generateKey({ userIDs: [{ name: "bob" }] });
const options = { from: '"b" at https://s3', clock: new FakeClock(), signal: new AbortController().signal };

async function messageFor(key: string, text = "TEXT", { hidden = false } = {}): Promise<string> {
  return String(
    await encrypt({
      message: await createMessage({ text }),
      encryptionKeys: await readKey({ armoredKey: key }),
      wildcard: hidden,
    }),
  );
}

Deno.test("PrivateKeys requires the right passphrase, or none for an unlocked key", async () => {
  const locked = await read(alice.privateKey);
  assert.equal(locked.isLocked, true);
  assert.equal(await locked.unlocked("another"), undefined);
  const unlocked = await locked.unlocked(passphrase) ?? assert.fail();
  assert.deepEqual(await unlocked.open(await messageFor(alice.publicKey)), { text: "TEXT" });
  assert.match(unlocked.fingerprint, /^[0-9A-F]{40}$/);
  assert.equal((await read(bob.privateKey)).isLocked, false);
});

Deno.test("PrivateKeys reads several keys, and binary keys", async () => {
  const both = await read(`${alice.privateKey}\n${bob.privateKey}`);
  assert.equal(both.isLocked, true);
  const unlocked = await both.unlocked(passphrase) ?? assert.fail();
  assert.deepEqual(await unlocked.open(await messageFor(bob.publicKey)), { text: "TEXT" });
  const base64 = /\r?\n\r?\n([^=]+={0,2})\r?\n/.exec(bob.privateKey)?.[1] ?? "";
  const bytes = Uint8Array.from(atob(base64.replaceAll(/\s/g, "")), (char) => char.charCodeAt(0));
  assert.equal(
    (await PrivateKeys.read(bytes, { from: "a file" })).fingerprint,
    (await read(bob.privateKey)).fingerprint,
  );
});

const noKeys = [
  { name: "nothing", text: "", says: "it is not a private key" },
  { name: "a sentence", text: "SECRET words", says: "it is not a private key" },
  { name: "a public key", text: bob.publicKey, says: "it is a public key" },
  { name: "half a key", text: bob.privateKey.slice(0, 300), says: "it is not a private key" },
];
for (const { name, text, says } of noKeys) {
  Deno.test(`PrivateKeys.read() refuses ${name}`, async () => {
    await assert.rejects(read(text), (error: Error) => {
      assert.ok(isPosternError(error, "config"));
      assert.equal(error.message, `Cannot use the private key of "key.asc": ${says}`);
      return true;
    });
  });
}

const messages = [
  { name: "junk", data: "junk", problem: "it is not an OpenPGP message" },
  { name: "base64 of junk", data: btoa("junk"), problem: "it is not an OpenPGP message" },
  {
    name: "armor around nothing",
    data: "-----BEGIN PGP MESSAGE-----",
    problem: "it is not an OpenPGP message",
  },
  {
    name: "a changed message",
    data: changed(await messageFor(bob.publicKey)),
    problem: "it is for your key but damaged",
  },
  {
    name: "a truncated message",
    data: (await messageFor(bob.publicKey, "x".repeat(4000))).replace(
      /(\n[^\n=]{60}){20}(?=\n[^\n]+\n=)/,
      "",
    ),
    problem: "it is not an OpenPGP message",
  },
  {
    name: "a message for a password",
    data: String(await encrypt({ message: await createMessage({ text: "TEXT" }), passwords: ["password"] })),
    problem: "it has no recipient",
  },
  {
    name: "a message that is not encrypted",
    data: (await createMessage({ text: "TEXT" })).armor(),
    problem: "it has no recipient",
  },
  {
    name: "a small message that unpacks to 20 MB",
    data: await packed(20_000_000),
    problem: "it is too long",
  },
];
for (const { name, data, problem } of messages) {
  Deno.test(`PrivateKeys.open() handles ${name}`, async () => {
    const opened = await (await read(bob.privateKey)).open(data);
    assert.ok("problem" in opened, JSON.stringify(opened).slice(0, 200));
    assert.equal(opened.problem, problem);
  });
}

Deno.test("openSecrets() returns the first message that it can decrypt", async () => {
  const keys = await read(bob.privateKey);
  const all = [
    await messageFor(alice.publicKey),
    "junk",
    await messageFor(alice.publicKey, "hidden", { hidden: true }),
    await messageFor(bob.publicKey, "first", { hidden: true }),
    await messageFor(bob.publicKey, "second"),
  ];
  assert.equal(await openSecrets(all, keys, options), "first");
});

Deno.test("openSecrets() lists the keys of the recipients", async () => {
  const keys = await read(bob.privateKey);
  const foreign = [
    await messageFor(alice.publicKey),
    await messageFor(alice.publicKey, "x", { hidden: true }),
  ];
  await assert.rejects(openSecrets(foreign, keys, options), (error: Error) => {
    assert.ok(isPosternError(error, "auth"));
    assert.match(error.message, /for other keys \([0-9A-F]{16}, a hidden key\)$/);
    assert.ok(error.hint?.includes(keys.fingerprint));
    return true;
  });
  await assert.rejects(openSecrets(["junk"], keys, options), /it is not an OpenPGP message$/);
});

Deno.test("openSecrets() aborts with its signal", async () => {
  const keys = await read(bob.privateKey);
  const signal = AbortSignal.abort(new Error("enough"));
  await assert.rejects(openSecrets(["junk"], keys, { ...options, signal }), /enough/);
});

function read(text: string): Promise<PrivateKeys> {
  return PrivateKeys.read(new TextEncoder().encode(text), { from: '"key.asc"' });
}

/** A message with a changed last byte. */
function changed(armored: string): string {
  const [, base64 = ""] = /\n\n([^-]+?)\n(?:=[^\n]{4}\n)?-----END/.exec(armored) ?? [];
  const bytes = Uint8Array.from(atob(base64.replaceAll("\n", "")), (char) => char.charCodeAt(0));
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  return btoa(String.fromCharCode(...bytes));
}

/** A message that is much larger when unpacked. */
async function packed(size: number): Promise<string> {
  return String(
    await encrypt({
      message: await createMessage({ text: "x".repeat(size) }),
      encryptionKeys: await readKey({ armoredKey: bob.publicKey }),
      config: { preferredCompressionAlgorithm: 2 },
    }),
  );
}
