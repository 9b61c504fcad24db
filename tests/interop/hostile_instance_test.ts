import assert from "node:assert/strict";
import { HostileInstance } from "../support/hostile_instance.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { compiled, type Ended, Household } from "../support/postern_process.ts";

/** Another user of this machine, in no group. */
const stranger = 65_534;
const asRoot = "only when the tests run as root";

/** The address that the attacker wants programs and the system to use. */
const evil = "203.0.113.9";
const proxies = {
  http: `http://${evil}:3128`,
  socks: `socks5h://${evil}:1080`,
  proxyUrl: `socks5://${evil}:1080`,
  noProxy: [],
  notes: [],
  needsAuth: false,
};
const status = (domains: readonly string[], host: string) => ({
  version: "0.1.0",
  id: "default",
  pid: 1,
  startedAt: "2026-01-01T00:00:00Z",
  state: "ready",
  listeners: [{ kind: "mixed", address: "\u001b]0;taken\u0007127.0.0.1:1", auth: false }],
  transports: [],
  config: { path: "/evil", loadedAt: "2026-01-01T00:00:00Z" },
  dns: { addresses: [{ host, port: 53 }], domains },
  connections: { open: 0, total: 0, failed: 0 },
  bytes: { up: 0, down: 0 },
  memory: { resident: 1 },
});
const answers = {
  "/v1/hello": { version: "0.1.0", id: "default", pid: 1, protocol: 1 },
  "/v1/status": status(["evil.example"], evil),
  "/v1/env": proxies,
  "/v1/pac": `function FindProxyForURL() { return "PROXY ${evil}:3128"; }\n`,
  "/v1/page": { url: `http://${evil}/#token=x` },
  "/v1/connections": [],
  "/v1/explain": { target: "a.example:443", transport: "evil", because: "evil", hops: [], losers: [] },
  "/v1/hosts": {
    range: "127.64.0.0/12",
    hosts: [{ address: "203.0.113.9", name: "bank.example", ports: [] }],
    problems: [],
  },
  "/v1/reload": { changed: true, changes: ["evil"], warnings: [] },
  "/v1/stop": { state: "draining", drain: 0 },
};

const config = `
listen: { mixed: "127.0.0.1:12001", dns: "127.0.0.1:1053" }
transports: { up: { proxy: { url: "socks5h://127.0.0.1:1" } } }
routes: [{ to: [corp.example], via: up }]
dns: { domains: [corp.example] }
`;

/** Every command that queries an instance. */
const commands: readonly (readonly string[])[] = [
  ["status"],
  ["status", "--page"],
  ["connections"],
  ["top", "--once"],
  ["explain", "a.example"],
  ["env", "--shell", "sh"],
  ["pac"],
  ["hosts"],
  ["reload"],
  ["stop"],
  ["stop", "--all"],
  ["dns", "--print", "macos"],
  ["dns", "--apply"],
];

function root(title: string, test: Parameters<typeof peerTest<"perl">>[2]): void {
  if (Deno.uid() === 0) peerTest(title, ["perl"], test, { platforms: ["linux"] });
  else skippedTest(title, asRoot);
}

/** A household with a world-writable temporary directory, like /tmp. */
async function openHousehold({ hasRuntime = false } = {}): Promise<Household> {
  const home = await Household.open({ hasRuntime });
  await Deno.mkdir(`${home.directory}/root/etc/systemd/resolved.conf.d`, { recursive: true });
  await Deno.chmod(Deno.env.get("TMPDIR") ?? "/tmp", 0o755);
  await Deno.chmod(home.directory, 0o755);
  await Deno.chmod(`${home.directory}/tmp`, 0o1777);
  await Deno.chmod(`${home.directory}/run`, 0o1777);
  await home.configure(config);
  return home;
}

function run(home: Household, args: readonly string[]): Promise<Ended> {
  return home.run(args, { env: { POSTERN_ROOT: `${home.directory}/root` } });
}

/** Creates a link with perl: Deno requires permission to write everywhere. */
async function link(perl: string, target: string, path: string): Promise<void> {
  const args = ["-e", "symlink($ARGV[0], $ARGV[1]) or die $!", target, path];
  const { success } = await new Deno.Command(perl, { args, stdin: "null" }).output();
  assert.ok(success);
}

async function written(home: Household): Promise<string[]> {
  const found: string[] = [];
  for (const path of ["etc/systemd/resolved.conf.d", "etc/systemd/dns-delegate.d", "etc/resolver"]) {
    const directory = `${home.directory}/root/${path}`;
    const names = await Array.fromAsync(Deno.readDir(directory)).catch(() => []);
    found.push(...names.map(({ name }) => `${directory}/${name}`));
  }
  return found;
}

