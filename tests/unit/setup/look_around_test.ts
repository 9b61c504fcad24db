import assert from "node:assert/strict";
import { lookAround } from "../../../src/setup/look_around.ts";
import { MemoryWorld, type MemoryWorldOptions } from "../../support/memory_world.ts";

async function found(options: MemoryWorldOptions, prepare: (world: MemoryWorld) => void = () => {}) {
  const world = new MemoryWorld(options);
  prepare(world);
  return await lookAround(world, {
    isOwn: ({ port }) => port === "12000",
    isUsualPort: true,
    shown: (text) => text.replaceAll("/home/me/", "~/"),
    signal: new AbortController().signal,
  });
}

function kubeconfig(...contexts: readonly (readonly [name: string, server: string])[]): string {
  return [
    "apiVersion: v1",
    "kind: Config",
    `current-context: ${contexts[0]?.[0]}`,
    "clusters:",
    ...contexts.map(([name, server]) => `- { name: ${name}, cluster: { ${server} } }`),
    "contexts:",
    ...contexts.map(([name]) => `- { name: ${name}, context: { cluster: ${name} } }`),
  ].join("\n");
}

Deno.test("lookAround() finds the contexts of the usual kubeconfig with their lines", async () => {
  const { contexts, notes } = await found({
    files: {
      "/home/me/.kube/config": kubeconfig(
        ["one", "server: https://one.example"],
        ["two", "server: https://two.example, proxy-url: socks5://me:hunter2@localhost:12000"],
        ["three", "server: ftp://three.example"],
      ),
    },
  });
  assert.deepEqual(
    contexts.map(({ name, place, files, isCurrent, proxy }) => [name, place, files, isCurrent, proxy]),
    [
      ["one", "~/.kube/config:9", [], true, undefined],
      ["two", "~/.kube/config:10", [], false, { place: "socks5://localhost:12000", isOwn: true }],
    ],
  );
  assert.deepEqual(notes, [
    '~/.kube/config:11: Cannot use the context "three" of "~/.kube/config": the server of the cluster "three" is not ' +
    "a URL that begins with https://",
  ]);
});

Deno.test("lookAround() names the files that kubectl reads only here or never", async () => {
  const { contexts } = await found({
    env: { KUBECONFIG: "/work/a:/work/missing:/work/b" },
    files: {
      "/work/a": kubeconfig(["a", "server: https://a.example"]),
      "/work/b": kubeconfig(["b", "server: https://b.example"]),
      "/home/me/.kube/config": kubeconfig(["home", "server: https://home.example"]),
      "/home/me/.kube/prod.yaml": kubeconfig(["prod", "server: https://prod.example"]),
      "/home/me/.kube/config.bak": kubeconfig(["old", "server: https://old.example"]),
      "/home/me/.kube/notes.yaml": "kind: Other\n",
    },
  });
  assert.deepEqual(contexts.map(({ name, files, place }) => [name, files, place]), [
    ["a", ["/work/a", "/work/b"], "/work/a:7"],
    ["b", ["/work/a", "/work/b"], "/work/b:7"],
    ["home", ["/home/me/.kube/config"], "~/.kube/config:7"],
    ["prod", ["/home/me/.kube/prod.yaml"], "~/.kube/prod.yaml:7"],
  ]);
});

const risks = [
  {
    name: "runs no plugin",
    user: "exec: { apiVersion: client.authentication.k8s.io/v1, command: ./evil, interactiveMode: Never }",
    says: /downloaded\.yaml:7: one signs in with the program .*evil: to add it, set KUBECONFIG/,
  },
  {
    name: "sends no file as a token",
    user: "tokenFile: /home/me/.ssh/id_rsa",
    says: /downloaded\.yaml:7: one signs in with the file ~\/\.ssh\/id_rsa: to add it, set KUBECONFIG/,
  },
];
for (const { name, user, says } of risks) {
  Deno.test(`lookAround() ${name} of a kubeconfig that kubectl does not read`, async () => {
    const plugin = ["users:", `- { name: me, user: { ${user} } }`];
    const text = kubeconfig(["one", "server: https://one.example"]).replace(
      "cluster: one }",
      "cluster: one, user: me }",
    );
    const files = (path: string) => ({ [path]: [text, ...plugin].join("\n") });
    const usual = await found({ files: files("/home/me/.kube/config") });
    assert.deepEqual(usual.contexts.map(({ name }) => name), ["one"]);
    const other = await found({ files: files("/home/me/.kube/downloaded.yaml") });
    assert.deepEqual(other.contexts, []);
    assert.match(other.notes.join(), says);
  });
}

