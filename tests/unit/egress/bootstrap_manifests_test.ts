import assert from "node:assert/strict";
import { bootstrapManifests, environmentFile } from "../../../src/egress/mod.ts";

const status = { httpProxy: "http://p:1", httpsProxy: "", noProxy: ".svc,a.test" };

Deno.test("bootstrapManifests() returns the proxy with spec and status, its CA, and the merged bundle", () => {
  const spec = { httpProxy: "http://p:1", trustedCA: { name: "user-ca-bundle" } };
  const manifests = bootstrapManifests({ spec, status, trustBundle: "ours", merged: "ours and theirs" });
  assert.deepEqual(manifests, [
    { apiVersion: "config.openshift.io/v1", kind: "Proxy", metadata: { name: "cluster" }, spec, status },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "user-ca-bundle", namespace: "openshift-config" },
      data: { "ca-bundle.crt": "ours" },
    },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "trusted-ca-bundle", namespace: "openshift-config-managed" },
      data: { "ca-bundle.crt": "ours and theirs" },
    },
  ]);
});

Deno.test("environmentFile() omits empty variables and quotes values for systemd", () => {
  assert.equal(environmentFile(status), "HTTP_PROXY=http://p:1\nNO_PROXY=.svc,a.test\n");
  assert.equal(
    environmentFile({ httpProxy: "http://u:a$b'c%20@p", httpsProxy: "", noProxy: "*" }),
    'HTTP_PROXY="http://u:a\\$b\'c%20@p"\nNO_PROXY=*\n',
  );
});
