import assert from "node:assert/strict";
import type { CertificatesRequest } from "../../../../src/roles/konnectivity/certificate_files.ts";
import { writeCertificates } from "../../../../src/roles/mod.ts";
import { decodePem, readCertificate } from "../../../../src/konnectivity/server/x509.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";

const day = 24 * 3600 * 1000;
const request: CertificatesRequest = { directory: "/c", names: ["konn.example.net", "fd00::1"], days: 90 };
const leaves = [
  "/c/frontend/issued/proxy-frontend.crt",
  "/c/frontend/issued/proxy-client.crt",
  "/c/agent/issued/proxy-frontend.crt",
  "/c/agent/issued/proxy-agent.crt",
];

async function made() {
  const world = { clock: new FakeClock(), files: new MemoryFiles() };
  const written = await writeCertificates(request, world);
  const read = async (path: string) =>
    readCertificate(decodePem("CERTIFICATE", await world.files.readText(path)));
  return { ...world, written, read };
}

Deno.test("writeCertificates() writes upstream's layout: two CAs, names only for servers, and private keys", async () => {
  const { files, written, read } = await made();
  const authorities = ["/c/frontend/issued/ca.crt", "/c/agent/issued/ca.crt"];
  assert.deepEqual(written.map(({ path }) => path).sort(), [...authorities, ...leaves].sort());
  for (const path of [...authorities, ...leaves]) {
    assert.equal((await files.info(path))?.mode, 0o644);
    const key = path.replace("issued", "private").replace(".crt", ".key");
    assert.equal((await files.info(key))?.mode, 0o600);
  }
  const server = ["kubernetes", "localhost", "127.0.0.1", "konn.example.net", "fd00::1"];
  assert.deepEqual((await read(leaves[0] ?? "")).names, server);
  assert.deepEqual((await read(leaves[2] ?? "")).names, server);
  assert.deepEqual((await read(leaves[1] ?? "")).names, []);
  assert.notDeepEqual((await read(authorities[0] ?? "")).subject, (await read(authorities[1] ?? "")).subject);
});

Deno.test("writeCertificates() replaces existing files only with --renew", async () => {
  const { clock, files } = await made();
  await assert.rejects(writeCertificates(request, { clock, files }), { code: "config", hint: /--renew/ });
});

const renewals = [
  { name: "no certificate with more than a third of its validity left", days: 50, renews: "due", count: 0 },
  { name: "certificates in the last third of their validity", days: 70, renews: "due", count: 4 },
  { name: "expired certificates", days: 200, renews: "due", count: 4 },
  { name: "all certificates", days: 1, renews: "all", count: 4 },
] as const;
for (const { name, days, renews, count } of renewals) {
  Deno.test(`writeCertificates() renews ${name}, and keeps CAs and keys`, async () => {
    const { clock, files, read } = await made();
    const ca = await files.readText("/c/agent/issued/ca.crt");
    const key = await files.readText("/c/agent/private/proxy-agent.key");
    await clock.advance(days * day);
    const written = await writeCertificates({ ...request, names: [], renews }, { clock, files });
    assert.equal(written.length, count);
    for (const { notAfter } of written) assert.equal(notAfter.getTime(), clock.date().getTime() + 90 * day);
    assert.equal(await files.readText("/c/agent/issued/ca.crt"), ca);
    assert.equal(await files.readText("/c/agent/private/proxy-agent.key"), key);
    assert.ok((await read(leaves[0] ?? "")).names.includes("konn.example.net"));
  });
}

Deno.test("writeCertificates() renews a certificate that lacks a requested name", async () => {
  const { clock, files, read } = await made();
  const written = await writeCertificates({ ...request, names: ["new.example"], renews: "due" }, {
    clock,
    files,
  });
  assert.deepEqual(written.map(({ path }) => path), [leaves[0], leaves[2]]);
  assert.ok((await read(leaves[0] ?? "")).names.includes("new.example"));
});

Deno.test("writeCertificates() issues no certificate that outlives its CA", async () => {
  const { clock, files } = await made();
  await clock.advance(3600 * day);
  const written = await writeCertificates({ ...request, days: 365, renews: "due" }, { clock, files });
  for (const { notAfter } of written) assert.equal(notAfter.getTime(), Date.UTC(2026, 0, 1) + 3650 * day);
});

Deno.test("writeCertificates() names the file that it cannot renew", async () => {
  const { clock, files } = await made();
  files.put("/c/frontend/private/proxy-client.key", "-----BEGIN EC PRIVATE KEY-----\n");
  const asked = writeCertificates({ ...request, renews: "all" }, { clock, files });
  await assert.rejects(asked, { code: "config", message: /Cannot renew ".*proxy-client.crt"/ });
});
