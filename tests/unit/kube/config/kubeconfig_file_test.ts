import assert from "node:assert/strict";
import {
  type Kubeconfig,
  makeCurrent,
  mergeKubeconfigFile,
  writeKubeconfigFile,
  writtenKubeconfig,
} from "../../../../src/kube/mod.ts";
import type { Files } from "../../../../src/world/mod.ts";
import { isPosternError } from "../../../../src/words/mod.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { passTime } from "../../../support/sign_in_world.ts";

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

Deno.test("writeKubeconfigFile() replaces postern's own files, and others only when forced", async () => {
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

async function merge(
  files: Files,
  path: string,
  kubeconfig: Kubeconfig,
  { force, behind = [] }: { force: boolean; behind?: readonly string[] },
) {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const merged = mergeKubeconfigFile({ clock, files }, path, kubeconfig, { force, behind, signal });
  await passTime(clock, merged, 500);
  await merged;
}

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

Deno.test("mergeKubeconfigFile() keeps comments, other entries and the current context", async () => {
  const files = new MemoryFiles({ "/k": own });
  const again = () => merge(files, "/k", kubeconfig, { force: false });
  await again();
  const merged = await files.readText("/k");
  for (const line of own.trim().split("\n")) {
    const words = line.replaceAll(/[{}-]/g, " ").trim().replaceAll(/ +/g, " ");
    assert.ok(merged.replaceAll(/[{}-]/g, " ").replaceAll(/ +/g, " ").includes(words), `${line}\n${merged}`);
  }
  assert.match(merged, /name: "?c-a"?\n {4}cluster:\n {6}server: "https:/);
  await again();
  assert.equal(await files.readText("/k"), merged);
});

Deno.test("mergeKubeconfigFile() keeps the user and the namespace of a context", async () => {
  const files = new MemoryFiles({
    "/k": "contexts:\n- name: c-a\n  context: {cluster: c-a, user: mine, namespace: shop}\nclusters: []\n",
  });
  const { users: _, ...rest } = kubeconfig;
  const contexts = [{ name: "c-a", context: { cluster: "c-a" } }];
  await merge(files, "/k", { ...rest, users: [], contexts }, { force: false });
  const merged = await files.readText("/k");
  assert.match(merged, /cluster: c-a, user: mine, namespace: shop/);
  assert.match(merged, /current-context: "?c-a/);
  assert.match(merged, /clusters:\n {2}- name: "c-a"/);
});

Deno.test("mergeKubeconfigFile() replaces a cluster of the same name that points elsewhere only when forced", async () => {
  const files = new MemoryFiles({
    "/k": "clusters: [{name: c-a, cluster: {server: https://else.example}}]\n",
  });
  await assert.rejects(
    merge(files, "/k", kubeconfig, { force: false }),
    (error) => isPosternError(error, "not_allowed") && /\(1 cluster\): c-a$/.test(error.message),
  );
  await merge(files, "/k", kubeconfig, { force: true });
  assert.match(await files.readText("/k"), /api\.c-a\.example\.net/);
});

const elsewhere = [
  {
    what: "a context that was renamed",
    entries: `contexts: [{name: c-a, context: {cluster: mine, user: mine}}]`,
    told: "1 context",
  },
  {
    what: "a user without a cluster of that name",
    entries: `users: [{name: c-a, user: {client-key-data: a2V5}}]`,
    told: "1 user",
  },
];

for (const { what, entries, told } of elsewhere) {
  Deno.test(`mergeKubeconfigFile() changes ${what} only when forced`, async () => {
    const mine = `clusters: [{name: mine, cluster: {server: https://mine.example}}]\n${entries}\n`;
    const files = new MemoryFiles({ "/k": mine });
    await assert.rejects(
      merge(files, "/k", kubeconfig, { force: false }),
      (error) =>
        isPosternError(error, "not_allowed") &&
        error.message === `Cannot add to "/k": it has different entries with the same name (${told}): c-a`,
    );
    assert.equal(await files.readText("/k"), mine);
    await merge(files, "/k", kubeconfig, { force: true });
    assert.match(await files.readText("/k"), /cluster: "?c-a/);
  });
}

Deno.test("mergeKubeconfigFile() replaces its own user if the cluster was removed", async () => {
  const files = new MemoryFiles({ "/k": "users: [{name: c-a, user: {token: no}}]\n" });
  await merge(files, "/k", kubeconfig, { force: false });
  assert.match(await files.readText("/k"), /api\.c-a\.example\.net/);
});

Deno.test("mergeKubeconfigFile() creates a missing file, and refuses one that is not a kubeconfig", async () => {
  const files = new MemoryFiles({ "/list": "- a\n", "/broken": "a: [\n" });
  await merge(files, "/new", kubeconfig, { force: false });
  assert.equal(await files.readText("/new"), text);
  for (const path of ["/list", "/broken"]) {
    await assert.rejects(
      merge(files, path, kubeconfig, { force: true }),
      (error) => isPosternError(error, "config"),
    );
  }
});

Deno.test("mergeKubeconfigFile() keeps the current context of a later file", async () => {
  const files = new MemoryFiles({ "/mine": own, "/none": "current-context: ''\n", "/first": "users: []\n" });
  for (const path of ["/first", "/new"]) {
    await merge(files, path, kubeconfig, { force: false, behind: ["/missing", "/none", "/mine"] });
    const merged = await files.readText(path);
    assert.match(merged, /api\.c-a\.example\.net/);
    assert.doesNotMatch(merged, /current-context: "?[a-z]/);
  }
  await merge(files, "/first", kubeconfig, { force: false, behind: ["/missing", "/none"] });
  assert.match(await files.readText("/first"), /current-context: "?c-a"?$/m);
});

Deno.test("makeCurrent() knows the contexts of later files", async () => {
  const files = new MemoryFiles({ "/k": text.replace(/current-context: .*/, ""), "/mine": own });
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const go = (context: string) =>
    makeCurrent({ clock, files }, ["/k", "/missing", "/mine"], context, { signal });
  assert.equal(await go("c-a"), "other");
  assert.equal(await go("other"), "c-a");
  assert.match(await files.readText("/k"), /^current-context: "?other"?$/m);
  assert.equal(await files.readText("/mine"), own);
  await assert.rejects(go("nowhere"), (error) => isPosternError(error, "config"));
});

for (const value of ["*hidden", "|hidden"]) {
  Deno.test(`mergeKubeconfigFile() hides unreadable content: ${value}`, async () => {
    const files = new MemoryFiles({ "/k": `users:\n- user:\n    token: ${value}\n` });
    await assert.rejects(
      merge(files, "/k", kubeconfig, { force: true }),
      (error) => isPosternError(error, "config") && !/hidden/.test(`${error.message} ${error.hint}`),
    );
  });
}

Deno.test("makeCurrent() quotes texts that Go's parser reads as other types", async () => {
  const contexts =
    "contexts: [{name: 'no', context: {cluster: other}}, {name: dev, context: {cluster: other}}]\n";
  const files = new MemoryFiles({ "/k": `${contexts}current-context: dev # mine\n` });
  const { signal } = new AbortController();
  const go = (context: string) => makeCurrent({ clock: new FakeClock(), files }, ["/k"], context, { signal });
  assert.equal(await go("no"), "dev");
  assert.match(await files.readText("/k"), /^current-context: "no" # mine$/m);
  assert.equal(await go("dev"), "no");
});

Deno.test("mergeKubeconfigFile() quotes texts that Go's parser reads as other types", async () => {
  const files = new MemoryFiles({
    "/k": "clusters: []\ncontexts: [{name: 'no', context: {namespace: shop}}]\n",
  });
  await merge(files, "/k", {
    ...kubeconfig,
    clusters: kubeconfig.clusters.map((entry) => ({ ...entry, name: "no" })),
    contexts: [{ name: "no", context: { cluster: "no", user: "no" } }],
    users: [{ name: "no", user: { token: "no" } }],
    "current-context": "no",
  }, { force: false });
  assert.doesNotMatch(await files.readText("/k"), /[ :]no\b/);
});

Deno.test("mergeKubeconfigFile() keeps the comments of a file without other content", async () => {
  const files = new MemoryFiles({ "/k": "# mine\n  # of the old cluster: https://old.example\n" });
  await merge(files, "/k", kubeconfig, { force: false });
  const merged = await files.readText("/k");
  const [, ...rest] = text.split("\n");
  assert.equal(merged, `# mine\n  # of the old cluster: https://old.example\n${rest.join("\n")}`);
  await assert.rejects(
    writeKubeconfigFile(files, "/k", kubeconfig, { force: false }),
    (error) => isPosternError(error, "not_allowed"),
  );
});

const server = "server: https://other.example";
const aliased: readonly { name: string; entries: string; kept: readonly RegExp[] }[] = [
  {
    name: "a list",
    entries: `mine: &list\n- {name: other, cluster: {${server}}}\nclusters: *list\n`,
    kept: [/name: other/, /clusters: \*list/],
  },
  {
    name: "an entry",
    entries: `mine: &one {name: other, cluster: {${server}}}\nclusters:\n- *one\n`,
    kept: [/- \*one/],
  },
  {
    name: "a context",
    entries: "mine: &one {cluster: c-a, namespace: shop}\ncontexts:\n- {name: c-a, context: *one}\n",
    kept: [/mine: &one \{ cluster: c-a, namespace: shop \}/, /user: "c-a"/, /namespace: "?shop"?\n/],
  },
];

for (const { name, entries, kept } of aliased) {
  Deno.test(`mergeKubeconfigFile() keeps ${name} that is an alias`, async () => {
    const files = new MemoryFiles({ "/k": entries });
    await merge(files, "/k", kubeconfig, { force: false });
    const merged = await files.readText("/k");
    for (const line of kept) assert.match(merged, line);
    await merge(files, "/k", kubeconfig, { force: false });
    assert.equal(await files.readText("/k"), merged);
  });
}

Deno.test("mergeKubeconfigFile() adds to a kubeconfig in which hundreds of entries are aliases of one", async () => {
  const users = Array.from({ length: 300 }, (_, index) => `- { name: u${index}, user: *user }\n`).join("");
  const files = new MemoryFiles({ "/k": `mine: &user { token: abc }\nusers:\n${users}` });
  await merge(files, "/k", kubeconfig, { force: false });
  assert.match(await files.readText("/k"), /name: u299, user: \*user/);
});

const aliasedElsewhere: readonly { name: string; entries: string }[] = [
  { name: "an entry", entries: `mine: &one {name: c-a, cluster: {${server}}}\nclusters:\n- *one\n` },
  { name: "a cluster", entries: `mine: &one {${server}}\nclusters:\n- {name: c-a, cluster: *one}\n` },
  { name: "a part", entries: `mine: &one {${server}}\nclusters:\n- {name: c-a, cluster: {<<: *one}}\n` },
];

for (const { name, entries } of aliasedElsewhere) {
  Deno.test(`mergeKubeconfigFile() changes ${name} that is an alias and points elsewhere only when forced`, async () => {
    const files = new MemoryFiles({ "/k": entries });
    await assert.rejects(
      merge(files, "/k", kubeconfig, { force: false }),
      (error) =>
        isPosternError(error, "not_allowed") &&
        /different entries with the same name \(1 cluster\)/.test(error.message),
    );
    assert.equal(await files.readText("/k"), entries);
    await merge(files, "/k", kubeconfig, { force: true });
    assert.match(await files.readText("/k"), /api\.c-a\.example\.net/);
  });
}

Deno.test("mergeKubeconfigFile() does not remove an entry that aliases refer to", async () => {
  const entries = `clusters:\n- {name: c-a, cluster: &one {${server}}}\n- {name: other, cluster: *one}\n`;
  const files = new MemoryFiles({ "/k": entries });
  await assert.rejects(
    merge(files, "/k", kubeconfig, { force: true }),
    (error) => isPosternError(error, "config") && /Cannot change "\/k": .*alias/.test(error.message),
  );
  assert.equal(await files.readText("/k"), entries);
});

Deno.test("mergeKubeconfigFile() waits for kubectl's lock, and removes its own", async () => {
  const files = new MemoryFiles({ "/k": own, "/k.lock": "" });
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const merging = mergeKubeconfigFile({ clock, files }, "/k", kubeconfig, { force: false, signal });
  await clock.advance(200);
  assert.equal(await files.readText("/k"), own);
  await files.remove("/k.lock");
  await passTime(clock, merging, 20);
  await merging;
  assert.match(await files.readText("/k"), /api\.c-a\.example\.net/);
  assert.equal(await files.info("/k.lock"), undefined);
});

Deno.test("mergeKubeconfigFile() names a stale lock in its hint", async () => {
  const files = new MemoryFiles({ "/k": own, "/k.lock": "" });
  await assert.rejects(
    merge(files, "/k", kubeconfig, { force: false }),
    (error) => isPosternError(error, "config") && /remove the stale lock "\/k\.lock"$/.test(error.hint ?? ""),
  );
  assert.ok(await files.info("/k.lock"));
  assert.equal(await files.readText("/k"), own);
});

Deno.test("mergeKubeconfigFile() restores entries that a concurrent kubectl removed", async () => {
  const files = new MemoryFiles({ "/k": own });
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const merging = mergeKubeconfigFile({ clock, files }, "/k", kubeconfig, { force: false, signal });
  while (await files.readText("/k") === own) await new Promise((resolve) => setTimeout(resolve, 0));
  files.put("/k", own);
  await passTime(clock, merging, 50);
  await merging;
  assert.match(await files.readText("/k"), /api\.c-a\.example\.net/);
});