root(
  "another user has created the directory for sockets of earlier versions: no command connects there",
  async ({ perl }) => {
    await using home = await openHousehold();
    const directory = home.places.formerRuntime ?? "";
    assert.equal(directory, `${home.directory}/tmp/postern-0`);
    await using instance = await HostileInstance.start(perl, { directory, answers, uid: stranger });
    for (const args of commands) {
      const { code, stdout, stderr } = await run(home, args);
      const said = `${args.join(" ")}: ${code} ${stdout} ${stderr}`;
      assert.doesNotMatch(stdout, /evil|203\.0\.113\.9/, said);
      assert.match(
        stderr,
        /[Cc]annot trust the directory ".*\/tmp\/postern-0": it belongs to another user \(65534\)/,
        said,
      );
      const answersAlone = ["explain", "env", "pac", "dns"].includes(args[0] ?? "");
      assert.equal(code, answersAlone ? 0 : 3, said);
      if (args[0] === "env") assert.match(stdout, /^export http_proxy='http:\/\/127\.0\.0\.1:12001'$/m);
    }
    // The applied values are those of our own configuration.
    const [file = "", ...more] = await written(home);
    assert.deepEqual(more, []);
    assert.doesNotMatch(await Deno.readTextFile(file), /evil|203\.0\.113\.9/);
    assert.match(await Deno.readTextFile(file), /^DNS=127\.0\.0\.1:1053\nDomains=~corp\.example\n$/m);
    // The directory does not prevent our own instance from running either.
    await using running = await home.instance(["--listen", "127.0.0.1:0"]);
    assert.ok(await running.address());
    assert.equal((await run(home, ["status", "--id", "default"])).code, 0);
    assert.equal(instance.accepted, 0);
  },
);

root(
  "another user has created the runtime directory, or a socket in it: every command rejects it",
  async ({ perl }) => {
    for (const isOwnDirectory of [false, true]) {
      await using home = await openHousehold({ hasRuntime: true });
      const directory = home.places.runtime;
      if (!isOwnDirectory) await Deno.chmod(`${home.directory}/run`, 0o1777);
      const uid = isOwnDirectory ? {} : { uid: stranger };
      await using instance = await HostileInstance.start(perl, { directory, answers, ...uid });
      if (isOwnDirectory) await Deno.chown(`${directory}/default.sock`, stranger, stranger);
      for (const args of commands) {
        const { code, stdout, stderr } = await run(home, args);
        const said = `${args.join(" ")}: ${code} ${stdout} ${stderr}`;
        const what = isOwnDirectory ? "socket" : "directory";
        assert.equal(stdout, "", said);
        assert.match(
          stderr,
          new RegExp(`Cannot trust the ${what} ".*": it belongs to another user \\(65534\\)`),
          said,
        );
        assert.match(stderr, /^postern: hint: /m, said);
        assert.equal(code, 4, said);
      }
      assert.deepEqual(await written(home), []);
      assert.equal(instance.accepted, 0);
    }
  },
);

root("a lock file that is a link or another user's is neither followed nor locked", async ({ perl }) => {
  await using home = await openHousehold({ hasRuntime: true });
  await Deno.mkdir(home.places.runtime, { mode: 0o700 });
  const lock = `${home.places.runtime}/default.lock`;
  const [target, nothing] = [`${home.directory}/target`, `${home.directory}/nothing`];
  await Deno.writeTextFile(target, "precious");
  const prepare = [
    () => link(perl, target, lock),
    () => link(perl, nothing, lock),
    async () => {
      await Deno.writeTextFile(lock, "", { mode: 0o600 });
      await Deno.chown(lock, stranger, stranger);
    },
  ];
  for (const make of prepare) {
    await make();
    // An instance that starts anyway ends after a minute.
    const under = [perl, "-e", "alarm 60; exec @ARGV"];
    const { code, stdout, stderr } = await home.run(["proxy", "--listen", "127.0.0.1:0"], { under });
    assert.deepEqual([code, stdout], [4, ""], stderr);
    assert.match(
      stderr,
      /Cannot trust the lock file ".*default\.lock": it (is a symbolic link|belongs to another user)/,
    );
    assert.match(stderr, /^postern: hint: remove /m);
    await Deno.remove(lock);
  }
  assert.equal(await Deno.readTextFile(target), "precious");
  await assert.rejects(Deno.lstat(nothing), Deno.errors.NotFound);
});

root(
  "a runtime directory in a world-writable one is rejected, also by the launcher from source",
  async ({ perl }) => {
    await using home = await openHousehold({ hasRuntime: true });
    await using instance = await HostileInstance.start(perl, { directory: home.places.runtime, answers });
    await Deno.chmod(`${home.directory}/run`, 0o777);
    const launcher = decodeURIComponent(new URL("../../scripts/postern.ts", import.meta.url).pathname);
    const may = [
      "run",
      "--no-prompt",
      "--allow-run",
      "--allow-read",
      "--allow-env",
      "--allow-sys=uid",
      launcher,
    ];
    const program = compiled() === undefined ? { program: [Deno.execPath(), ...may] } : {};
    for (const args of [["status"], ["stop"], ["env"]]) {
      const { code, stdout, stderr } = await home.run(args, program);
      assert.deepEqual([code, stdout], [4, ""], stderr);
      assert.match(
        stderr,
        /error: Cannot trust the directory ".*": other users can write to ".*\/run" \(mode 0777\)/,
      );
    }
    assert.equal(instance.accepted, 0);
    await Deno.chmod(`${home.directory}/run`, 0o1777);
    assert.equal((await home.run(["status"], program)).code, 0);
  },
);

