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
  { name: "only whitespace", text: " \n\t\n", reason: "Blank" },
  { name: "no certificate", text: "hello\n", reason: "NoCertificate" },
  { name: "only a private key", text: key, reason: "NoCertificate" },
  { name: "a malformed certificate", text: `${ca}\n${broken}\n`, reason: "BrokenCertificate" },
  { name: "a truncated certificate", text: ca.slice(0, -40), reason: "BrokenCertificate" },
  { name: "two blocks without a line break between them", text: ca + ca, reason: "BrokenCertificate" },
  { name: "bytes after the certificate", text: withBytesBehind(ca), reason: "BrokenCertificate" },
  { name: "a text larger than a ConfigMap", text: "x".repeat(configMapLimit + 1), reason: "TooLarge" },
];
for (const { name, text, reason } of refused) {
  Deno.test(`readCaBundle() rejects ${name}: ${reason}`, async () => {
    const { certificates, problems } = await readCaBundle(text, { now });
    assert.deepEqual(problems.map((problem) => problem.reason), [reason]);
    if (reason !== "BrokenCertificate") assert.deepEqual(certificates, []);
  });
}

Deno.test("bundleTextOf() reports a missing key", () => {
  for (
    const map of [undefined, {}, { data: {} }, { data: { "ca.crt": ca } }, { data: { "ca-bundle.crt": 1 } }]
  ) {
    const found = bundleTextOf(map);
    assert.ok("problem" in found);
    assert.equal(found.problem.reason, "KeyMissing");
  }
  assert.deepEqual(bundleTextOf({ data: { "ca-bundle.crt": ca } }), { text: ca });
});

Deno.test("readCaBundle() drops a private key and comments; its warning does not quote the key", async () => {
  const { certificates, problems, warnings } = await readCaBundle(`# ours\n${key}\nsome words\n${ca}\n`, {
    now,
  });
  assert.deepEqual(problems, []);
  assert.equal(certificates.length, 1);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^line 2: skipped a private key/);
  const merged = mergedBundle(certificates, []);
  assert.ok("text" in merged);
  assert.doesNotMatch(merged.text, /PRIVATE|ours|words/);
});

Deno.test("readCaBundle() finds a certificate after a truncated private key", async () => {
  const { certificates, problems, warnings } = await readCaBundle(`${key.slice(0, 60)}\n${ca}\n`, { now });
  assert.deepEqual(problems, []);
  assert.equal(certificates.length, 1);
  assert.match(warnings[0] ?? "", /private key/);
});

Deno.test("readCaBundle() skips a certificate with PEM headers, as clients do", async () => {
  const [first = "", ...rest] = ca.split("\n");
  const withFields = [first, "Proc-Type: 4,ENCRYPTED", "", ...rest].join("\n");
  const { certificates, warnings } = await readCaBundle(`${withFields}\n${testTls.server.cert}`, { now });
  assert.equal(certificates.length, 1);
  assert.match(warnings[0] ?? "", /with PEM headers/);
});

const doubtful = [
  {
    name: "an expired certificate",
    text: ca,
    now: "2200-01-01",
    says: /^line 1: "postern test CA" expired on/,
  },
  {
    name: "a certificate that is not valid yet",
    text: ca,
    now: "1990-01-01",
    says: /^line 1: "postern test CA" is not valid before/,
  },
  {
    name: "a certificate that is not a CA",
    text: testTls.server.cert,
    now: "2030-01-01",
    says: /"postern test server" is not a CA certificate/,
  },
];
for (const { name, text, now, says } of doubtful) {
  Deno.test(`readCaBundle() accepts ${name} with a warning`, async () => {
    const { certificates, problems, warnings } = await readCaBundle(text, { now: new Date(now) });
    assert.deepEqual(problems, []);
    assert.equal(certificates.length, 1);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", says);
  });
}

Deno.test("mergedBundle() joins texts without a final newline", async () => {
  const user = await readCaBundle(ca, { now });
  const system = await readSystemBundle([testTls.client.cert, testTls.server.cert]);
  const merged = mergedBundle(user.certificates, system);
  assert.ok("text" in merged);
  assert.equal(merged.count, 3);
  const again = await readCaBundle(merged.text, { now });
  assert.deepEqual(again.problems, []);
  assert.equal(again.certificates.length, 3);
});

Deno.test("mergedBundle() drops duplicates and puts the user's certificates first", async () => {
  const user = await readCaBundle(`${ca}\r\n${ca.replaceAll("\n", "\r\n")}\n`, { now });
  const system = await readSystemBundle([`${testTls.server.cert}\n${testTls.ca}`, "junk", broken]);
  const merged = mergedBundle(user.certificates, system);
  assert.ok("text" in merged);
  assert.equal(merged.count, 2);
  assert.ok(merged.text.startsWith(ca));
});

Deno.test("mergedBundle() without user certificates returns the system's", async () => {
  const system = await readSystemBundle([testTls.ca]);
  const merged = mergedBundle([], system);
  assert.deepEqual(merged, { text: testTls.ca, count: 1 });
});

Deno.test("mergedBundle() rejects a bundle larger than a ConfigMap", () => {
  const many = Array.from({ length: 800 }, (_, index) => ({
    base64: `${index}`.padStart(1500, "A"),
    subject: "x",
  }));
  const merged = mergedBundle(many, []);
  assert.ok("problem" in merged);
  assert.equal(merged.problem.reason, "TooLarge");
});

Deno.test("readCaBundle() reads a bundle of 1 MiB and reports the first 20 findings", async () => {
  const copies = Math.floor(configMapLimit / (key.length + 1)) - 1;
  const text = `${`${key}\n`.repeat(copies)}${ca}\n`;
  const { certificates, warnings } = await readCaBundle(text.slice(-configMapLimit), { now });
  assert.equal(certificates.length, 1);
  assert.equal(warnings.length, 21);
  assert.match(warnings[20] ?? "", /similar findings/);
});

function withBytesBehind(pem: string): string {
  const body = pem.split("\n").slice(1, -1).join("");
  const bytes = atob(body);
  return `-----BEGIN CERTIFICATE-----\n${btoa(`${bytes}\0\0`)}\n-----END CERTIFICATE-----`;
}
