import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

const faulty = `listen:
  mixd: 127.0.0.1:0
transports:
  corp: { proxy: { url: "gopher://proxy.example" } }
  a: { proxy: { url: "http://127.0.0.1:1" }, via: b }
  b: { proxy: { url: "http://127.0.0.1:2" }, via: a }
routes:
  - { to: [.example.net], via: nowhere }
`;

Deno.test("postern config check reports every problem with its position", async () => {
  await using home = await Household.open();
  const path = await home.configure(faulty);
  const { code, stdout, stderr } = await home.run(["config", "check"]);
  assert.equal(code, 4);
  const lines = stdout.trimEnd().split("\n");
  for (const line of lines) assert.ok(line.startsWith(`${path}:`), line);
  const places = lines.map((line) => /^:(\d+):\d+: /.exec(line.slice(path.length))?.[1]);
  for (
    const [place, what] of [["2", /mixd.*did you mean "mixed"/], ["4", /corp/], ["8", /nowhere/]] as const
  ) {
    assert.ok(
      lines.some((line, at) => places[at] === place && what.test(line)),
      `${what} at ${place} in:\n${stdout}`,
    );
  }
  assert.match(stdout, /:[56]:\d+: .*(via|cycle)/);
  assert.match(
    stderr,
    new RegExp(`^postern: error: Cannot use ".*config\\.yaml": ${lines.length} problems\n`),
  );
  const json = await home.run(["config", "check", "-o", "json"]);
  assert.deepEqual(JSON.parse(json.stdout).errors, lines);
  assert.equal(json.code, 4);
});

Deno.test("postern config check reports a valid file", async () => {
  await using home = await Household.open();
  const path = await home.configure("routes:\n  - { to: .example.net, via: direct }\n");
  assert.deepEqual(await home.run(["config", "check"]), {
    code: 0,
    stdout: "",
    stderr: `postern: "${path}" is valid\n`,
  });
});

Deno.test("postern config check of a missing file fails", async () => {
  await using home = await Household.open();
  const { code, stderr } = await home.run(["--config", `${home.directory}/none.yaml`, "config", "check"]);
  assert.equal(code, 4);
  assert.match(stderr, /^postern: error: Cannot read ".*none\.yaml": no such file/);
});

/** Shell commands that create odd.yaml, and the error about it. */
const unreadable = [
  { name: "a pipe", make: "mkfifo odd.yaml", says: "it is not a regular file" },
  { name: "a file that is not UTF-8", make: "printf 'a\\377' >odd.yaml", says: "it is not UTF-8 text" },
  {
    name: "circular links",
    make: "ln -sf odd.yaml other.yaml; ln -sf other.yaml odd.yaml",
    says: "too many levels of symbolic links",
  },
  { name: "a directory", make: "mkdir -p odd.yaml", says: "is a directory" },
  { name: "a file over 2 MB", make: "printf %02000001d 0 >odd.yaml", says: "the file is over 2 MB" },
];
for (const { name, make, says } of unreadable) {
  peerTest(
    `postern config check and proxy print one error and one hint about ${name}`,
    ["bash"],
    async ({ bash }) => {
      await using home = await Household.open();
      const under = [bash, "-c", `test -e odd.yaml || ${make}; exec "$@"`, "bash"];
      for (const command of [["config", "check"], ["proxy"]]) {
        const { code, stdout, stderr } = await home.run(["--config", "odd.yaml", ...command], { under });
        assert.match(
          stderr,
          new RegExp(`^postern: error: Cannot (read|use) ".*odd\\.yaml": ${says}\npostern: hint: .*\n$`),
        );
        assert.deepEqual([code, stdout], [4, ""]);
      }
    },
  );
}

Deno.test("postern config init writes a valid configuration and never replaces a file", async () => {
  await using home = await Household.open();
  await Deno.mkdir(home.places.config.replace(/\/postern$/, ""), { recursive: true });
  const path = `${home.places.config}/config.yaml`;
  const first = await home.run(["config", "init"]);
  assert.deepEqual([first.code, first.stdout], [0, ""], first.stderr);
  const written = await Deno.readTextFile(path);
  assert.equal((await home.run(["config", "check"])).code, 0);
  const schema = JSON.parse(await Deno.readTextFile(`${home.places.config}/postern.schema.json`));
  assert.deepEqual(schema, JSON.parse((await home.run(["config", "schema"])).stdout));
  const second = await home.run(["config", "init"]);
  assert.equal(second.code, 1);
  assert.match(
    second.stderr,
    /^postern: error: Cannot write ".*config\.yaml": the file exists\npostern: hint: /,
  );
  assert.equal(await Deno.readTextFile(path), written);
});

