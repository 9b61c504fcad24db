import assert from "node:assert/strict";
import { bundleInjection, wantsBundle } from "../../../src/egress/mod.ts";

function configMap(label: unknown, data?: Record<string, string>) {
  const labels = { "config.openshift.io/inject-trusted-cabundle": label };
  return { metadata: { name: "ca", namespace: "shop", labels }, ...(data && { data }) };
}

for (const label of ["True", "yes", "", "1", true, undefined]) {
  Deno.test(`bundleInjection() ignores the label ${JSON.stringify(label)}`, () => {
    assert.equal(wantsBundle(configMap(label)), false);
    assert.equal(bundleInjection(configMap(label), "bundle"), undefined);
  });
}

Deno.test("bundleInjection() applies only its own key", () => {
  assert.deepEqual(bundleInjection(configMap("true", { other: "x", "ca-bundle.crt": "old" }), "new"), {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "ca", namespace: "shop" },
    data: { "ca-bundle.crt": "new" },
  });
});

Deno.test("bundleInjection() returns nothing for an unchanged bundle", () => {
  assert.equal(bundleInjection(configMap("true", { "ca-bundle.crt": "same" }), "same"), undefined);
});

Deno.test("bundleInjection() keeps the key when the label is gone", () => {
  const { metadata: { labels: _labels, ...metadata }, ...map } = configMap("true", {
    "ca-bundle.crt": "old",
  });
  assert.equal(bundleInjection({ ...map, metadata }, "new"), undefined);
});

for (const value of [undefined, null, 1, [], {}, { metadata: { labels: "x" } }]) {
  Deno.test(`bundleInjection() ignores ${JSON.stringify(value)}`, () => {
    assert.equal(bundleInjection(value, "bundle"), undefined);
  });
}
