import assert from "node:assert/strict";
import { readKubeConfig } from "../../../../src/kube/api/kube_config.ts";
import type { PosternError } from "../../../../src/words/mod.ts";
import { kubeconfigOf } from "../../../support/kube_world.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";

const read = async (text: string, name = "lab") =>
  (await readKubeConfig(new MemoryFiles({ "/home/me/.kube/config": text }), ["/home/me/.kube/config"]))
    .context(name);

Deno.test("readKubeConfig() reads YAML as people write it", async () => {
  const context = await read(`
apiVersion: v1
kind: Config
current-context: lab
preferences: {}
clusters:
- name: c
  cluster:
    server: https://[fd00::1]:6443/prefix
    certificate-authority: pki/ca.crt
    tls-server-name: api.example.net
    proxy-url: socks5://127.0.0.1:12000
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: { audience: lab }
contexts:
- name: lab
  context: { cluster: c, user: u, namespace: shop }
users:
- name: u
  user:
    tokenFile: ../token
    as: boss
    as-groups: [a, b]
    as-user-extra: { reason: [one, two] }
`);
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

Deno.test("readKubeConfig() reads YAML as Go does: merge keys count, and of keys of one name the last", async () => {
  const context = await read(`
clusters:
- name: base
  cluster: &base { server: https://one.example.net, insecure-skip-tls-verify: true }
- name: c
  cluster: { <<: *base, server: https://two.example.net }
contexts:
- name: lab
  context: { cluster: base, cluster: c, user: v }
users:
- name: u
  user: &user
    token: secret
- name: v
  user:
    <<: *user
`);
  assert.equal(context.cluster.server.host, "two.example.net");
  assert.equal(context.cluster.isUnverified, true);
  assert.equal(context.user.token, "secret");
});

Deno.test("readKubeConfig() takes data before files, and `default` for no namespace", async () => {
  const context = await read(kubeconfigOf({
    cluster: { "certificate-authority": "/ca", "certificate-authority-data": btoa("PEM") },
    user: {
      "client-certificate": "/c",
      "client-certificate-data": btoa("CERT"),
      "client-key": "key.pem",
    },
  }));
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

Deno.test("readKubeConfig() says of a list that none of its files exists", async () => {
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

Deno.test("readKubeConfig() reads one user that hundreds of entries share", async () => {
  const users = Array.from({ length: 300 }, (_, index) => `- { name: u${index}, user: *user }\n`).join("");
  const context = await read(`
x-user: &user { token: secret }
clusters:
- { name: c, cluster: { server: https://one.example.net } }
contexts:
- { name: lab, context: { cluster: c, user: u299 } }
users:
${users}`);
  assert.equal(context.user.token, "secret");
});

for (
  const [written, isMeant] of [["yes", true], ["On", true], ["Y", true], ["off", false], [
    "NO",
    false,
  ]] as const
) {
  Deno.test(`readKubeConfig() takes ${written} for ${isMeant}, as Go's reader of YAML does`, async () => {
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

Deno.test("readKubeConfig() passes over entries without a name, which nobody can mean", async () => {
  const context = await read(`
clusters:
- cluster: { server: https://nobody.example.net }
- { name: c, cluster: { server: https://one.example.net } }
contexts:
-
- { name: lab, context: { cluster: c, user: u } }
users:
- { name: null, user: { token: nobody } }
- name: u
  user:
`);
  assert.equal(context.cluster.server.host, "one.example.net");
  assert.deepEqual(context.user, { name: "u" });
});

const refused: readonly { name: string; text: string; context?: string; message: RegExp }[] = [
  { name: "what is no mapping", text: "[]", message: /it is not a mapping$/ },
  {
    name: "what is no YAML",
    text: "a: [",
    message: /^Cannot use the kubeconfig "\/home\/me\/.kube\/config": /,
  },
  { name: "an alias of nothing", text: "a: *b", message: /Unresolved alias/ },
  { name: "contexts that are no list", text: "contexts: 1", message: /its contexts are not a list/ },
  {
    name: "a context whose name is no text",
    text: "contexts: [{ name: 1 }]",
    message: /one of its contexts has no name/,
  },
  { name: "an unknown context", text: kubeconfigOf({}), context: "x", message: /has none of that name/ },
  {
    name: "an unknown cluster",
    text: kubeconfigOf({ context: { cluster: "y" } }),
    message: /names the cluster "y", which is not there/,
  },
  {
    name: "an unknown user",
    text: kubeconfigOf({ context: { user: "y" } }),
    message: /names the user "y", which is not there/,
  },
  {
    name: "a server that is none",
    text: kubeconfigOf({ server: "ftp://x" }),
    message: /no address that begins/,
  },
  {
    name: "a proxy that is none",
    text: kubeconfigOf({ cluster: { "proxy-url": "ftp://x" } }),
    message: /proxy-url of the cluster "c"/,
  },
  {
    name: "an authority that is not to be checked",
    text: kubeconfigOf({ cluster: { "certificate-authority": "a", "insecure-skip-tls-verify": true } }),
    message: /has a certificate authority and insecure-skip-tls-verify/,
  },
  {
    name: "a certificate without a key",
    text: kubeconfigOf({ user: { "client-certificate": "a" } }),
    message: /only one of client-certificate and client-key/,
  },
  {
    name: "data that is not base64",
    text: kubeconfigOf({ user: { "client-certificate-data": "!!", "client-key": "k" } }),
    message: /client-certificate-data is not base64/,
  },
  {
    name: "an auth-provider",
    text: kubeconfigOf({ user: { "auth-provider": { name: "gcp" } } }),
    message: /has an auth-provider/,
  },
  {
    name: "a plugin of an old version",
    text: kubeconfigOf({
      user: { exec: { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "x" } },
    }),
    message: /speaks neither/,
  },
  {
    name: "a plugin of v1 without interactiveMode",
    text: kubeconfigOf({ user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "x" } } }),
    message: /interactiveMode of exec is none of/,
  },
  {
    name: "groups without a user",
    text: kubeconfigOf({ user: { "as-groups": ["a"] } }),
    message: /need as$/,
  },
];
for (const { name, text, context = "lab", message } of refused) {
  Deno.test(`readKubeConfig() refuses ${name}`, async () => {
    await assert.rejects(read(text, context), (error: PosternError) => {
      assert.equal(error.code, "config");
      assert.match(error.message, message);
      return true;
    });
  });
}

const unread: readonly { name: string; value: string; says: RegExp }[] = [
  { name: "an alias of nothing", value: "*hidden", says: /Unresolved alias/ },
  {
    name: "a block with something behind its sign",
    value: "|hidden",
    says: /Block scalar .* at line 3, column [0-9]+$/,
  },
  {
    name: "a text that stands twice",
    value: "'a' hidden",
    says: /Unexpected scalar .* at line 3, column [0-9]+$/,
  },
  { name: "a tag that is none", value: "!hidden! a", says: /a tag .* at line 3, column [0-9]+$/ },
  { name: "a text without its end", value: '"hidden', says: /Missing closing .* at line 4, column 1$/ },
];
for (const { name, value, says } of unread) {
  Deno.test(`readKubeConfig() shows nothing of what it cannot read: ${name}`, async () => {
    await assert.rejects(read(`users:\n- user:\n    token: ${value}\n`), (error: PosternError) => {
      assert.match(error.message, says);
      assert.doesNotMatch(`${error.message} ${error.hint}`, /hidden/);
      return true;
    });
  });
}

Deno.test("readKubeConfig() says of one file alone that it is missing", async () => {
  await assert.rejects(readKubeConfig(new MemoryFiles({}), ["/none"]), /\/none/);
});
