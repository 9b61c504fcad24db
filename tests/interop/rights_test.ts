import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { compiled, Household } from "../support/postern_process.ts";
import { sourceCommand, splitFlags } from "../../scripts/postern.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { WebServer } from "../support/web_server.ts";

const main = new URL("../../main.ts", import.meta.url).href;
const isFromSource = compiled() === undefined;
const gone = /dropped that right at startup/;

Deno.test("a package cannot read the environment: the YAML library asks for LOG_TOKENS in vain", async () => {
  await using home = await Household.open();
  await home.configure("routes: [{ to: a.example, via: reject }]\n");
  const quiet = await home.run(["config", "check"]);
  const asked = await home.run(["config", "check"], { env: { LOG_TOKENS: "1", LOG_STREAM: "1" } });
  assert.deepEqual(asked, quiet);
  assert.equal(asked.code, 0, asked.stderr);
});

Deno.test("a configuration may still name variables", async () => {
  await using home = await Household.open();
  await Deno.writeTextFile(`${home.directory}/list.txt`, "wanted.example reject\n");
  await home.configure("routesFrom: ['${WANTED}/list.txt']\n");
  const { stdout, stderr } = await home.run(["explain", "wanted.example"], {
    env: { WANTED: home.directory },
  });
  assert.match(stdout, /goes to reject/, stderr);
});

Deno.test("status, connections, explain, env, pac and reload print every format without any permission", async () => {
  await using home = await Household.open();
  await using instance = await home.instance(["--route", "a.example=reject"]);
  for (const output of ["table", "json", "yaml"]) {
    for (const words of [["status"], ["connections"], ["explain", "a.example"], ["reload"]]) {
      const { code, stderr } = await home.run([...words, "-o", output]);
      assert.equal(code, 0, `${words.join(" ")} -o ${output}: ${stderr}`);
    }
  }
  for (const words of [["env"], ["pac"]]) {
    const { code, stdout, stderr } = await home.run(words);
    assert.equal(code, 0, stderr);
    assert.ok(stdout.includes(words[0] === "env" ? "http_proxy" : "FindProxyForURL"), stdout);
  }
  instance.kill("SIGTERM");
  assert.equal((await instance.ended).code, 0);
});

const plain = "routes: [{ to: a.example, via: reject }]\n";
const toCluster = "routes: [{ to: .svc, via: lab }]\n";
const withSsh = `transports: { jump: { ssh: jump1 } }\n${plain}`;

Deno.test("a reload that adds ssh to an instance without ssh permission is refused, and the old configuration stays", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using instance = await home.instance();
  await home.configure(`${withSsh}default: jump\n`);
  const { code, stderr } = await home.run(["reload"]);
  assert.equal(code, 1, stderr);
  assert.match(
    stderr,
    /Cannot apply the configuration: the transport "jump" needs ssh, and this instance dropped/,
  );
  assert.match(stderr, /^postern: hint: restart the instance$/m);
  const { config, transports } = await statusOf(home);
  assert.match(config.problem ?? "", gone);
  assert.ok(!transports.some(({ name }) => name === "jump"));
  assert.match((await home.run(["explain", "b.example"])).stdout, /goes to direct/);
  instance.kill("SIGTERM");
  await instance.ended;
  await using again = await home.instance();
  assert.match((await home.run(["explain", "b.example"])).stdout, /goes to jump/);
  again.kill("SIGTERM");
  assert.equal((await again.ended).code, 0);
});

Deno.test("a stored catalogue with jump hosts is refused by an instance without ssh permission", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using _instance = await home.instance();
  const mapping = `${home.places.cache.replace(/[^/]*$/, "")}io.vshn.kharon`;
  await Deno.mkdir(mapping, { recursive: true, mode: 0o700 });
  await home.configure(`${plain}catalogues: [{ lieutenant: 'https://api.example' }]\n`);
  const { code, stderr } = await home.run(["reload"]);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /a catalogue needs ssh, and this instance dropped/);
});

