import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { atTerminal } from "../support/pseudo_terminal.ts";

peerTest("postern run passes the arguments, the exit code and the variables", ["sh"], async ({ sh }, t) => {
  await using home = await Household.open();
  await home.configure("direct: [near.test]\ndefault: direct\n");
  await using listener = await home.instance();
  const address = await listener.address();
  const words = `for word in "$@"; do printf '<%s>' "$word"; done; exit 3`;
  const cases = [
    { args: ["run", "--", sh, "-c", words, "x", "a b", "--help", "--", ""], says: "<a b><--help><--><>" },
    { args: ["run", sh, "-c", words, "x", "--id", "y"], says: "<--id><y>" },
    { args: ["run", "--id", "default", "--for", "go", sh, "-c", words, "x", "--for"], says: "<--for>" },
  ];
  for (const { args, says } of cases) {
    await t.step(args.join(" "), async () => {
      const { code, stdout, stderr } = await home.run(args);
      assert.deepEqual([code, stdout, stderr], [3, says, ""]);
    });
  }
  await t.step("all variables at once", async () => {
    const { stdout, stderr } = await home.run(["run", sh, "-c", "env"], {
      env: { HTTP_PROXY: "http://old:1" },
    });
    const set = Object.fromEntries(stdout.trim().split("\n").map((line) => line.split(/=(.*)/).slice(0, 2)));
    for (const name of ["http_proxy", "HTTPS_PROXY", "ALL_PROXY", "wss_proxy"]) {
      assert.equal(set[name], `http://${address}`, stderr);
    }
    assert.equal(set.NODE_USE_ENV_PROXY, "1");
    assert.equal(set.POSTERN_SAVED_HTTP_PROXY, "http://old:1");
    assert.match(set.JAVA_TOOL_OPTIONS, /nonProxyHosts=\S*near\.test -DsocksProxyHost=/);
    assert.match(set.GIT_SSH_COMMAND, /^ssh -o 'ProxyCommand=.* nc %h %p'$/);
  });
  await t.step("one kind only", async () => {
    const { stdout } = await home.run([
      "run",
      "--for",
      "jdbc",
      sh,
      "-c",
      "echo ${http_proxy-none} $JAVA_TOOL_OPTIONS",
    ]);
    assert.match(stdout, /^none -DsocksProxyHost=/);
  });
});

Deno.test("postern run exits 127 and 126 if the program cannot run, and 125 before it starts one", async (t) => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using _instance = await home.instance();
  const cases = [
    {
      args: ["run", "no-such-program"],
      code: 127,
      says: /^postern: error: Cannot run "no-such-program": no such program\npostern: hint: install it/,
    },
    { args: ["run", "/etc/passwd"], code: 126, says: /Cannot run "\/etc\/passwd": permission denied/ },
    { args: ["run"], code: 125, says: /missing argument: CMD/i },
    { args: ["run", "--for", "cobol", "true"], code: 125, says: /--for must be go, curl/ },
    { args: ["run", "--id", "other", "true"], code: 125, says: /instance "other": it is not running/ },
  ];
  for (const { args, code, says } of cases) {
    await t.step(args.join(" "), async () => {
      const ended = await home.run(args, { env: { PATH: "/nowhere" } });
      assert.match(ended.stderr, says);
      assert.equal(ended.code, code, ended.stderr);
    });
  }
});

peerTest("postern run without an instance starts one until the program ends, and says so", [
  "curl",
  "sh",
], async ({ curl, sh }) => {
  await using home = await Household.open();
  await using origin = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("hi"),
  );
  await home.configure("default: direct\n");
  const url = `http://127.0.0.1:${origin.addr.port}/`;
  const { code, stdout, stderr } = await home.run([
    ...["run", "--", sh, "-c"],
    `"${curl}" -sS --noproxy "" ${url}; echo; echo $http_proxy`,
  ]);
  assert.equal(code, 0, stderr);
  const [said, proxy = ""] = stdout.split("\n");
  assert.equal(said, "hi", stderr);
  assert.match(
    stderr,
    /note: instance "default" is not running: postern starts an instance until the program ends/,
  );
  const { hostname, port } = new URL(proxy);
  await assert.rejects(Deno.connect({ hostname, port: Number(port) }), Deno.errors.ConnectionRefused);
});

peerTest("postern run with a configuration leaves its forwards to the instance", ["sh"], async ({ sh }) => {
  await using home = await Household.open();
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const path = await home.configure(
    `listen: { forward: { "127.0.0.1:${taken.addr.port}": "db.example:5432" } }\ndefault: direct\n`,
  );
  const { code, stdout, stderr } = await home.run(["--config", path, "run", sh, "-c", "echo $http_proxy"]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^http:\/\/127\.0\.0\.1:[0-9]+$/m);
});

peerTest(
  "postern run gives a password only to the program's environment",
  ["curl", "sh"],
  async ({ curl, sh }) => {
    await using home = await Household.open();
    await using origin = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response("hi"),
    );
    await Deno.writeTextFile(`${home.directory}/password`, "s3cret\n");
    await home.configure(
      `listen: { auth: { users: [{ name: me, passwordFile: ${home.directory}/password }] } }\ndefault: direct\n`,
    );
    await using instance = await home.instance();
    const script = `"${curl}" -sS --noproxy "" "$1"; tr "\\0" " " </proc/$PPID/cmdline`;
    const { code, stdout, stderr } = await home.run([
      ...["run", sh, "-c", script, "sh", `http://127.0.0.1:${origin.addr.port}/`],
    ]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^hi/);
    assert.doesNotMatch(stdout + stderr, /s3cret/);
    instance.kill("SIGTERM");
    assert.doesNotMatch((await instance.ended).stderr, /s3cret/);
  },
  { platforms: ["linux"] },
);

peerTest(
  "postern run passes signals on, and returns 128 + n for a killed program",
  ["sh"],
  async ({ sh }, t) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using _instance = await home.instance();
    const script = 'trap "echo heard; exit 5" TERM; echo ready; while :; do sleep 0.1; done';
    for (const [signal, code] of [["SIGTERM", 5], ["SIGHUP", 129]] as const) {
      await t.step(signal, async () => {
        await using program = home.start(["run", sh, "-c", script]);
        await program.prints(/^ready$/m);
        program.kill(signal);
        const ended = await program.ended;
        assert.equal(ended.code, code, ended.stderr);
      });
    }
    const { code } = await home.run(["run", sh, "-c", "kill -KILL $$"]);
    assert.equal(code, 137);
  },
);

peerTest("postern run gives the program its terminal and leaves Ctrl-C to it", [
  "python",
  "sh",
], async ({ python, sh }) => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using _instance = await home.instance();
  const script =
    'test -t 0 && test -t 1 && trap "echo heard" INT; echo ready; read line || read line; exit 6';
  const { command, env } = home.commandLine(["run", sh, "-c", script]);
  const { screen, code } = await atTerminal(python, command, {
    steps: [{ until: "ready", press: "\x03" }, { until: "heard", press: "hello\n" }],
    env,
  });
  assert.equal(code, 6, screen);
});
