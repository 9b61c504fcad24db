import assert from "node:assert/strict";
import { billOfMaterials, licenseIn } from "../../../scripts/sbom.ts";

Deno.test("billOfMaterials() has the program's packages and their dependencies, with the lock's hashes", async () => {
  const bill = await billOfMaterials({
    runtime: "2.9.6",
    readPackage: () => Promise.resolve({ license: "MIT" }),
  });
  const names = bill.components.map(({ name }) => name);
  assert.deepEqual(names, [
    "@optique/core",
    "asn1",
    "bcrypt-pbkdf",
    "oauth4webapi",
    "openpgp",
    "pako",
    "safer-buffer",
    "ssh2",
    "tlds",
    "tweetnacl",
    "yaml",
    "deno",
  ]);
  const [first] = bill.components;
  assert.equal(first?.purl, `pkg:npm/%40optique/core@${first?.version}`);
  assert.match(first?.hashes?.[0]?.content ?? "", /^[0-9a-f]{128}$/);
  const refs = new Set(["pkg:generic/postern@0.1.0", ...bill.components.map((part) => part["bom-ref"])]);
  for (const { ref, dependsOn } of bill.dependencies) {
    assert.ok([ref, ...dependsOn].every((one) => refs.has(one)), `${ref} ${dependsOn}`);
  }
  const ssh2 = bill.dependencies.find(({ ref }) => ref.startsWith("pkg:npm/ssh2@"));
  assert.equal(ssh2?.dependsOn.length, 2);
});

Deno.test("billOfMaterials() writes several licenses as an expression", async () => {
  const bill = await billOfMaterials({ readPackage: () => Promise.resolve({ license: "(MIT AND Zlib)" }) });
  assert.deepEqual(bill.components[0]?.licenses, [{ expression: "(MIT AND Zlib)" }]);
});

Deno.test("billOfMaterials() fails for a package without a license", async () => {
  await assert.rejects(
    billOfMaterials({ readPackage: () => Promise.resolve({}) }),
    /license of @optique\/core/,
  );
});

Deno.test("licenseIn() reads current and old forms", () => {
  assert.equal(licenseIn({ license: "LGPL-3.0+" }), "LGPL-3.0-or-later");
  assert.equal(licenseIn({ licenses: [{ type: "MIT" }] }), "MIT");
  assert.equal(licenseIn({ license: { type: "MIT" } }), undefined);
});