Deno.test("lookAround() ignores the kubeconfig of postern shell", async () => {
  const { contexts } = await found({
    env: { KUBECONFIG: "/tmp/one", POSTERN_CLUSTER: "one" },
    files: {
      "/tmp/one": kubeconfig(["one", "server: https://one.example"]),
      "/home/me/.kube/config": kubeconfig(["home", "server: https://home.example"]),
    },
  });
  assert.deepEqual(contexts.map(({ name, files }) => [name, files]), [["home", []]]);
});

Deno.test("lookAround() names a kubeconfig that it cannot use", async () => {
  const { contexts, notes } = await found({ files: { "/home/me/.kube/config": "contexts: 5\n" } });
  assert.deepEqual(contexts, []);
  assert.match(notes.join(), /Cannot use the kubeconfig "~\/\.kube\/config": its contexts are not a list/);
});

Deno.test("lookAround() finds the catalogues of the environment and of commodore, without its tokens", async () => {
  const { catalogues, notes } = await found({
    env: {
      LIEUTENANT_URL: "https://one.example",
      COMMODORE_OIDC_CLIENT: "me",
      COMMODORE_API_URL: "nonsense",
    },
    files: { "/home/me/.cache/commodore/token": '{ "https://two.example/api": { "id_token": "hunter2" } }' },
  });
  assert.deepEqual(catalogues.map(({ url, place, oidc }) => [url.href, place, oidc.clientId]), [
    ["https://one.example/", "LIEUTENANT_URL", "me"],
    ["https://two.example/api", "~/.cache/commodore/token", undefined],
  ]);
  assert.deepEqual(notes, ["COMMODORE_API_URL: the value is not the URL of a Lieutenant API"]);
});

Deno.test("lookAround() does not quote a broken file of commodore", async () => {
  const { notes } = await found({ files: { "/home/me/.cache/commodore/token": "hunter2" } });
  assert.deepEqual(notes, ["~/.cache/commodore/token: it is not JSON"]);
});

Deno.test("lookAround() finds the proxy variables", async () => {
  const env = { http_proxy: "http://a", HTTPS_PROXY: "http://b", all_proxy: "", NO_PROXY: "x" };
  const { proxies } = await found({ env });
  assert.deepEqual(proxies, { http_proxy: "http://a", HTTPS_PROXY: "http://b", NO_PROXY: "x" });
});

Deno.test("lookAround() finds the former values of variables that postern env has set", async () => {
  const env = {
    POSTERN_ENV: "http_proxy,no_proxy,https_proxy",
    http_proxy: "http://127.0.0.1:40000",
    POSTERN_SAVED_http_proxy: "http://corp.example",
    no_proxy: "mine",
    https_proxy: "http://127.0.0.1:40000",
    HTTPS_PROXY: "http://other.example",
  };
  const { proxies } = await found({ env });
  assert.deepEqual(proxies, { http_proxy: "http://corp.example", HTTPS_PROXY: "http://other.example" });
});

Deno.test("lookAround() finds another port when a program uses the usual one", async () => {
  assert.equal((await found({})).listen, undefined);
  const { listen } = await found({}, ({ network }) => {
    for (const port of [12000, 12001]) network.listen({ host: "127.0.0.1", port });
  });
  assert.deepEqual(listen, { address: "localhost:12002", reason: "Another program uses port 12000" });
});
