import assert from "node:assert/strict";
import { Company, companyCluster as cluster } from "../support/company.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { signInTurn } from "../support/sign_in_port.ts";

Deno.test("postern update: an instance knows the fleet even when the API is down", async () => {
  await using company = await Company.open();
  const { home, lieutenant } = company;
  const none = await home.run(["proxy"]);
  assert.equal(none.code, 4);
  assert.match(
    none.stderr,
    /^postern: error: Cannot start the instance: .*\npostern: hint: fetch a catalogue: postern update;/,
  );
  assert.deepEqual(await company.update(), {
    code: 0,
    stdout: `catalogue main: 2 clusters, 2 routes, 0 exclusions (${lieutenant.url}/)\n`,
    stderr: "",
  });
  lieutenant.answer = { status: 503, body: '{"reason":"gone"}' };
  const failed = await company.update();
  assert.equal(failed.code, 6);
  assert.match(
    failed.stderr,
    /^postern: error: Cannot read the clusters of .*: the server returned 503: gone\npostern: hint: /,
  );
  assert.match(failed.stderr, /; postern keeps the catalogue of \d+s ago\n$/);
  await using instance = await home.instance();
  const [status] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  assert.deepEqual([status.catalogues[0].name, status.catalogues[0].clusters], ["main", 2]);
  assert.match((await home.run(["status"])).stdout, /\n {2}catalogue main: 2 clusters, fetched \d+s ago\n/);
  const explained = await home.run(["explain", "api.c-b.example.net:6443"]);
  assert.match(
    explained.stdout,
    /because {2}rule "c-b\.example\.net" \(catalogue main: cluster c-b fact open/,
  );
  lieutenant.answer = undefined;
  lieutenant.clusters = [cluster("c-b", "jump2"), cluster("c-c", "jump1")];
  assert.deepEqual(await company.update(), {
    code: 0,
    stdout: [
      `catalogue main: 2 clusters, 2 routes, 0 exclusions (${lieutenant.url}/)`,
      "  cluster c-c is new",
      "  cluster c-a was removed",
      "  c-c.example.net goes through jump1",
      "  c-b.example.net goes through jump2 (was jump1)",
      "  c-a.example.net is no longer routed",
      "",
    ].join("\n"),
    stderr: 'postern: reloaded instance "default"\n',
  });
  assert.match((await home.run(["explain", "c-b.example.net"])).stdout, /goes to jump2\n/);
  instance.kill("SIGTERM");
  assert.equal((await instance.ended).code, 0, instance.stderr);
  const fromFiles = await home.run(["explain", "c-c.example.net"]);
  assert.match(fromFiles.stdout, /goes to jump1\n.*catalogue main: cluster c-c/);
  for await (const text of textsIn(home.places.cache)) assert.ok(!text.includes("SECRET"));
});

Deno.test("postern update --dry-run, --if-older-than and -o json", async () => {
  await using company = await Company.open();
  const { home, lieutenant } = company;
  const dry = await company.update("--dry-run");
  assert.match(dry.stdout, /^catalogue main: 2 clusters, .* not stored \(/);
  assert.equal((await home.run(["explain", "c-a.example.net"])).stdout.includes("jump1"), false);
  lieutenant.clusters = [{
    ...cluster("c-a", "jump1"),
    facts: { jumphost: "jump1", jumphostDomains: "com" },
  }];
  const { stdout, stderr, code } = await company.update("-o", "json");
  assert.deepEqual([code, stderr], [0, ""]);
  const { catalogues: [main], instances } = JSON.parse(stdout);
  assert.deepEqual(main.routes, [{
    kind: "route",
    pattern: "c-a.example.net",
    jumphost: "jump1",
    catalogue: "main",
    cluster: "c-a",
    fact: "openshiftBaseDomain",
  }]);
  assert.deepEqual([main.warnings[0].fact, main.isNew, instances], ["jumphostDomains", true, []]);
  const asked = lieutenant.tokens.length;
  const fresh = await company.update("--if-older-than", "1h");
  assert.deepEqual([fresh.code, fresh.stdout], [0, ""]);
  assert.match(fresh.stderr, /^postern: catalogue main: fetched \d+s ago, skipped\n$/);
  assert.equal(lieutenant.tokens.length, asked);
});

Deno.test("postern update without a terminal, a browser or a token fails with a hint", async () => {
  await using company = await Company.open();
  const { code, stderr } = await company.home.run(["update"], {
    env: { LIEUTENANT_URL: company.lieutenant.url },
  });
  assert.equal(code, 5);
  assert.match(
    stderr,
    /^postern: error: Cannot sign in at .*: the sign-in needs a user at a terminal\npostern: hint: .*postern login/,
  );
  const nothing = await company.home.run(["update"]);
  assert.equal(nothing.code, 4);
  assert.match(
    nothing.stderr,
    /Cannot find a catalogue: none is configured\npostern: hint: .*LIEUTENANT_URL/,
  );
});

peerTest("postern update, login and logout with a browser", ["curl"], async ({ curl }) => {
  await using company = await Company.open();
  using _turn = await signInTurn();
  const { home, lieutenant, oidc } = company;
  await home.configure(`catalogues: [{ lieutenant: "${lieutenant.url}" }]\n`);
  const env = { POSTERN_BROWSER: `${curl} --silent --location --noproxy * --output /dev/null` };
  const first = await home.run(["update"], { env });
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stderr, /sign in at http/);
  const second = await home.run(["update"], { env });
  assert.deepEqual([second.code, second.stderr], [0, ""]);
  assert.equal(oidc.authorizations.length, 1);
  const login = await home.run(["login"], { env });
  assert.match(
    login.stderr,
    /postern: signed in at 127\.0\.0\.1:\d+ as alice@example\.com for the catalogue main, until /,
  );
  assert.equal(oidc.authorizations.length, 2);
  // postern silently replaces a rejected token if that needs no prompt.
  const [old = ""] = lieutenant.tokens.slice(-1);
  lieutenant.refuses = (token) => token === old;
  assert.equal((await home.run(["update"], { env })).code, 0);
  assert.deepEqual(await home.run(["logout"]), {
    code: 0,
    stdout: "",
    stderr: "postern: signed out of the catalogue main\n",
  });
  assert.match((await home.run(["logout"])).stderr, /no stored sign-in for the catalogue main/);
});

Deno.test("postern update reloads instances by their control socket and sends no signal to other processes", async () => {
  await using company = await Company.open();
  await company.home.configure("listen: { mixed: 127.0.0.1:0 }\ntransports: { a: { ssh: a } }\n");
  await using instance = await company.home.instance();
  // kharon's process pattern matches this process, and SIGHUP would end it.
  const decoy = new Deno.Command(Deno.execPath(), {
    args: ["eval", "setTimeout(() => {}, 60_000)", "kharon-x", "proxy", "postern", "proxy"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    assert.match((await company.update()).stderr, /reloaded instance "default"/);
    await eventually("the instance has reloaded", () => /config\.reloaded/.test(instance.stderr));
    assert.doesNotMatch(instance.stderr, /SIGHUP/);
    let isAlive = true;
    decoy.status.then(() => isAlive = false);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.ok(isAlive);
  } finally {
    decoy.kill("SIGKILL");
    await decoy.status;
  }
  instance.kill("SIGTERM");
  assert.equal((await instance.ended).code, 0);
});

Deno.test("postern update stores a first catalogue with jump hosts, and asks to restart an instance without ssh", async () => {
  await using company = await Company.open();
  const { home, lieutenant } = company;
  lieutenant.clusters = [cluster("c-a", "jump1.invalid")];
  await home.configure("routes: [{ to: x.example, via: reject }]\n");
  await using instance = await home.instance();
  const { code, stderr } = await company.update();
  const refused = 'Cannot apply the configuration: the transport "jump1.invalid" needs ssh, ' +
    "and this instance dropped that right at startup";
  assert.deepEqual(
    [code, stderr],
    [1, `postern: error: ${refused}\npostern: hint: restart the instance\n`],
  );
  const [{ config: { problem }, catalogues }] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  assert.deepEqual([problem, catalogues], [refused, undefined]);
  instance.kill("SIGTERM");
  assert.equal((await instance.ended).code, 0);
  await using again = await home.instance();
  const { stdout } = await home.run(["explain", "--dial", "c-a.example.net"]);
  assert.match(
    stdout,
    /goes to jump1\.invalid\n[^]*failed: Cannot reach ssh jump1\.invalid .*: no such name/,
  );
  again.kill("SIGTERM");
  assert.equal((await again.ended).code, 0);
});

Deno.test("postern update rejects an empty catalogue and limits the printed warnings", async () => {
  await using company = await Company.open();
  const { home, lieutenant } = company;
  await Deno.chmod(`${home.directory}/token`, 0o644);
  const first = await company.update();
  assert.match(first.stderr, /^postern: other users may read the token in "token": chmod 600 token\n$/);
  await Deno.chmod(`${home.directory}/token`, 0o600);
  lieutenant.clusters = [];
  const empty = await company.update();
  assert.deepEqual([empty.code, empty.stdout], [1, ""]);
  assert.match(
    empty.stderr,
    /returns no clusters, but 2 are stored\npostern: hint: .*--allow-empty; postern keeps the cat/,
  );
  lieutenant.answer = { body: `[${"{},".repeat(100_000)}{}]` };
  const junk = await company.update("--allow-empty");
  assert.equal(junk.code, 0);
  assert.equal(junk.stderr.split("\n").length, 52);
  assert.match(
    junk.stderr,
    /\npostern: catalogue main: 951 more warnings: see postern update -o json\n$/,
  );
  const { catalogues: [main] } = JSON.parse((await company.update("-o", "json")).stdout);
  assert.equal(main.warnings.at(-1).message, "99001 more warnings");
});

async function* textsIn(directory: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) yield* textsIn(path);
    else yield new TextDecoder("latin1").decode(await Deno.readFile(path));
  }
}
