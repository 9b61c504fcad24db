import assert from "node:assert/strict";
import { delimiter, normalize } from "node:path";
import { type Conn, relay, Tasks } from "../../src/core/mod.ts";
import { readKubeConfig } from "../../src/kube/api/kube_config.ts";
import type { KubeContext, PemSource } from "../../src/kube/api/kube_context.ts";
import { writtenKubeconfig } from "../../src/kube/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { encodeResponseHead } from "../../src/wire/mod.ts";
import { PosternError } from "../../src/words/mod.ts";
import type { ReadContext, ReadFile, ReadPem } from "../support/client_node_program.ts";
import { FakeKubeApi, FakeWatch } from "../support/fake_kube_api.ts";
import { ForwardStandIn } from "../support/forward_stand_in.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { memoryPair } from "../support/memory_conn.ts";
import { makeCertificates } from "../support/kube_processes.ts";
import { pod, service } from "../support/kube_objects.ts";
import { kubeconfigOf } from "../support/kube_world.ts";
import { kubeconfigs, refusedKubeconfigs } from "../support/kubeconfig_cases.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { denoDirectory, Household } from "../support/postern_process.ts";
import { echoServer } from "../support/target_server.ts";

// `@kubernetes/client-node` as another real client: it reads kubeconfigs, watches and forwards through a real
// instance, and with the test servers of our own client.

/** Returns its output line by line; on failure, its error output. */
async function clientNode(
  module: string,
  args: readonly string[],
  stdin = "",
): Promise<readonly string[]> {
  const program = new URL("../support/client_node_program.ts", import.meta.url).href;
  const flags = [
    ...["--no-prompt", "--no-config", "--no-lock", "--node-modules-dir=manual"],
    ...["--no-check", "--cached-only", "--quiet"],
  ];
  const rights = [
    "--allow-net=127.0.0.1",
    "--allow-read",
    "--allow-env",
    "--allow-sys",
    `--allow-run=${Deno.execPath()}`,
  ];
  const { code, stdout, stderr } = await runPeer(
    Deno.execPath(),
    ["run", ...flags, ...rights, program, module, ...args],
    { stdin, env: { DENO_DIR: await denoDirectory(), DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" } },
  );
  assert.equal(code, 0, stderr);
  return stdout.split("\n").slice(0, -1);
}

const v1 = "client.authentication.k8s.io/v1";

/** More kubeconfigs than the tests of our reader have. */
const more: Readonly<Record<string, string>> = {
  "a plugin": kubeconfigOf({
    user: {
      exec: {
        ...{ apiVersion: v1, command: "kubelogin", args: ["get-token"], interactiveMode: "Never" },
        env: [{ name: "A", value: "b" }, { name: "EMPTY" }],
      },
    },
  }),
  "a name and a password": kubeconfigOf({ user: { username: "me", password: "a b" } }),
  "a plain server with a path": kubeconfigOf({ server: "http://127.0.0.1:8001/k8s/clusters/c-1" }),
  "a file that postern writes": await writtenKubeconfig({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "c-a",
      cluster: {
        server: "https://api.c-a.example.net:6443",
        "certificate-authority-data": btoa("PEM"),
        "proxy-url": "socks5://127.0.0.1:12000",
      },
    }],
    contexts: [{ name: "c-a", context: { cluster: "c-a", user: "c-a" } }],
    users: [{
      name: "c-a",
      user: {
        exec: {
          apiVersion: v1,
          command: "/bin/postern",
          args: ["exec-credential"],
          interactiveMode: "Never",
        },
      },
    }],
    "current-context": "c-a",
  }),
};

const fixtures = [
  ...["../fuzz/corpus/kubeconfig/json", "../fuzz/corpus/kubeconfig/aliases"],
  ...["../fuzz/corpus/kubeconfig/kubectl-config", "../earlier/0.0.9/.kube/config"],
];

/** Our reader refuses these like kubectl; client-node does not check them. */
const unchecked = [
  ...["a document that is not a mapping", "contexts that are not a list", "an unknown user"],
  ...[
    "a server that is not a URL",
    "a proxy that is not a URL",
    "an authority with insecure-skip-tls-verify",
  ],
  ...[
    "a certificate without a key",
    "an auth-provider",
    "a plugin of an old version",
    "a plugin of v1 without interactiveMode",
  ],
  ...[
    "groups without a user",
    "../fuzz/corpus/kubeconfig/aliases",
    "../fuzz/corpus/kubeconfig/kubectl-config",
  ],
];

/** Our reader accepts these like kubectl; client-node refuses duplicate keys, and entries without a name. */
const tooMuchForIt = ["merged", "nameless"];

