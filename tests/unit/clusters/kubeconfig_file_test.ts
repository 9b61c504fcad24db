import assert from "node:assert/strict";
import {
  type Kubeconfig,
  mergeKubeconfigFile,
  writeKubeconfigFile,
  writtenKubeconfig,
} from "../../../src/clusters/mod.ts";
import { isPosternError } from "../../../src/core/mod.ts";
import { MemoryFiles } from "../../support/memory_files.ts";

const kubeconfig: Kubeconfig = {
  apiVersion: "v1",
  kind: "Config",
  clusters: [{
    name: "c-a",
    cluster: { server: "https://api.c-a.example.net:6443", "proxy-url": "socks5://127.0.0.1:1" },
  }],
  contexts: [{ name: "c-a", context: { cluster: "c-a", user: "c-a" } }],
  users: [{ name: "c-a", user: { token: "no" } }],
  "current-context": "c-a",
};

const text = `# Written by postern, and replaced by it: what you add here is lost.
apiVersion: "v1"
kind: "Config"
clusters:
  - name: "c-a"
    cluster:
      server: "https://api.c-a.example.net:6443"
      proxy-url: "socks5://127.0.0.1:1"
contexts:
  - name: "c-a"
    context:
      cluster: "c-a"
      user: "c-a"
users:
  - name: "c-a"
    user:
      token: "no"
current-context: "c-a"
`;

Deno.test("writtenKubeconfig() quotes every text", async () => {
  assert.equal(await writtenKubeconfig(kubeconfig), text);
});

Deno.test("writeKubeconfigFile() replaces what postern has written, and nothing else unless forced", async () => {
  const files = new MemoryFiles({ "/mine": "apiVersion: v1\n", "/empty": "" });
  const write = (path: string, force = false) => writeKubeconfigFile(files, path, kubeconfig, { force });
  await write("/new");
  await write("/new");
  assert.equal(await files.readText("/new"), text);
  assert.equal((await files.info("/new"))?.mode, 0o600);
  for (const path of ["/mine", "/empty"]) {
    await assert.rejects(write(path), (error) => isPosternError(error, "not_allowed"));
  }
  assert.equal(await files.readText("/mine"), "apiVersion: v1\n");
  await write("/mine", true);
  assert.equal(await files.readText("/mine"), text);
});

const own = `# mine
apiVersion: v1
kind: Config
clusters:
- cluster: {server: https://other.example:6443} # keep
  name: other
contexts:
- context:
    cluster: other
    user: me
  name: other
current-context: other
users:
- name: me
  user: {token: abc}
`;

Deno.test("mergeKubeconfigFile() keeps remarks, other entries and the current context", async () => {
  const files = new MemoryFiles({ "/k": own });
  const merge = () => mergeKubeconfigFile(files, "/k", kubeconfig, { force: false });
  await merge();
  const merged = await files.readText("/k");
  for (const line of own.trim().split("\n")) {
    const words = line.replaceAll(/[{}-]/g, " ").trim().replaceAll(/ +/g, " ");
    assert.ok(merged.replaceAll(/[{}-]/g, " ").replaceAll(/ +/g, " ").includes(words), `${line}\n${merged}`);
  }
  assert.match(merged, /name: "?c-a"?\n {4}cluster:\n {6}server: "https:/);
  await merge();
  assert.equal(await files.readText("/k"), merged);
});

Deno.test("mergeKubeconfigFile() keeps the user and the namespace that a context has", async () => {
  const files = new MemoryFiles({
    "/k": "contexts:\n- name: c-a\n  context: {cluster: x, user: mine, namespace: shop}\nclusters: []\n",
  });
  const { users: _, ...rest } = kubeconfig;
  const contexts = [{ name: "c-a", context: { cluster: "c-a" } }];
  await mergeKubeconfigFile(files, "/k", { ...rest, users: [], contexts }, { force: false });
  const merged = await files.readText("/k");
  assert.match(merged, /cluster: c-a, user: mine, namespace: shop/);
  assert.match(merged, /current-context: "?c-a/);
  assert.match(merged, /clusters:\n {2}- name: "c-a"/);
});

Deno.test("mergeKubeconfigFile() replaces a cluster of the same name that leads elsewhere only when forced", async () => {
  const files = new MemoryFiles({
    "/k": "clusters: [{name: c-a, cluster: {server: https://else.example}}]\n",
  });
  await assert.rejects(
    mergeKubeconfigFile(files, "/k", kubeconfig, { force: false }),
    (error) => isPosternError(error, "not_allowed") && /lead elsewhere: c-a$/.test(error.message),
  );
  await mergeKubeconfigFile(files, "/k", kubeconfig, { force: true });
  assert.match(await files.readText("/k"), /api\.c-a\.example\.net/);
});

Deno.test("mergeKubeconfigFile() makes a file where there is none, and refuses what is no kubeconfig", async () => {
  const files = new MemoryFiles({ "/list": "- a\n", "/broken": "a: [\n" });
  await mergeKubeconfigFile(files, "/new", kubeconfig, { force: false });
  assert.equal(await files.readText("/new"), text);
  for (const path of ["/list", "/broken"]) {
    await assert.rejects(
      mergeKubeconfigFile(files, path, kubeconfig, { force: true }),
      (error) => isPosternError(error, "config"),
    );
  }
});