Deno.test("postern config show, status and explain mask a password", async () => {
  await using home = await Household.open();
  await home.configure(`transports:
  corp: { proxy: { url: "http://me:s3cret@127.0.0.1:3128" } }
routes:
  - { to: .example.net, via: corp }
`);
  for (
    const args of [["config", "show"], ["config", "show", "-o", "json"], ["config", "check"], [
      "explain",
      "a.example.net",
    ]]
  ) {
    const { code, stdout, stderr } = await home.run(args);
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stdout + stderr, /s3cret/, args.join(" "));
  }
  assert.match((await home.run(["config", "show"])).stdout, /127\.0\.0\.1:3128/);
  await using instance = await home.instance();
  for (const args of [["status"], ["status", "-o", "json"], ["explain", "a.example.net"], ["pac"]]) {
    const { stdout, stderr } = await home.run(args);
    assert.doesNotMatch(stdout + stderr, /s3cret/, args.join(" "));
  }
  instance.kill("SIGTERM");
  assert.doesNotMatch((await instance.ended).stderr, /s3cret/);
});

Deno.test("postern explain, pac and env answer from the configuration when no instance runs", async () => {
  await using home = await Household.open();
  await home.configure(
    "transports: { corp: { proxy: { url: http://127.0.0.1:3128 } } }\nroutes: [{ to: .example.net, via: corp }]\n",
  );
  const explained = await home.run(["explain", "A.example.NET.:5432"]);
  assert.match(explained.stdout, /goes to corp\n {2}because {2}.*\.example\.net.*config\.yaml:2/);
  const pac = await home.run(["pac"]);
  assert.match(pac.stdout, /function FindProxyForURL/);
  const env = await home.run(["env"]);
  assert.match(env.stdout, /http_proxy=.*http:\/\/127\.0\.0\.1:12000/);
  for (const { code, stderr } of [explained, pac, env]) {
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^postern: instance "default" is not running: answered from the configuration\n/);
  }
  const json = JSON.parse((await home.run(["explain", "b.example.net", "-o", "json"])).stdout);
  assert.deepEqual([json.target, json.transport], ["b.example.net:443", "corp"]);
});

Deno.test("postern explain, pac and env answer from the configuration when the instance hangs", async () => {
  await using home = await Household.open();
  await home.configure("transports: { no: { reject: x } }\nroutes: [{ to: .example.net, via: no }]\n");
  await using instance = await home.instance(["--id", "work"]);
  instance.kill("SIGSTOP");
  const commands = [["explain", "a.example.net"], ["pac"], ["env"], ["status"], ["stop"]];
  const all = [["status"], ["stop", "--all"]];
  const ended = await Promise.all(
    [...commands.map((words) => [...words, "--id", "work"]), ...all].map((words) => home.run(words)),
  );
  for (const { code, stderr } of ended.slice(0, 3)) {
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^postern: instance "work" does not answer: answered from the configuration\n/);
  }
  assert.match(ended[0]?.stdout ?? "", /goes to no\n/);
  assert.match(
    ended[5]?.stderr ?? "",
    /"work" does not answer[^]*\npostern: error: Cannot show the status: no instance ans/,
  );
  assert.match(ended[6]?.stderr ?? "", /error: Cannot query instance "work": no answer within 5 s\n/);
  assert.deepEqual(ended.slice(5).map(({ code }) => code), [6, 6]);
  for (const { code, stderr } of ended.slice(3, 5)) {
    assert.equal(code, 6);
    assert.match(
      stderr,
      /Cannot query instance "work": no answer within 5 s\npostern: hint: .*postern logs work; /,
    );
  }
});

Deno.test("postern explain --dial shows the failure and exits 6", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const reached = await home.run(["explain", "--dial", `127.0.0.1:${port}`]);
  assert.equal(reached.code, 0, reached.stderr);
  assert.match(reached.stdout, / ms {2}connected\n$/);
  (await listener.accept()).close();
  listener.close();
  const failed = await home.run(["explain", "--dial", `127.0.0.1:${port}`]);
  assert.equal(failed.code, 6);
  assert.match(failed.stdout, / ms {2}failed: Cannot /);
});

Deno.test("postern doctor finds a broken configuration and exits 7", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  const fine = await home.run(["doctor", "-o", "json"]);
  assert.deepEqual(JSON.parse(fine.stdout).filter(({ state }: { state: string }) => state === "failed"), []);
  assert.equal(fine.code, 0);
  await home.configure("defalt: direct\n");
  assert.equal((await home.run(["--config", "/gone/nowhere.yaml", "doctor"])).code, 4);
  const broken = await home.run(["doctor"]);
  assert.equal(broken.code, 7);
  assert.match(broken.stdout, /^failed +configuration: .*did you mean "default"/m);
});