/** The errors for invalid answers, by request; the instance runs as our own user. */
const refusals: readonly {
  readonly args: readonly string[];
  readonly says: RegExp;
  readonly code: number;
}[] = [
  { args: ["env"], code: 1, says: /it names 203\.0\.113\.9:3128, which is neither on loopback/ },
  { args: ["pac"], code: 1, says: /it names 203\.0\.113\.9:3128, which is neither on loopback/ },
  { args: ["status", "--page"], code: 1, says: /it names 203\.0\.113\.9:80, which is neither on loopback/ },
  { args: ["hosts"], code: 1, says: /hosts\[0\]\.address must be a loopback address/ },
  {
    args: ["dns", "--apply"],
    code: 4,
    says: /Cannot configure the system resolver: "\.\.\/zshenv" is not a domain/,
  },
  {
    args: ["dns", "--print", "macos"],
    code: 4,
    says: /Cannot configure the system resolver: "\.\.\/zshenv"/,
  },
  {
    args: ["stop"],
    code: 6,
    says: /Cannot stop "default": process 1 still runs after 5 s: it is ready, with 0 /,
  },
];

peerTest("commands check an instance's answers before they use them", ["perl"], async ({ perl }) => {
  await using home = await openHousehold({ hasRuntime: true });
  await Deno.chmod(`${home.directory}/run`, 0o700);
  const hostile = { ...answers, "/v1/status": status(["evil.example", "../zshenv"], "127.0.0.1") };
  await using _instance = await HostileInstance.start(perl, {
    directory: home.places.runtime,
    answers: hostile,
  });
  for (const { args, says, code } of refusals) {
    const ended = await run(home, args);
    assert.deepEqual([ended.code, ended.stdout], [code, ""], `${args.join(" ")}: ${ended.stderr}`);
    assert.match(ended.stderr, says);
  }
  assert.deepEqual(await written(home), []);
  const shown = await run(home, ["status"]);
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /\\u\{1b\}\]0;taken\\u\{7\}127\.0\.0\.1:1/);
  // deno-lint-ignore no-control-regex -- sequences that must not reach the terminal
  assert.doesNotMatch(shown.stdout, /\u001b\]|\u0007/);
}, { platforms: ["linux", "darwin"] });

peerTest(
  "status and stop find an instance in the directory of earlier versions",
  ["perl"],
  async ({ perl }) => {
    await using home = await openHousehold();
    const directory = home.places.formerRuntime ?? "";
    assert.equal((await run(home, ["status"])).code, 3);
    const earlier = { ...answers, ends: "yes" };
    await using _instance = await HostileInstance.start(perl, { directory, answers: earlier });
    const shown = await run(home, ["status", "-o", "json"]);
    assert.equal(shown.code, 0, shown.stderr);
    assert.equal(JSON.parse(shown.stdout)[0].id, "default");
    const stopped = await run(home, ["stop"]);
    assert.deepEqual(stopped, { code: 0, stdout: "", stderr: 'postern: stopped "default"\n' });
    assert.equal((await run(home, ["status"])).code, 3);
  },
  { platforms: ["linux"] },
);

if (Deno.uid() !== 0) skippedTest("a unix socket is private to its user with any umask", asRoot);
else {
  peerTest(
    "a unix socket is private to its user with any umask",
    ["sh", "curl"],
    async ({ sh, curl }) => {
      await using home = await openHousehold({ hasRuntime: true });
      const listener = `${home.directory}/postern.sock`;
      await home.configure("routes: [{ to: a.example, via: reject }]\n");
      const under = [sh, "-c", 'umask 000; exec "$@"', "sh"];
      // Only the socket's mode protects it: other users can enter its directory.
      await using running = home.start(["proxy", "--listen-unix", listener], { under });
      await running.ready;
      for (const path of [listener, `${home.places.runtime}/default.sock`]) {
        assert.equal(((await Deno.lstat(path)).mode ?? 0) & 0o777, 0o600, path);
      }
      const { code } = await new Deno.Command(curl, {
        args: ["-s", "-m", "5", "--unix-socket", listener, "http://localhost/healthz"],
        uid: stranger,
        gid: stranger,
        clearEnv: true,
        cwd: "/",
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).output();
      assert.equal(code, 7);
      const left = (await Array.fromAsync(Deno.readDir(home.directory))).map(({ name }) => name);
      assert.deepEqual(left.filter((name) => name.startsWith(".")), []);
    },
    { platforms: ["linux"] },
  );
}
