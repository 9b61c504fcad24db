import assert from "node:assert/strict";
import { bundleInjection, wantsBundle } from "../../../src/egress/mod.ts";

function configMap(label: unknown, data?: Record<string, string>) {
  const labels = { "config.openshift.io/inject-trusted-cabundle": label };
  return { metadata: { name: "ca", namespace: "shop", labels }, ...(data && { data }) };
}

for (const label of ["True", "yes", "", "1", true, undefined]) {
  Deno.test(`bundleInjection() does nothing for the label ${JSON.stringify(label)}`, () => {
    assert.equal(wantsBundle(configMap(label)), false);
    assert.equal(bundleInjection(configMap(label), "bundle"), undefined);
  });
}

Deno.test("bundleInjection() applies its own key and no other", () => {
  assert.deepEqual(bundleInjection(configMap("true", { other: "x", "ca-bundle.crt": "old" }), "new"), {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "ca", namespace: "shop" },
    data: { "ca-bundle.crt": "new" },
  });
});

Deno.test("bundleInjection() has nothing to do where the bundle is the same", () => {
  assert.equal(bundleInjection(configMap("true", { "ca-bundle.crt": "same" }), "same"), undefined);
});

Deno.test("bundleInjection() leaves the key of a map that asks no more", () => {
  const { metadata: { labels: _labels, ...metadata }, ...map } = configMap("true", {
    "ca-bundle.crt": "old",
  });
  assert.equal(bundleInjection({ ...map, metadata }, "new"), undefined);
});

for (const value of [undefined, null, 1, [], {}, { metadata: { labels: "x" } }]) {
  Deno.test(`bundleInjection() takes ${JSON.stringify(value)}`, () => {
    assert.equal(bundleInjection(value, "bundle"), undefined);
  });
}