peerTest("an instance without permission refuses a reload that adds a sign-in program", [
  "sh",
], async ({ sh }) => {
  await using home = await Household.open();
  await using api = apiServer();
  const marker = `${home.directory}/started`;
  const env = await withPlugin(home, { sh, name: "kubelogin", marker });
  await home.configure(plain);
  await using _instance = await home.instance([], { env });
  await home.configure(await clusterOf(home, api, { exec: exec("kubelogin") }) + plain);
  const { code, stderr } = await home.run(["reload"]);
  assert.equal(code, 1, stderr);
  assert.match(
    stderr,
    /the transport "lab" needs the program "kubelogin", and this instance dropped that right/,
  );
  await clusterOf(home, api, { token: "t" });
  assert.equal((await home.run(["reload"])).code, 0);
  assert.equal(await isThere(marker), false);
});

peerTest("an instance without sign-in programs does not start one that a kubeconfig adds later", [
  "sh",
], async ({ sh }) => {
  await using home = await Household.open();
  await using api = apiServer();
  const marker = `${home.directory}/started`;
  const env = await withPlugin(home, { sh, name: "kubelogin", marker });
  await home.configure(await clusterOf(home, api, { token: "t" }) + toCluster);
  await using instance = await home.instance(["--log-level", "debug"], { env });
  // The last permissions are dropped once the kubeconfigs have been read.
  await instance.says(/rights\.kept/);
  await clusterOf(home, api, { exec: exec("kubelogin") });
  assert.equal((await home.run(["reload"])).code, 0);
  const refused = await home.run(["explain", "--dial", "web.shop.svc:80"]);
  assert.match(
    refused.stdout + refused.stderr,
    /Cannot run "kubelogin": this instance gave up the permission to start it/,
  );
  assert.match(refused.stdout + refused.stderr, /restart the instance/);
  assert.equal(await isThere(marker), false);
  instance.kill("SIGTERM");
  await instance.ended;
  await using again = await home.instance([], { env });
  await home.run(["explain", "--dial", "web.shop.svc:80"]);
  assert.equal(await Deno.readTextFile(marker), "the environment\n", again.stderr);
});

for (const name of [".ssh", "etc/resolver"]) {
  Deno.test(`an instance that does not need ~/${name} cannot create anything there`, async () => {
    await using home = await Household.open();
    await Deno.mkdir(`${home.directory}/${name}`, { recursive: true, mode: 0o700 });
    const path = `${home.directory}/${name}/socket`;
    await home.configure(`listen: { mixed: 127.0.0.1:0 }\n${plain}`);
    await using instance = home.start(["proxy"], { env: { POSTERN_ROOT: home.directory } });
    await instance.ready;
    await home.configure(`listen: { mixed: 127.0.0.1:0, unix: ${path} }\n${plain}`);
    const { code, stderr } = await home.run(["reload"]);
    assert.equal(code, 1, stderr);
    assert.match(
      stderr,
      isFromSource
        ? /missing permission --allow-write/
        : /gave up the (?:right|permission)[^\n]*\n.*restart the instance/,
    );
    assert.equal(await isThere(path), false);
    if (isFromSource) return;
    instance.kill("SIGTERM");
    assert.equal((await instance.ended).code, 0);
    await using again = home.start(["proxy"], { env: { POSTERN_ROOT: home.directory } });
    await again.ready;
    assert.equal(await isThere(path), true);
  });
}

Deno.test("an instance that cannot start exits with its own exit code and error", async () => {
  await using home = await Household.open();
  await home.configure("listen: { mixed: nonsense }\n");
  const { code, stdout, stderr } = await home.run(["proxy"]);
  assert.equal(code, 4, stderr);
  assert.equal(stdout, "");
  assert.match(stderr, /^postern: error: Cannot use ".*config\.yaml"/m);
});

