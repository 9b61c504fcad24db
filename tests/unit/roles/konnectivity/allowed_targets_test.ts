import assert from "node:assert/strict";
import { AllowedTargets } from "../../../../src/roles/konnectivity/allowed_targets.ts";

for (
  const { patterns, host, port, has } of [
    { patterns: [], host: "anything", port: 1, has: true },
    { patterns: [".svc", "10.0.0.0/8"], host: "web.shop.svc", port: 80, has: true },
    { patterns: [".svc", "10.0.0.0/8"], host: "10.1.2.3", port: 80, has: true },
    { patterns: [".svc", "10.0.0.0/8"], host: "169.254.169.254", port: 80, has: false },
    { patterns: [".svc", "10.0.0.0/8"], host: "0xa.1", port: 80, has: true },
    { patterns: ["127.0.0.0/8"], host: "0", port: 80, has: true },
    { patterns: ["10.0.0.0/8"], host: "0", port: 80, has: false },
    { patterns: ["db.example:5432"], host: "db.example", port: 5432, has: true },
    { patterns: ["db.example:5432"], host: "db.example", port: 22, has: false },
    { patterns: ["=a.example"], host: "b.a.example", port: 1, has: false },
  ]
) {
  Deno.test(`AllowedTargets with ${patterns.join(" ") || "no patterns"} ${has ? "allows" : "denies"} ${host}:${port}`, () => {
    assert.equal(new AllowedTargets(patterns).has({ host, port }), has);
  });
}

for (const pattern of ["", "two words", "#x", "10.0.0.0/99", "a b\nc"]) {
  Deno.test(`AllowedTargets rejects the pattern ${JSON.stringify(pattern)}`, () => {
    assert.throws(() => new AllowedTargets([pattern]), { code: "usage" });
  });
}