peerTest(
  "client-node merges kubeconfigs as we do, each with its own paths",
  ["client_node"],
  async (paths) => {
    const directory = await Deno.makeTempDir({ prefix: "kubeconfigs-" });
    try {
      const files = [`${directory}/one/config`, `${directory}/two/config`];
      // client-node rejects duplicate names; kubectl and we use the first one.
      const other = kubeconfigOf({ user: { "client-certificate": "crt", "client-key": "key" } });
      for (const name of ["one", "two"]) await Deno.mkdir(`${directory}/${name}`);
      await Deno.writeTextFile(files[0] ?? "", kubeconfigs.dataAndFiles);
      await Deno.writeTextFile(files[1] ?? "", other.replaceAll(/"(c|u|lab)"/g, '"other-$1"'));
      const [line = ""] = await clientNode(paths.client_node, ["read", files.join(delimiter)]);
      const theirs: ReadFile = JSON.parse(line);
      assert.deepEqual(theirs, await read(...files));
      assert.deepEqual("contexts" in theirs && Object.keys(theirs.contexts), ["lab", "other-lab"]);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);

peerTest(
  "client-node reads the kubeconfigs of our tests as we do, or both reject them",
  ["client_node"],
  async (peers, t) => {
    const directory = await Deno.makeTempDir({ prefix: "kubeconfigs-" });
    try {
      const cases = new Map([
        ...Object.entries(kubeconfigs),
        ...refusedKubeconfigs.map(({ name, text }) => [name, text] as const),
        ...Object.entries(more),
      ]);
      for (const path of fixtures) cases.set(path, await Deno.readTextFile(new URL(path, import.meta.url)));
      const paths = [...cases.keys()].map((_, at) => `${directory}/${at}`);
      for (const [at, text] of [...cases.values()].entries()) await Deno.writeTextFile(paths[at] ?? "", text);
      const lines = await clientNode(peers.client_node, ["read", ...paths]);
      assert.equal(lines.length, cases.size);
      for (const [at, name] of [...cases.keys()].entries()) {
        await t.step(name, async () => {
          const [ours, theirs]: [ReadFile, ReadFile] = [
            await read(paths[at] ?? ""),
            JSON.parse(lines[at] ?? ""),
          ];
          const isRefused = { ours: "refused" in ours, theirs: "refused" in theirs };
          if (unchecked.includes(name)) assert.deepEqual(isRefused, { ours: true, theirs: false });
          else if (tooMuchForIt.includes(name)) assert.deepEqual(isRefused, { ours: false, theirs: true });
          else if (isRefused.ours) assert.ok(isRefused.theirs);
          else assert.deepEqual(theirs, ours);
        });
      }
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);

/** Reads a kubeconfig with our reader, in a common form. */
async function read(...paths: readonly string[]): Promise<ReadFile> {
  try {
    const config = await readKubeConfig(createFiles(systemClock), paths);
    const contexts = config.contextNames.map((name) => [name, readContext(config.context(name))]);
    return { current: config.currentContext ?? null, contexts: Object.fromEntries(contexts) };
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    return { refused: error.message };
  }
}

function readContext({ cluster, user, namespace }: KubeContext): ReadContext {
  const { exec } = user;
  return {
    server: cluster.server.href,
    ca: pem(cluster.ca),
    isUnverified: cluster.isUnverified,
    tlsServerName: cluster.tlsServerName ?? null,
    proxy: cluster.proxyUrl?.href ?? null,
    namespace,
    certificate: pem(user.certificate),
    key: pem(user.key),
    token: user.token ?? null,
    username: user.username ?? null,
    password: user.password ?? null,
    exec: exec
      ? { apiVersion: exec.apiVersion, command: exec.command, args: exec.args, env: exec.env }
      : null,
    as: user.impersonate?.user ?? null,
  };
}

function pem(source: PemSource | undefined): ReadPem {
  if (!source) return null;
  return "file" in source ? { file: normalize(source.file) } : source;
}

peerTest(
  "client-node lists, watches and forwards through postern, with a real API server",
  ["kubernetes", "client_node"],
  async ({ kubernetes, client_node }, t) => {
    await using cluster = await KubeCluster.start(kubernetes, { linger: "none" });
    await using home = await Household.open();
    await using echo = echoServer();
    await cluster.apply(
      pod({ name: "echo", labels: { app: "echo" }, targets: { 7: echo.address } }),
      service({ name: "echo", selector: { app: "echo" }, ports: [{ port: 7 }] }),
    );
    await cluster.untilReady("default", "echo");
    await home.configure("default: direct\n");
    await using instance = await home.instance();
    const address = await instance.address();
    await makeCertificates(kubernetes, cluster.directory, [
      { name: "person", commonName: "admin", organization: ["system:masters"] },
    ]);
    const file = (name: string) => `${cluster.directory}/${name}`;
    const data = async (name: string) => btoa(await Deno.readTextFile(file(name)));
    const credential = { apiVersion: v1, kind: "ExecCredential", status: { token: cluster.token("admin") } };
    const users = {
      "a certificate in files": {
        "client-certificate": file("person.crt"),
        "client-key": file("person.key"),
      },
      "a certificate": {
        "client-certificate-data": await data("person.crt"),
        "client-key-data": await data("person.key"),
      },
      "a plugin": {
        exec: {
          apiVersion: v1,
          command: Deno.execPath(),
          args: ["eval", `console.log(${JSON.stringify(JSON.stringify(credential))})`],
          interactiveMode: "Never",
        },
      },
    };
    for (const [name, user] of Object.entries(users)) {
      await t.step(`signed in with ${name}`, async () => {
        const kubeconfig = await cluster.writeKubeconfig({ name: "user", user });
        assert.deepEqual(await clientNode(client_node, ["services", kubeconfig, "default"]), [
          "echo",
          "kubernetes",
        ]);
      });
    }
    for (const [scheme, protocol] of [["http", "connect"], ["socks5", "socks5"]] as const) {
      await t.step(`by ${scheme}`, async () => {
        const kubeconfig = await cluster.writeKubeconfig({
          cluster: { "proxy-url": `${scheme}://${address}` },
        });
        assert.deepEqual(await clientNode(client_node, ["services", kubeconfig, "default"]), [
          "echo",
          "kubernetes",
        ]);
        const watched = ["watch", kubeconfig, "/api/v1/namespaces/default/services", "2"];
        assert.deepEqual((await clientNode(client_node, watched)).toSorted(), [
          "ADDED echo",
          "ADDED kubernetes",
        ]);
        const text = "over postern\n".repeat(20_000);
        const said = await clientNode(client_node, ["forward", kubeconfig, "default", "echo", "7"], text);
        assert.ok(`${said.join("\n")}\n` === text, `${said.length} lines`);
        // The instance has logged all three.
        await instance.says(new RegExp(`(?:conn\\.done .*protocol=${protocol} [^]*){3}`));
      });
    }
  },
);

peerTest("client-node watches and forwards with the test servers of our own client", [
  "client_node",
], async ({ client_node }, t) => {
  await using tasks = new Tasks(undefined, (error) => {
    throw error;
  });
  const forwards = new ForwardStandIn({
    forms: ["v4"],
    connect: () => {
      const [inside, outside] = memoryPair();
      tasks.spawn(() =>
        assert.rejects(outside.readable.pipeTo(outside.writable), /The peer reset the connection/)
      );
      return inside;
    },
  });
  const watched = new FakeWatch(
    { type: "ADDED", object: { metadata: { name: "web", namespace: "shop" } } },
    { type: "DELETED", object: { metadata: { name: "web", namespace: "shop" } } },
  );
  watched.end();
  await using api = new FakeKubeApi(async ({ path, fields, target, conn }) => {
    if (!path.endsWith("/portforward")) return watched;
    // client-node offers five protocols; a server selects one.
    assert.ok(fields.tokens("Sec-WebSocket-Protocol").includes("v4.channel.k8s.io"));
    const asked = [
      ["Sec-WebSocket-Key", fields.get("Sec-WebSocket-Key") ?? ""],
      ["Sec-WebSocket-Protocol", "v4.channel.k8s.io"],
    ] as const;
    const upgrade = await forwards.upgrade({ path: target, fields: asked }, { signal: tasks.signal });
    if (!upgrade.conn) return { status: upgrade.status };
    const answer = [["Connection", "Upgrade"], ...upgrade.fields] as const;
    await conn.write(encodeResponseHead({ status: 101, fields: answer }));
    await joined(conn, upgrade.conn);
    return "close";
  });
  await using front = createNetwork().listen({ host: "127.0.0.1", port: 0 });
  tasks.spawn(async (signal) => {
    for (let client = await front.accept(); client; client = await front.accept()) {
      const near = client;
      tasks.spawn(async () =>
        void await joined(near, await api.dial({ host: "kube", port: 80 }, { signal }))
      );
    }
  });
  const kubeconfig = await Deno.makeTempFile({ prefix: "kubeconfig-" });
  try {
    assert.ok("port" in front.endpoint);
    const server = `http://127.0.0.1:${front.endpoint.port}`;
    // Without this, client-node rejects a server without TLS.
    const cluster = { "insecure-skip-tls-verify": true };
    await Deno.writeTextFile(kubeconfig, kubeconfigOf({ server, cluster, user: { token: "secret" } }));
    await t.step("a watch that the server ends", async () => {
      const said = await clientNode(client_node, ["watch", kubeconfig, "/api/v1/namespaces/shop/services"]);
      assert.deepEqual(said, ["ADDED web", "DELETED web"]);
      const [request] = api.requests;
      assert.deepEqual([request?.fields.get("Authorization"), request?.query.get("watch")], [
        "Bearer secret",
        "true",
      ]);
    });
    await t.step("forwards, each in a separate WebSocket", async () => {
      const said = await clientNode(
        client_node,
        ["forward", kubeconfig, "shop", "web-0", "80"],
        "hello\n".repeat(1000),
      );
      assert.deepEqual(said, Array(1000).fill("hello"));
      assert.deepEqual(forwards.requests, [
        "GET /api/v1/namespaces/shop/pods/web-0/portforward?ports=80 v4.channel.k8s.io",
      ]);
    });
  } finally {
    await Deno.remove(kubeconfig);
  }
});

async function joined(client: Conn, target: Conn): Promise<void> {
  await relay(client, target, { clock: systemClock, tally: { up: 0, down: 0 }, halfCloseLinger: 1000 });
}
