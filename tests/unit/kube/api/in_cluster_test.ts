import assert from "node:assert/strict";
import { inClusterContext } from "../../../../src/kube/api/in_cluster.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";

const account = "/var/run/secrets/kubernetes.io/serviceaccount";
const env = (values: Readonly<Record<string, string>>) => ({ env: (name: string) => values[name] });
const service = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };

Deno.test("inClusterContext() is the pod's own cluster, with the token that the kubelet renews", async () => {
  const files = new MemoryFiles({ [`${account}/token`]: "t", [`${account}/namespace`]: "konn\n" });
  const context = await inClusterContext({ files, process: env(service) });
  assert.equal(context.cluster.server.href, "https://[fd00::1]:6443/");
  assert.equal(context.namespace, "konn");
  assert.deepEqual(context.cluster.ca, { file: `${account}/ca.crt` });
  assert.equal(context.user.tokenFile, `${account}/token`);
});

const outside = [
  { name: "without the service's address", files: { [`${account}/token`]: "t" }, values: {} },
  { name: "without a service account", files: {}, values: service },
];
for (const { name, files, values } of outside) {
  Deno.test(`inClusterContext() refuses to run outside a pod: ${name}`, async () => {
    const asked = inClusterContext({ files: new MemoryFiles(files), process: env(values) });
    await assert.rejects(asked, { code: "config", hint: "name a kubeconfig: --kubeconfig FILE" });
  });
}
