import assert from "node:assert/strict";
import { storeClusters } from "../support/lab_clusters.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

/** Another user of this machine: uid 65534, in no group. */
const stranger = { uid: 65_534, gid: 65_534 };

const name =
  "another user of the machine cannot read files, use the control socket, or see pages without the password";

const prepared = "postern refuses a socket directory that another user owns or can write";

if (Deno.uid() === 0) {
  peerTest(name, ["sh", "curl"], tryAll);
  Deno.test(prepared, tryPrepared);
} else {
  for (const one of [name, prepared]) skippedTest(one, "only on a machine where the tests are root");
}

async function tryPrepared(): Promise<void> {
  for (const prepare of [(path: string) => Deno.chown(path, stranger.uid, stranger.gid), openToAll]) {
    await using home = await Household.open();
    await Deno.mkdir(home.places.runtime, { mode: 0o700 });
    await prepare(home.places.runtime);
    const begun = await home.run(["proxy", "--listen", "127.0.0.1:0", "--route", "a.example=reject"]);
    assert.equal(begun.code, 4, begun.stderr);
    assert.match(begun.stderr, /^postern: error: Cannot use .*postern/m);
    assert.match(begun.stderr, /^postern: hint: /m);
    assert.equal(begun.stdout, "");
  }
}

function openToAll(path: string): Promise<void> {
  return Deno.chmod(path, 0o777);
}

async function tryAll({ sh, curl }: { sh: string; curl: string }): Promise<void> {
  await using home = await Household.open();
  await storeClusters(home);
  await home.configure(
    [
      "listen: { auth: { users: [{ name: me, passwordFile: password }] } }",
      "transports: { corp: { proxy: { url: 'http://127.0.0.1:9', user: me, passwordFile: password } } }",
      "routes: [{ to: corp.example, via: corp }]",
      "",
    ].join("\n"),
  );
  await Deno.writeTextFile(`${home.places.config}/password`, "hunter2\n", { mode: 0o600 });
  // The parent directories are open to all, so only the modes that postern sets keep the other user out.
  for (const path of [temporary(), home.directory, `${home.directory}/run`, `${home.directory}/tmp`]) {
    await Deno.chmod(path, 0o755);
  }
  const before = await pathsBelow(home.directory);
  const begun = await home.run(["proxy", "--background", "--listen", "127.0.0.1:0"]);
  assert.equal(begun.code, 0, begun.stderr);
  const [, address = ""] = /^ready (\S+)/m.exec(begun.stdout) ?? [];
  const made = await home.run([
    "clusters",
    "c-lab-1",
    "kubeconfig",
    "--file",
    `${home.directory}/kubeconfig`,
  ]);
  assert.equal(made.code, 0, made.stderr);
  const temporaryKubeconfig = (await home.run(["clusters", "c-lab-1", "kubeconfig", "--temp"])).stdout.trim();

  const as = async (program: string, args: readonly string[]) => {
    const { code, stdout } = await new Deno.Command(program, {
      args: [...args],
      ...stranger,
      clearEnv: true,
      cwd: "/",
      stdin: "null",
      stderr: "null",
    }).output();
    return { code, text: new TextDecoder().decode(stdout) };
  };
  // The other user can perform the actions of the test.
  assert.deepEqual(await as(sh, ["-c", 'test -r "$1" && echo yes', "sh", sh]), { code: 0, text: "yes\n" });

  const paths = [...await pathsBelow(home.directory)].filter((path) => !before.has(path));
  assert.ok(paths.some((path) => path.endsWith("default.sock")), paths.join("\n"));
  assert.ok(
    paths.includes(temporaryKubeconfig) && paths.some((path) => /\.log$/.test(path)),
    paths.join("\n"),
  );
  for (const path of paths) {
    const { text } = await as(sh, ["-c", 'cat "$1" >/dev/null 2>&1 && echo read it', "sh", path]);
    assert.equal(text, "", `another user reads ${path}`);
  }
  const socket = paths.find((path) => path.endsWith("default.sock")) ?? "";
  assert.equal((await as(curl, ["-s", "--unix-socket", socket, "http://localhost/v1/status"])).code, 7);

  const status = async (path: string, more: readonly string[] = []) =>
    (await as(curl, ["-s", "-o", "/dev/null", "-w", "%{http_code}", ...more, `http://${address}${path}`]))
      .text;
  for (
    const path of [
      "/status.json",
      "/connections.json",
      "/explain?target=a:1",
      "/metrics",
      "/events",
      "/use.json",
    ]
  ) {
    assert.equal(await status(path), "401", path);
  }
  for (const path of ["/reload", "/connections/1/close"]) {
    assert.match(await status(path, ["-X", "POST"]), /^40[13]$/, path);
  }
  assert.equal(await status("/proxy.pac"), "200");
  const tokenAt = async (instance: string) => {
    const { text } = await as(curl, ["-s", `http://${instance}/`]);
    assert.doesNotMatch(text, /hunter2/);
    return /name="postern-token" content="([^"]*)"/.exec(text)?.[1];
  };
  assert.equal(await tokenAt(address), "");
  // A user who may use an instance without a password may see its status: docs/guide/security.md.
  const args = [
    "proxy",
    "--listen",
    "127.0.0.1:0",
    "--route",
    "a.example=reject",
    "--id",
    "open",
    "--config",
    "/dev/null",
  ];
  await using open = home.start(args);
  assert.match(await tokenAt((await open.ready)[0] ?? "") ?? "", /^[0-9a-f]{48}$/);
}

/** The directory of all tests of a run, which other users cannot enter. */
function temporary(): string {
  return Deno.env.get("TMPDIR") ?? "/tmp";
}

async function pathsBelow(directory: string): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) { for (const below of await pathsBelow(path)) found.add(below); }
    else found.add(path);
  }
  return found;
}
