import assert from "node:assert/strict";
import type { Cluster } from "../../src/clusters/mod.ts";
import { storeClusters } from "../support/lab_clusters.ts";
import { inNamespace } from "../support/namespaces.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import type { Household } from "../support/postern_process.ts";
import { atTerminal } from "../support/pseudo_terminal.ts";
import { openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { SshLab, sshPeers, underHosts } from "../support/sshd.ts";
import { testTls } from "../support/tls_files.ts";

/** An address without a listener. */
const nowhere = "127.0.0.9";

// The test's certificate contains names of this form.
const name = (host: string) => `${host}.apps.example.net`;
const good = ["c-good", "console-good", "oauth-good", "c-half", "console-half", "c-direct"].map(name);
const far = { ...Object.fromEntries(good.map((host) => [host, "127.0.0.1"])), [name("c-dead")]: nowhere };
const here = { ...Object.fromEntries(good.map((host) => [host, nowhere])), [name("c-direct")]: "127.0.0.1" };

/** The clusters' TLS servers; their consoles may be out of order. */
class Endpoints implements AsyncDisposable {
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...testTls.server },
    (request) => this.#answer(new URL(request.url).hostname),
  );
  /** The maximum number of concurrent requests since the last `expect`. */
  most = 0;
  #now = 0;
  #wanted = 1;
  #enough = Promise.withResolvers<void>();

  get port(): number {
    return this.#server.addr.port;
  }

  /** Delays answers from now on until this many requests are open. */
  expect(count: number): void {
    this.most = 0;
    this.#wanted = count;
    this.#enough = Promise.withResolvers();
  }

  async #answer(host: string): Promise<Response> {
    this.most = Math.max(this.most, ++this.#now);
    if (this.most >= this.#wanted) this.#enough.resolve();
    await this.#enough.promise;
    this.#now--;
    if (host === name("console-half")) return new Response(null, { status: 503 });
    return new Response(null, { status: host.startsWith("console") ? 200 : 403 });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#enough.resolve();
    return this.#server.shutdown();
  }
}

function clusters(port: number): readonly Cluster[] {
  const url = (host: string) => `https://${name(host)}:${port}`;
  const cluster = (
    id: string,
    jumphost: string | undefined,
    dynamicFacts: Cluster["dynamicFacts"],
  ): Cluster => ({
    id,
    displayName: id.toUpperCase(),
    facts: jumphost === undefined ? {} : { jumphost, jumphostDomains: name(id) },
    dynamicFacts,
  });
  return [
    cluster("c-good", "jump2", {
      openshiftApiURL: url("c-good"),
      openshiftConsoleURL: url("console-good"),
      openshiftOAuthRoute: `${name("oauth-good")}:${port}`,
    }),
    cluster("c-half", "jump1", {
      openshiftApiURL: url("c-half"),
      openshiftConsoleURL: url("console-half"),
    }),
    cluster("c-dead", "jump1", { talosApiURL: url("c-dead") }),
    cluster("c-direct", undefined, { talosApiURL: url("c-direct") }),
    cluster("c-bare", undefined, {}),
  ];
}

interface Fleet {
  readonly home: Household;
  readonly endpoints: Endpoints;
  /** Runs `postern test`. */
  readonly test: (...args: string[]) => Promise<{ code: number; stdout: string; stderr: string }>;
  readonly options: Parameters<Household["run"]>[1];
}

function fleetTest(
  title: string,
  peers: readonly "python"[],
  test: (fleet: Fleet, python: string) => Promise<void>,
) {
  const namespace = inNamespace("--mount");
  if ("missing" in namespace) return skippedTest(title, namespace.missing);
  peerTest(title, [...sshPeers, "bash", ...peers], async (paths) => {
    await using lab = await SshLab.create(paths);
    const one = await lab.start("one", { hosts: far });
    const two = await lab.start("two", { hosts: far });
    await using endpoints = new Endpoints();
    await using home = await openSshHousehold(lab, {
      ssh: [
        ...sshHostLines("jump1", one),
        ...sshHostLines("jump2", two, "ProxyJump jump1"),
        ...sshHostLines("gone", { port: 1 }),
      ],
      postern: ["transports: { gone: { ssh: gone } }"],
    });
    await storeClusters(home, clusters(endpoints.port));
    await Deno.writeTextFile(`${home.directory}/ca.crt`, testTls.ca);
    const options = {
      env: { SSL_CERT_FILE: `${home.directory}/ca.crt` },
      under: await underHosts(`${lab.directory}/here.hosts`, here),
    };
    const run = (...args: string[]) => home.run(["test", ...args], options);
    await test({ home, endpoints, test: run, options }, (paths as { python?: string }).python ?? "");
  });
}

/** The tests of the fleet with their expected results. */
const expected = [
  ["jumphost", "gone", "failed"],
  ["jumphost", "jump2", "ok"],
  ["jumphost", "jump1", "ok"],
  ["api", "c-good", "ok"],
  ["console", "c-good", "ok"],
  ["oauth", "c-good", "ok"],
  ["api", "c-half", "ok"],
  ["console", "c-half", "failed"],
  ["oauth", "c-half", "skipped"],
  ["api", "c-dead", "failed"],
  ["api", "c-direct", "ok"],
  ["api", "c-bare", "skipped"],
  ["console", "c-bare", "skipped"],
  ["oauth", "c-bare", "skipped"],
];

