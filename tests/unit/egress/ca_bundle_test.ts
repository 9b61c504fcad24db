import assert from "node:assert/strict";
import { bundleTextOf, mergedBundle, readCaBundle, readSystemBundle } from "../../../src/egress/mod.ts";
import { configMapLimit } from "../../../src/egress/ca_bundle.ts";
import { testTls } from "../../support/tls_files.ts";

const now = new Date("2030-01-01T00:00:00Z");
const ca = testTls.ca.trim();
const key = testTls.server.key.trim();
const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";

const refused = [
  { name: "an empty text", text: "", reason: "Empty" },
  { name: "blanks", text: " \n\t\n", reason: "Blank" },
  { name: "no certificate", text: "hello\n", reason: "NoCertificate" },
  { name: "a key alone", text: key, reason: "NoCertificate" },
  { name: "a broken certificate", text: `${ca}\n${broken}\n`, reason: "BrokenCertificate" },
  { name: "a certificate cut off", text: ca.slice(0, -40), reason: "BrokenCertificate" },
  { name: "two blocks glued together", text: ca + ca, reason: "BrokenCertificate" },
  { name: "bytes behind a certificate", text: withBytesBehind(ca), reason: "BrokenCertificate" },
  { name: "more than a ConfigMap takes", text: "x".repeat(configMapLimit + 1), reason: "TooLarge" },
];
for (const { name, text, reason } of refused) {
  Deno.test(`readCaBundle() refuses ${name}: ${reason}`, async () => {
    const { certificates, problems } = await readCaBundle(text, { now });
    assert.deepEqual(problems.map((problem) => problem.reason), [reason]);
    if (reason !== "BrokenCertificate") assert.deepEqual(certificates, []);
  });
}

Deno.test("bundleTextOf() tells a missing key", () => {
  for (
    const map of [undefined, {}, { data: {} }, { data: { "ca.crt": ca } }, { data: { "ca-bundle.crt": 1 } }]
  ) {
    const found = bundleTextOf(map);
    assert.ok("problem" in found);
    assert.equal(found.problem.reason, "KeyMissing");
  }
  assert.deepEqual(bundleTextOf({ data: { "ca-bundle.crt": ca } }), { text: ca });
});

Deno.test("readCaBundle() drops a key and comments, with a warning that does not quote the key", async () => {
  const { certificates, problems, warnings } = await readCaBundle(`# ours\n${key}\nsome words\n${ca}\n`, {
    now,
  });
  assert.deepEqual(problems, []);
  assert.equal(certificates.length, 1);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^line 2: a private key is left out/);
  const merged = mergedBundle(certificates, []);
  assert.ok("text" in merged);
  assert.doesNotMatch(merged.text, /PRIVATE|ours|words/);
});

Deno.test("readCaBundle() finds the certificate behind a key without its end", async () => {
  const { certificates, problems, warnings } = await readCaBundle(`${key.slice(0, 60)}\n${ca}\n`, { now });
  assert.deepEqual(problems, []);
  assert.equal(certificates.length, 1);
  assert.match(warnings[0] ?? "", /private key/);
});

Deno.test("readCaBundle() passes over a certificate with fields, as clients do", async () => {
  const [first = "", ...rest] = ca.split("\n");
  const withFields = [first, "Proc-Type: 4,ENCRYPTED", "", ...rest].join("\n");
  const { certificates, warnings } = await readCaBundle(`${withFields}\n${testTls.server.cert}`, { now });
  assert.equal(certificates.length, 1);
  assert.match(warnings[0] ?? "", /fields before its bytes/);
});

const doubtful = [
  { name: "an expired one", text: ca, now: "2200-01-01", says: /^line 1: "postern test CA" has expired/ },
  {
    name: "one of the future",
    text: ca,
    now: "1990-01-01",
    says: /^line 1: "postern test CA" is not valid before/,
  },
  {
    name: "one that is no CA",
    text: testTls.server.cert,
    now: "2030-01-01",
    says: /"postern test server" is no CA/,
  },
];
for (const { name, text, now, says } of doubtful) {
  Deno.test(`readCaBundle() takes ${name} with a warning`, async () => {
    const { certificates, problems, warnings } = await readCaBundle(text, { now: new Date(now) });
    assert.deepEqual(problems, []);
    assert.equal(certificates.length, 1);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", says);
  });
}

Deno.test("mergedBundle() joins a text without a final newline", async () => {
  const user = await readCaBundle(ca, { now });
  const system = await readSystemBundle([testTls.client.cert, testTls.server.cert]);
  const merged = mergedBundle(user.certificates, system);
  assert.ok("text" in merged);
  assert.equal(merged.count, 3);
  const again = await readCaBundle(merged.text, { now });
  assert.deepEqual(again.problems, []);
  assert.equal(again.certificates.length, 3);
});

Deno.test("mergedBundle() has a certificate once, the user's first", async () => {
  const user = await readCaBundle(`${ca}\r\n${ca.replaceAll("\n", "\r\n")}\n`, { now });
  const system = await readSystemBundle([`${testTls.server.cert}\n${testTls.ca}`, "junk", broken]);
  const merged = mergedBundle(user.certificates, system);
  assert.ok("text" in merged);
  assert.equal(merged.count, 2);
  assert.ok(merged.text.startsWith(ca));
});

Deno.test("mergedBundle() of no user's certificates is the system's", async () => {
  const system = await readSystemBundle([testTls.ca]);
  const merged = mergedBundle([], system);
  assert.deepEqual(merged, { text: testTls.ca, count: 1 });
});

Deno.test("mergedBundle() refuses more than a ConfigMap takes", () => {
  const many = Array.from({ length: 800 }, (_, index) => ({
    base64: `${index}`.padStart(1500, "A"),
    subject: "x",
  }));
  const merged = mergedBundle(many, []);
  assert.ok("problem" in merged);
  assert.equal(merged.problem.reason, "TooLarge");
});

Deno.test("readCaBundle() reads a bundle of 1 MiB, and tells of 20 findings of many", async () => {
  const copies = Math.floor(configMapLimit / (key.length + 1)) - 1;
  const text = `${`${key}\n`.repeat(copies)}${ca}\n`;
  const { certificates, warnings } = await readCaBundle(text.slice(-configMapLimit), { now });
  assert.equal(certificates.length, 1);
  assert.equal(warnings.length, 21);
  assert.match(warnings[20] ?? "", /more findings/);
});

function withBytesBehind(pem: string): string {
  const body = pem.split("\n").slice(1, -1).join("");
  const bytes = atob(body);
  return `-----BEGIN CERTIFICATE-----\n${btoa(`${bytes}\0\0`)}\n-----END CERTIFICATE-----`;
}
