import assert from "node:assert/strict";
import { labCluster, storeClusters } from "../support/lab_clusters.ts";
import { peerTest } from "../support/peers.ts";
import { atTerminal } from "../support/pseudo_terminal.ts";
import { compiled, Household } from "../support/postern_process.ts";

/** A directory with programs that print their arguments. */
async function withPrograms(home: Household): Promise<Readonly<Record<string, string>>> {
  const bin = `${home.directory}/bin`;
  await Deno.mkdir(bin, { recursive: true });
  const script = '#!/bin/sh\nfor word in "$0" "$@"; do printf "<%s>" "${word##*/}"; done; echo; exit 3\n';
  for (const name of ["kubectl", "oc"]) await Deno.writeTextFile(`${bin}/${name}`, script, { mode: 0o755 });
  return { PATH: `${bin}:/usr/bin:/bin` };
}

async function leftFiles(home: Household): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(`${home.places.runtime}/programs`)) names.push(name);
  return names;
}

peerTest(
  "postern clusters NAME kubectl passes arguments unchanged and returns the exit code",
  ["sh"],
  async ({ sh }, t) => {
    await using home = await Household.open();
    await storeClusters(home);
    await using _instance = await home.instance();
    const env = await withPrograms(home);
    const cases = [
      {
        args: ["clusters", "lab-1", "kubectl", "get", "-n", "a b", "--help"],
        says: "<kubectl><get><-n><a b><--help>\n",
      },
      { args: ["clusters", "lab-1", "kubectl", "get", "--each"], says: "<kubectl><get><--each>\n" },
      { args: ["clusters", "lab-1", "oc", "--", "--", "-o", ""], says: "<oc><--><--><-o><>\n" },
      { args: ["kubectl", "lab-1", "--config", "x", "--each"], says: "<kubectl><--config><x><--each>\n" },
      { args: ["oc", "--id", "default", "lab-1", "--version"], says: "<oc><--version>\n" },
    ];
    for (const { args, says } of cases) {
      await t.step(args.join(" "), async () => {
        const { code, stdout, stderr } = await home.run(args, { env });
        assert.deepEqual([code, stdout], [3, says], stderr);
      });
    }
    await t.step("the environment names the cluster and the instance", async () => {
      const script =
        'cat "$KUBECONFIG"; echo "$POSTERN_CLUSTER $KHARON_SHELL $https_proxy $ALL_PROXY"; ls -l "$KUBECONFIG"';
      const { code, stdout } = await home.run(["shell", "c-lab-1", "--", sh, "-c", script]);
      assert.equal(code, 0);
      assert.match(stdout, /server: "https:\/\/api\.c-lab-1\.example\.net:6443"/);
      assert.match(stdout, /^c-lab-1 1 http:\/\/127\.0\.0\.1:[0-9]+ http:\/\/127\.0\.0\.1:[0-9]+$/m);
      assert.match(stdout, /^-rw------- /m);
    });
    await t.step("arguments that begin with - are passed to the user's shell", async () => {
      const { code } = await home.run(["shell", "c-lab-1", "--", "-c", "exit 42"], { env: { SHELL: sh } });
      assert.equal(code, 42);
      const other = await home.run(["clusters", "c-lab-1", "shell", "--", "-c", "exit 41"], {
        env: { SHELL: sh },
      });
      assert.equal(other.code, 41);
    });
    await t.step("a directory that a program creates next to its kubeconfig does no harm", async () => {
      const script = 'cd "${KUBECONFIG%/*}" && mkdir a && : > a/b && echo "$KUBECONFIG"; exit 6';
      const { code, stdout, stderr } = await home.run(["shell", "c-lab-1", "--", sh, "-c", script]);
      assert.equal(code, 6, stderr);
      const path = stdout.trim();
      await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
      assert.match(stderr, /programs\.left path=\S+\/a reason=/);
      await Deno.remove(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    });
    await t.step("no file is left", async () => assert.deepEqual(await leftFiles(home), []));
  },
);

Deno.test("postern shell exits 125 before it starts a program, 126 and 127 if the program cannot run", async (t) => {
  await using home = await Household.open();
  await storeClusters(home);
  await using _instance = await home.instance();
  const cases = [
    { args: ["shell", "c-lab", "--", "true"], code: 125, says: /"c-lab" matches c-lab-2, c-lab-1/ },
    { args: ["shell", "no-such", "--", "true"], code: 125, says: /no cluster has this name/ },
    { args: ["shell", "c-empty", "--", "true"], code: 125, says: /no fact contains an API URL/ },
    { args: ["shell", "--nonsense", "c-lab-1"], code: 125, says: /--nonsense/ },
    {
      args: ["shell", "--id", "other", "c-lab-1", "--", "true"],
      code: 125,
      says: /instance "other": it is not running/,
    },
    { args: ["clusters", "--each"], code: 125, says: /missing command after --/ },
    {
      args: ["shell", "c-lab-1", "--", "no-such-program"],
      code: 127,
      says: /no such program\npostern: hint: install it/,
    },
    { args: ["kubectl", "c-lab-1", "get", "ns"], code: 127, says: /Cannot run "kubectl": no such program/ },
    { args: ["shell", "c-lab-1", "--", "/etc/passwd"], code: 126, says: /Cannot run "\/etc\/passwd"/ },
    {
      args: ["clusters", "--each", "--parallel", "2", "--", "no-such-program"],
      code: 127,
      says: /no such program/,
    },
    {
      args: ["clusters", "--each", "--parallel", "2", "--", "/etc/passwd"],
      code: 126,
      says: /Cannot run "\/etc\/passwd": permission denied.*\npostern: hint: check its owner and mode/,
    },
  ];
  for (const { args, code, says } of cases) {
    await t.step(args.join(" "), async () => {
      const ended = await home.run(args, { env: { PATH: "/nowhere" } });
      assert.match(ended.stderr, says);
      assert.equal(ended.code, code, ended.stderr);
    });
  }
  assert.deepEqual(await leftFiles(home), []);
});

peerTest(
  "postern clusters --each runs a command in each cluster, one by one or in parallel",
  ["sh"],
  async ({ sh }, t) => {
    await using home = await Household.open();
    await storeClusters(home);
    await using _instance = await home.instance();
    const command = [sh, "-c", 'echo "in $POSTERN_CLUSTER"; [ "$POSTERN_CLUSTER" != c-lab-1 ] || exit 9'];
    const block = (name: string) => `--- # ${name}\nin ${name}\n`;
    await t.step("one by one", async () => {
      const { code, stdout, stderr } = await home.run(["shell", "--each", "c-lab-*", "--", ...command]);
      assert.equal(stdout, block("c-lab-2") + block("c-lab-1"));
      assert.match(stderr, /postern: failed in 1 of 2 clusters: c-lab-1 \(9\)\n$/);
      assert.equal(code, 9);
    });
    await t.step("in parallel, with separate output, and an unusable cluster fails alone", async () => {
      const { code, stdout, stderr } = await home.run([
        "clusters",
        "--each",
        "--parallel",
        "4",
        "--",
        ...command,
      ]);
      assert.deepEqual(
        stdout.split(/(?=---)/).sort(),
        ["c-lab-1", "c-lab-2", "c-talos"].map(block),
      );
      assert.match(stderr, /failed in 2 of 4 clusters: c-lab-1 \(9\), c-empty \(125\)\n$/);
      assert.equal(code, 9);
    });
    assert.deepEqual(await leftFiles(home), []);
  },
);

peerTest(
  "postern clusters --each gives clusters with similar names separate files",
  ["sh"],
  async ({ sh }) => {
    await using home = await Household.open();
    const long = "c-".padEnd(100, "x");
    const names = [`${long}-production`, `${long}-test`, "c-lab", "C-LAB"];
    await storeClusters(home, names.map((name) => labCluster(name, name, {})));
    await using _instance = await home.instance();
    const command = [sh, "-c", 'basename "$KUBECONFIG" .kubeconfig'];
    const { code, stdout, stderr } = await home.run(
      ["clusters", "--each", "--parallel", "4", "--", ...command],
    );
    assert.equal(code, 0, stderr);
    const files = stdout.split("\n").filter((line) => line !== "" && !line.startsWith("---"));
    // File names may be case-insensitive.
    assert.equal(new Set(files.map((file) => file.toLowerCase())).size, names.length, stdout);
    assert.deepEqual(await leftFiles(home), []);
  },
);

peerTest("postern shell survives terminal signals, forwards its own signals and leaves no file", [
  "sh",
], async ({ sh }, t) => {
  await using home = await Household.open();
  await storeClusters(home);
  await using _instance = await home.instance();
  const script = 'trap "echo heard; exit 5" TERM; echo "file $KUBECONFIG"; while :; do sleep 0.1; done';
  for (const [signals, code] of [[["SIGINT", "SIGQUIT", "SIGTERM"], 5], [["SIGHUP"], 129]] as const) {
    await t.step(signals.join(", "), async () => {
      await using shell = home.start(["shell", "c-lab-1", "--", sh, "-c", script]);
      const [, path = ""] = await shell.prints(/^file (.+)$/m);
      assert.ok((await Deno.stat(path)).isFile);
      for (const signal of signals) shell.kill(signal);
      const ended = await shell.ended;
      assert.equal(ended.code, code, ended.stderr);
      await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
      assert.deepEqual(await leftFiles(home), []);
    });
  }
  await t.step("the next shell removes the files of a killed one", async () => {
    await using shell = home.start(["shell", "c-lab-1", "--", sh, "-c", "echo file $KUBECONFIG; sleep 1"]);
    const [, path = ""] = await shell.prints(/^file (.+)$/m);
    shell.kill("SIGKILL");
    await shell.ended;
    assert.ok((await Deno.stat(path)).isFile);
    assert.equal((await home.run(["shell", "c-lab-1", "--", sh, "-c", ":"])).code, 0);
    assert.deepEqual(await leftFiles(home), []);
  });
});

peerTest(
  "postern shell at a terminal leaves Ctrl-C to the program and exits with it",
  ["python", "sh"],
  async ({ python, sh }) => {
    await using home = await Household.open();
    await storeClusters(home);
    await using _instance = await home.instance();
    const script = 'trap "echo heard" INT; echo ready; read line || read line; echo "said $line"; exit 6';
    const { command, env } = home.commandLine(["shell", "c-lab-1", "--", sh, "-c", script]);
    const { screen, code } = await atTerminal(python, command, {
      steps: [{ until: "ready", press: "\x03" }, { until: "heard", press: "hello\n" }],
      env,
    });
    assert.match(screen, /said hello/);
    assert.equal(code, 6, screen);
    assert.deepEqual(await leftFiles(home), []);
  },
);

peerTest(
  "postern shell at a terminal stops with the program at Ctrl-Z and continues with it",
  ["bash", "python", "sh"],
  async ({ bash, python, sh }) => {
    await using home = await Household.open();
    await storeClusters(home);
    await using _instance = await home.instance();
    const script =
      'trap "echo continued" CONT; echo ready; read line || read line; echo "said $line"; exit 6';
    const { command, env } = home.commandLine(["shell", "c-lab-1", "--", sh, "-c", script]);
    const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const run = `${home.directory}/run.sh`;
    await Deno.writeTextFile(run, `exec ${quoted}\n`);
    // Only a shell with job control can continue a stopped program.
    const { screen, code } = await atTerminal(python, [bash, "--norc", "--noprofile", "-i"], {
      steps: [
        { until: "go> ", press: `${sh} ${run}\n` },
        { until: "ready", press: "\x1a" },
        // A shell that does not read yet resets the terminal and drops keys that were pressed too early.
        { until: "run.sh\r\ngo> ", press: "fg\n" },
        { until: "continued", press: "hello\n" },
        { until: "said hello\r\ngo> ", press: "echo code=$?\n" },
        { until: "code=6", press: "exit\n" },
      ],
      env: { ...env, PS1: "go> " },
    });
    assert.equal(code, 0, screen);
    assert.deepEqual(await leftFiles(home), []);
  },
);

peerTest("several postern shells at once use separate files", ["sh"], async ({ sh }) => {
  await using home = await Household.open();
  await storeClusters(home);
  await using _instance = await home.instance();
  const script = 'cat "$KUBECONFIG" >/dev/null && echo "$KUBECONFIG"';
  const ended = await Promise.all(
    Array.from({ length: 8 }, () => home.run(["shell", "c-lab-1", "--", sh, "-c", script])),
  );
  for (const { code, stderr } of ended) assert.equal(code, 0, stderr);
  assert.equal(new Set(ended.map(({ stdout }) => stdout)).size, 8);
  assert.deepEqual(await leftFiles(home), []);
});

peerTest("postern clusters NAME console opens or prints the address", ["sh"], async ({ sh }) => {
  await using home = await Household.open();
  await storeClusters(home);
  const printed = await home.run(["console", "c-lab-1", "--print"]);
  assert.deepEqual([printed.code, printed.stdout], [0, "https://console.apps.c-lab-1.example.net/\n"]);
  const opened = `${home.directory}/opened`;
  const env = { POSTERN_BROWSER: `${sh} -c 'printf %s "$0" > ${opened}' %s` };
  const { code, stderr } = await home.run(["clusters", "c-lab-1", "console"], { env });
  assert.equal(code, 0, stderr);
  assert.match(await Deno.readTextFile(opened), /^https:\/\/console\.apps\.c-lab-1\.example\.net\/?$/);
  const none = await home.run(["console", "c-talos"]);
  assert.equal(none.code, 4);
  assert.match(none.stderr, /no fact contains its address/);
});

peerTest(
  "kubectl works through an instance that postern starts for it",
  ["kubectl"],
  async ({ kubectl }) => {
    await using home = await Household.open();
    await storeClusters(home);
    await home.configure("default: reject\n");
    const env = { PATH: `${kubectl.replace(/\/[^/]*$/, "")}:/usr/bin:/bin` };
    const view = await home.run(["clusters", "lab-1", "kubectl", "config", "current-context"], { env });
    assert.deepEqual([view.code, view.stdout], [0, "c-lab-1\n"], view.stderr);
    const failed = await home.run(
      ["clusters", "lab-1", "kubectl", "get", "--raw", "/version", "--request-timeout", "5s", "--token", "x"],
      { env },
    );
    // The instance rejects the target: kubectl prints that answer, so it did connect through the instance.
    assert.equal(failed.code, 1);
    assert.match(
      failed.stderr,
      /socks connect tcp 127\.0\.0\.1:[0-9]+->api\.c-lab-1\.example\.net:6443: .*not allowed/,
    );
    assert.deepEqual(await leftFiles(home), []);
  },
);

Deno.test("postern clusters lists its forms, and each has its own help", async () => {
  await using home = await Household.open();
  const helped = async (...args: string[]) => (await home.run(args)).stdout;
  assert.match(await helped("clusters", "--help"), /postern clusters NAME kubectl\n/);
  assert.match(await helped("clusters", "c-a", "shell", "--help"), /^Open a shell for a cluster/);
  assert.match(await helped("clusters", "--each", "--help"), /--parallel N/);
  assert.match(await helped("kubectl", "--help"), /^Run kubectl in a cluster/);
  if (compiled() === undefined) assert.match(await helped("help", "shell"), /Open a shell/);
});
