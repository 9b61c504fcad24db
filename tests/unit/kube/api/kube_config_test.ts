import assert from "node:assert/strict";
import { readKubeConfig } from "../../../../src/kube/api/kube_config.ts";
import type { PosternError } from "../../../../src/words/mod.ts";
import { kubeconfigOf } from "../../../support/kube_world.ts";
import { kubeconfigs, refusedKubeconfigs } from "../../../support/kubeconfig_cases.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";

const read = async (text: string, name = "lab") =>
  (await readKubeConfig(new MemoryFiles({ "/home/me/.kube/config": text }), ["/home/me/.kube/config"]))
    .context(name);

Deno.test("readKubeConfig() reads handwritten YAML", async () => {
  const context = await read(kubeconfigs.handwritten);
  assert.equal(context.namespace, "shop");
  assert.equal(context.cluster.server.href, "https://[fd00::1]:6443/prefix");
  assert.deepEqual(context.cluster.ca, { file: "/home/me/.kube/pki/ca.crt" });
  assert.equal(context.cluster.tlsServerName, "api.example.net");
  assert.equal(context.cluster.proxyUrl?.href, "socks5://127.0.0.1:12000");
  assert.deepEqual(context.cluster.execConfig, { audience: "lab" });
  assert.equal(context.cluster.isUnverified, false);
  assert.equal(context.user.tokenFile, "/home/me/.kube/../token");
  assert.deepEqual(context.user.impersonate, {
    user: "boss",
    groups: ["a", "b"],
    extra: { reason: ["one", "two"] },
  });
});

Deno.test("readKubeConfig() reads YAML like Go: merge keys work, and the last duplicate key wins", async () => {
  const context = await read(kubeconfigs.merged);
  assert.equal(context.cluster.server.host, "two.example.net");
  assert.equal(context.cluster.isUnverified, true);
  assert.equal(context.user.token, "secret");
});

Deno.test("readKubeConfig() prefers data to files, and defaults to the namespace `default`", async () => {
  const context = await read(kubeconfigs.dataAndFiles);
  assert.equal(context.namespace, "default");
  assert.deepEqual(context.cluster.ca, { pem: "PEM" });
  assert.deepEqual(context.user.certificate, { pem: "CERT" });
  assert.deepEqual(context.user.key, { file: "/home/me/.kube/key.pem" });
});

Deno.test("readKubeConfig() merges a list of files: the first of each name wins, a missing file is empty", async () => {
  const files = new MemoryFiles({
    "/a/one": JSON.stringify({
      clusters: [{ name: "c", cluster: { server: "https://one", "certificate-authority": "ca" } }],
      contexts: [{ name: "lab", context: { cluster: "c", user: "u" } }],
    }),
    "/b/two": JSON.stringify({
      "current-context": "other",
      clusters: [{ name: "c", cluster: { server: "https://two" } }],
      users: [{ name: "u", user: { "client-certificate": "c.crt", "client-key": "/k" } }],
      contexts: [
        { name: "lab", context: { cluster: "nowhere" } },
        { name: "other", context: { cluster: "c", user: "u" } },
      ],
    }),
  });
  const config = await readKubeConfig(files, ["/a/one", "/missing", "/b/two"]);
  assert.deepEqual(config.contextNames, ["lab", "other"]);
  assert.equal(config.currentContext, "other");
  const { cluster, user } = config.context("lab");
  assert.equal(cluster.server.host, "one");
  assert.deepEqual(cluster.ca, { file: "/a/ca" });
  assert.deepEqual(user.certificate, { file: "/b/c.crt" });
});

Deno.test("readKubeConfig() fails if none of several files exists", async () => {
  await assert.rejects(readKubeConfig(new MemoryFiles({}), ["/a", "/b"]), {
    code: "config",
    message: 'Cannot read the kubeconfigs "/a", "/b": none of them exists',
    hint: /KUBECONFIG/,
  });
});

Deno.test("readKubeConfig() reads a plugin: a path is relative to the file, a bare name is not", async () => {
  const exec = (command: string) => ({
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command,
      args: ["get-token"],
      env: [{ name: "A", value: "b" }, { name: "EMPTY" }],
      installHint: "get it",
      provideClusterInfo: true,
      interactiveMode: "IfAvailable",
    },
  });
  for (
    const [command, expected] of [["kubelogin", "kubelogin"], ["./login", "/home/me/.kube/./login"], [
      "/bin/login",
      "/bin/login",
    ]] as const
  ) {
    const { user } = await read(kubeconfigOf({ user: exec(command) }));
    assert.equal(user.exec?.command, expected);
    assert.deepEqual(user.exec?.env, { A: "b", EMPTY: "" });
    assert.equal(user.exec?.providesClusterInfo, true);
  }
});

Deno.test("readKubeConfig() reads a user that hundreds of entries share through aliases", async () => {
  const context = await read(kubeconfigs.shared);
  assert.equal(context.user.token, "secret");
});

for (
  const [written, isMeant] of [["yes", true], ["On", true], ["Y", true], ["off", false], [
    "NO",
    false,
  ]] as const
) {
  Deno.test(`readKubeConfig() reads ${written} as ${isMeant}, like Go's YAML parser`, async () => {
    const { cluster, user } = await read(`
clusters: [{ name: c, cluster: { server: "https://a.example", insecure-skip-tls-verify: ${written} } }]
contexts: [{ name: lab, context: { cluster: c, user: u } }]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: login
      interactiveMode: Never
      provideClusterInfo: ${written}
`);
    assert.equal(cluster.isUnverified, isMeant);
    assert.equal(user.exec?.providesClusterInfo, isMeant);
  });
}

Deno.test("readKubeConfig() ignores entries without a name", async () => {
  const context = await read(kubeconfigs.nameless);
  assert.equal(context.cluster.server.host, "one.example.net");
  assert.deepEqual(context.user, { name: "u" });
});

for (const { name, text, context = "lab", message } of refusedKubeconfigs) {
  Deno.test(`readKubeConfig() refuses ${name}`, async () => {
    await assert.rejects(read(text, context), (error: PosternError) => {
      assert.equal(error.code, "config");
      assert.match(error.message, message);
      return true;
    });
  });
}

const unread: readonly { name: string; value: string; says: RegExp }[] = [
  { name: "an alias without an anchor", value: "*hidden", says: /Unresolved alias/ },
  {
    name: "a block with text after its indicator",
    value: "|hidden",
    says: /Block scalar .* at line 3, column [0-9]+$/,
  },
  {
    name: "a duplicate text",
    value: "'a' hidden",
    says: /Unexpected scalar .* at line 3, column [0-9]+$/,
  },
  { name: "an unknown tag", value: "!hidden! a", says: /unknown tag .* at line 3, column [0-9]+$/ },
  { name: "an unclosed text", value: '"hidden', says: /Missing closing .* at line 4, column 1$/ },
];
for (const { name, value, says } of unread) {
  Deno.test(`readKubeConfig() hides unreadable content: ${name}`, async () => {
    await assert.rejects(read(`users:\n- user:\n    token: ${value}\n`), (error: PosternError) => {
      assert.match(error.message, says);
      assert.doesNotMatch(`${error.message} ${error.hint}`, /hidden/);
      return true;
    });
  });
}

Deno.test("readKubeConfig() fails if a single file is missing", async () => {
  await assert.rejects(readKubeConfig(new MemoryFiles({}), ["/none"]), /\/none/);
});