function assertAll(stdout: string): void {
  const { counts, tests } = JSON.parse(stdout);
  assert.deepEqual(
    tests.map(({ kind, name, outcome }: Record<string, string>) => [kind, name, outcome]),
    expected,
    stdout,
  );
  assert.deepEqual(counts, { ok: 7, failed: 3, skipped: 4 });
  for (const { outcome, ms, reason, error } of tests) {
    assert.equal(typeof ms, outcome === "skipped" ? "undefined" : "number");
    assert.equal(typeof reason, outcome === "skipped" ? "string" : "undefined");
    assert.equal(typeof error?.message, outcome === "failed" ? "string" : "undefined");
  }
}

fleetTest(
  "test with a dead cluster exits with 7 and names it, over its own sessions",
  [],
  async ({ test }) => {
    const { code, stdout, stderr } = await test();
    assert.equal(code, 7, stdout + stderr);
    assert.match(stderr, /^postern: 7 ok, 3 failed, 4 skipped\n$/m);
    assert.ok(!stderr.includes("\x1b"));
    assert.match(stdout, /^ok {7}jump2 +jump host +\d+ ms {2}jump1 \d+ ms > jump2 \d+ ms$/m);
    assert.match(stdout, /^ok {7}c-good +oauth +\d+ ms {2}https:\/\/oauth-good\.apps\.example\.net:\d+$/m);
    assert.match(
      stdout,
      /^FAILED {3}c-dead +api +\d+ ms {2}https:\S+\n +Cannot reach c-dead\.apps\S+ through ssh jump1/m,
    );
    assert.match(
      stdout,
      /^FAILED {3}c-half +console .*\n +Cannot reach .* returned 503\n +check the service in the cluster/m,
    );
    assert.match(stdout, /^skipped {2}c-bare +api +no fact contains an API URL/m);
    const json = await test("-o", "json");
    assert.equal(json.code, 7);
    assertAll(json.stdout);
  },
);

fleetTest(
  "test reaches the clusters through the running instance",
  [],
  async ({ home, test, options }) => {
    await using instance = await home.instance([], options);
    const json = await test("-o", "json");
    assert.equal(json.code, 7, json.stderr);
    assertAll(json.stdout);
    const { tests } = JSON.parse(json.stdout);
    const dead = tests.find(({ name }: { name: string }) => name === "c-dead");
    // The instance's own error, which a SOCKS reply would not contain.
    assert.equal(dead.error.code, "refused");
    assert.match(dead.error.message, /"instance" \(\S+\): cannot reach c-dead\S+ through ssh jump1/);
    await instance.says(/conn\.done .*target=c-good\.apps\.example\.net:\d+ .*transport=jump2 /);
    const [{ connections: { total } }] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
    assert.equal((await test("c-good", "--own-sessions")).code, 0);
    const [after] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
    assert.equal(after.connections.total, total);
  },
);

fleetTest("test selects clusters by pattern and fact, with their jump hosts", [], async ({ test }) => {
  const named = async (...args: string[]) => {
    const { code, stdout, stderr } = await test(...args, "-o", "json");
    const { tests } = JSON.parse(stdout);
    return [code, ...tests.map(({ kind, name }: Record<string, string>) => `${kind} ${name}`), stderr];
  };
  const goods = ["api c-good", "console c-good", "oauth c-good"];
  assert.deepEqual(await named("c-g*"), [0, "jumphost jump2", ...goods, ""]);
  assert.deepEqual(await named("-l", "talosApiURL,!jumphost"), [0, "api c-direct", ""]);
  assert.deepEqual(await named("jump1"), [0, "jumphost jump2", "jumphost jump1", ""]);
  const excluded = ["--exclude", "c-half", "--exclude", "c-dead", "--exclude", "gone", "--exclude", "c-bare"];
  assert.deepEqual(await named(...excluded), [
    0,
    "jumphost jump2",
    "jumphost jump1",
    ...goods,
    "api c-direct",
    "",
  ]);
});

fleetTest("test works on several clusters at once, up to its limit", [], async ({ test, endpoints }) => {
  // Sequential requests would wait forever.
  endpoints.expect(4);
  const { code, stdout, stderr } = await test("c-good", "c-direct", "--timeout", "2m");
  assert.equal(code, 0, stdout + stderr);
  endpoints.expect(1);
  assert.equal((await test("c-good", "c-direct", "--parallel", "1")).code, 0);
  assert.equal(endpoints.most, 1);
});

fleetTest("test shows its progress on a terminal only", ["python"], async ({ home, options }, python) => {
  const { command, env } = home.commandLine(["test", "c-direct"], options);
  const { screen, code } = await atTerminal(python, command, { steps: [], env });
  assert.equal(code, 0, screen);
  assert.ok(screen.includes("0 of 1\x1b[K"));
  assert.ok(screen.includes("1 of 1\x1b[K"));
  assert.match(screen, /c-direct/);
});