if (isFromSource) {
  peerTest("a credential plugin that postern does not know starts with --allow-run before the command", [
    "sh",
  ], async ({ sh }) => {
    await using home = await Household.open();
    await using api = apiServer();
    const marker = `${home.directory}/started`;
    const env = await withPlugin(home, { sh, name: "our-login", marker });
    const words = ["explain", "--dial", "web.shop.svc:80"];
    await home.configure(await clusterOf(home, api, { exec: exec("our-login") }) + toCluster);
    const { stdout, stderr } = await home.run(words, { env });
    const said = stdout + stderr;
    assert.match(
      said,
      /Cannot run "our-login": missing permission --allow-run=our-login; the kubeconfig uses it/,
    );
    const [, flag = ""] = /deno task postern (--allow-run=\S+) COMMAND/.exec(said) ?? [];
    assert.equal(await isThere(marker), false);
    const launcher = decodeURIComponent(new URL("../../scripts/postern.ts", import.meta.url).pathname);
    const source = [
      Deno.execPath(),
      "run",
      "--no-prompt",
      "--allow-run",
      "--allow-read",
      "--allow-env",
      "--allow-sys=uid",
    ];
    await home.run(words, { env, program: [...source, launcher, flag] });
    assert.equal(await isThere(marker), true);
  });

  for (
    const { option, line } of [
      { option: "ProxyCommand", line: "Host jump1\n  ProxyCommand echo started > MARKER; false\n" },
      { option: "Match exec", line: 'Match exec "echo started > MARKER"\n  HostName jump1.invalid\n' },
    ]
  ) {
    peerTest(`a ${option} whose shell lacks permission starts with the flag from the hint`, [
      "bash",
    ], async ({ bash }) => {
      await using home = await Household.open();
      const marker = `${home.directory}/started`;
      const config = `${home.directory}/ssh_config`;
      await Deno.writeTextFile(config, line.replace("MARKER", marker));
      await home.configure(
        `ssh: { config: ${config} }\ntransports: { jump: { ssh: jump1 } }\ndefault: jump\n`,
      );
      const words = ["explain", "--dial", "web.example:80"];
      const env = { SHELL: bash };
      // As in a service that was installed in another shell.
      const flags = sourceCommand(words, home.places, (name) => ({ HOME: home.directory })[name]);
      const { stdout, stderr } = await home.run(words, { env, program: [Deno.execPath(), ...flags, main] });
      const [, flag = ""] = /deno task postern (--allow-run=\S+) COMMAND/.exec(stdout + stderr) ?? [];
      assert.equal(flag, `--allow-run=${bash}`, stdout + stderr);
      assert.equal(await isThere(marker), false);
      const more = splitFlags([flag]).programs.join(",");
      const allowed = sourceCommand(words, home.places, (name) => ({ POSTERN_ALLOW_RUN: more })[name]);
      await home.run(words, { env, program: [Deno.execPath(), ...allowed, main] });
      assert.equal(await isThere(marker), true);
    });
  }
}

interface SeenStatus {
  readonly config: { readonly problem?: string };
  readonly transports: readonly { readonly name: string }[];
}

async function statusOf(home: Household): Promise<SeenStatus> {
  const { stdout } = await home.run(["status", "-o", "json"]);
  const [status] = JSON.parse(stdout);
  return status;
}

/** An API server that grants no rights. */
function apiServer(): WebServer {
  return new WebServer(createNetwork().listen({ host: "127.0.0.1", port: 0 }), () => ({ status: 403 }));
}

/** A program in a directory of PATH that leaves a mark and returns a token. */
async function withPlugin(
  home: Household,
  { sh, name, marker }: { readonly sh: string; readonly name: string; readonly marker: string },
): Promise<Record<string, string>> {
  const directory = `${home.directory}/bin`;
  await Deno.mkdir(directory, { recursive: true });
  const answer =
    '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}';
  const text = `#!${sh}\necho "$SEEN" > ${marker}\necho '${answer}'\n`;
  await Deno.writeTextFile(`${directory}/${name}`, text, { mode: 0o755 });
  return { PATH: `${directory}:${Deno.env.get("PATH")}`, SEEN: "the environment" };
}

function exec(command: string): unknown {
  return { apiVersion: "client.authentication.k8s.io/v1", command, interactiveMode: "Never" };
}

/** Writes a kubeconfig with one user; returns the lines that make its cluster the transport `lab`. */
async function clusterOf(
  home: Household,
  { port }: WebServer,
  user: Readonly<Record<string, unknown>>,
): Promise<string> {
  const path = `${home.directory}/kube.yaml`;
  const kubeconfig = {
    "current-context": "lab",
    clusters: [{ name: "lab", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "me", user }],
    contexts: [{ name: "lab", context: { cluster: "lab", user: "me" } }],
  };
  await Deno.writeTextFile(path, JSON.stringify(kubeconfig));
  return `transports: { lab: { kubernetes: { kubeconfig: ${path} } } }\n`;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
