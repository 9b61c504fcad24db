import assert from "node:assert/strict";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

/** A kubeconfig whose server does not exist; the tests never connect to it. */
const kubeconfig = JSON.stringify({
  clusters: [{ name: "c", cluster: { server: "http://127.0.0.1:1" } }],
  users: [{ name: "u", user: { token: "transient-token" } }],
  contexts: [{ name: "lab", context: { cluster: "c", user: "u" } }],
  "current-context": "lab",
});

/** Runs a command of a household with this kubeconfig on stdin. */
async function given(
  home: Household,
  args: readonly string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { command: [program = "", ...rest], env } = home.commandLine(args);
  const child = new Deno.Command(program, {
    args: rest,
    env: { ...env },
    clearEnv: true,
    cwd: home.directory,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(kubeconfig));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

async function kept(home: Household): Promise<string[]> {
  const directory = `${home.places.runtime}/kubeconfigs`;
  try {
    return (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => `${directory}/${name}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

const start = ["proxy", "--background", "--id", "work", "--listen", "127.0.0.1:0"];
const withCluster = [...start, "--kubernetes", "--kubeconfig", "-"];

Deno.test("proxy --kubeconfig - keeps the kubeconfig until the instance stops, and the log longer", async () => {
  await using home = await Household.open();
  try {
    const started = await given(home, withCluster);
    assert.equal(started.code, 0, started.stderr);
    const [path = "", ...more] = await kept(home);
    assert.deepEqual(more, []);
    assert.equal(await Deno.readTextFile(path), kubeconfig);
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    // An instance that fails to start neither removes the running one's file nor leaves a file.
    assert.notEqual((await given(home, withCluster)).code, 0);
    assert.deepEqual(await kept(home), [path]);
  } finally {
    const { code, stderr } = await home.run(["stop", "work"]);
    assert.equal(code, 0, stderr);
  }
  assert.deepEqual(await kept(home), []);
  const logs = await home.run(["logs", "work"]);
  assert.match(logs.stdout, /instance\.stopped/);
  assert.doesNotMatch(logs.stdout, /transient-token/);
});

peerTest(
  "the next instance with the same id removes the kubeconfig of a killed one",
  ["sh"],
  async ({ sh }) => {
    await using home = await Household.open();
    try {
      const started = await given(home, withCluster);
      assert.equal(started.code, 0, started.stderr);
      const { stdout } = await home.run(["status", "--id", "work", "-o", "json"]);
      const { pid } = JSON.parse(stdout)[0];
      assert.equal((await runPeer(sh, ["-c", `kill -9 ${pid}`])).code, 0);
      const [left = ""] = await kept(home);
      assert.equal(await Deno.readTextFile(left), kubeconfig);
      // The instance does not remove the file of another id.
      const other = left.replace("/work.", "/work.more.");
      await Deno.writeTextFile(other, kubeconfig);
      const again = await home.run([...start, "--route", "a.example=reject:no"]);
      assert.equal(again.code, 0, again.stderr);
      assert.deepEqual(await kept(home), [other]);
    } finally {
      await home.run(["stop", "work"]);
    }
  },
);

Deno.test("an unusable cluster on the command line fails before postern listens", async () => {
  await using home = await Household.open();
  const file = `${home.directory}/lab.yaml`;
  await Deno.writeTextFile(file, kubeconfig);
  const rows = [
    [
      ["--kubernetes", "--kubeconfig", `${file}x`],
      /Cannot read ".*lab\.yamlx": no such file.*\n.*hint: check the path/,
    ],
    [
      ["--kubernetes", "other", "--kubeconfig", file],
      /Cannot use the context "other".*\n.*hint: use one of: lab\n/,
    ],
    [["--route", ".svc=kubernetes:other", "--kubeconfig", file], /Cannot use the context "other"/],
  ] as const;
  for (const [args, message] of rows) {
    const foreground = await home.run(["proxy", "--listen", "127.0.0.1:0", ...args]);
    assert.equal(foreground.code, 4, foreground.stderr);
    assert.equal(foreground.stdout, "");
    assert.match(foreground.stderr, message);
    const background = await home.run([...start, ...args]);
    assert.equal(background.code, 4, background.stderr);
    assert.match(background.stderr, message);
  }
});
