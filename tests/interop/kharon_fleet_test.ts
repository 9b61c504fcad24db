import assert from "node:assert/strict";
import { HttpClient } from "../../src/http/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { Company, companyCluster } from "../support/company.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { throughSocks5 } from "../support/raw_client.ts";
import { signInTurn } from "../support/sign_in_port.ts";
import { TargetServer } from "../support/target_server.ts";

// Rows 39 to 50 of the comparison with kharon, tested with the real program.

const plain = "listen: { mixed: 127.0.0.1:0 }\nroutes: [{ to: x.example, via: reject }]\n";

Deno.test("without routing information an instance ends before it listens, and recommends update", async () => {
  await using home = await Household.open();
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const { code, stdout, stderr } = await home.run(["proxy", "--listen", `127.0.0.1:${port}`]);
  assert.deepEqual([code, stdout], [4, ""]);
  assert.match(
    stderr,
    /^postern: error: Cannot start the instance: .*\npostern: hint: fetch a catalogue: postern update;/,
  );
  assert.doesNotMatch(stderr, /listener\.ready/);
});

Deno.test("kharon's stored files provide routes until the first update", async () => {
  await using company = await Company.open();
  const { home } = company;
  const directory = `${home.directory}/cache/io.vshn.kharon`;
  await Deno.mkdir(`${directory}/proxy`, { recursive: true });
  const clusters = [companyCluster("c-old", "jump8")];
  await Deno.writeTextFile(`${directory}/inventory.json`, JSON.stringify({ version: 1, clusters }));
  const mapping = { version: 1, mapping: { "mapped.example.net": "jump9" } };
  await Deno.writeTextFile(`${directory}/proxy/domain_jumphost_mapping.json`, JSON.stringify(mapping));
  await using instance = await home.instance();
  const way = async (host: string) => (await home.run(["explain", host])).stdout.split("\n")[0];
  assert.equal(await way("c-old.example.net"), "c-old.example.net:443 goes to jump8");
  assert.equal(await way("x.mapped.example.net"), "x.mapped.example.net:443 goes to jump9");
  assert.equal((await company.update()).code, 0);
  assert.equal(await way("c-a.example.net"), "c-a.example.net:443 goes to jump1");
  assert.equal(await way("c-old.example.net"), "c-old.example.net:443 goes to direct");
  await end(instance);
});

Deno.test("a damaged cache ends a start with its path, and a running instance keeps its routes", async () => {
  await using company = await Company.open();
  const { home } = company;
  await company.update();
  await using instance = await home.instance();
  const directory = `${home.places.cache}/catalogue`;
  for await (const { name } of Deno.readDir(directory)) {
    if (/^(?:catalogue\.kv|snapshot)/.test(name)) {
      await Deno.writeTextFile(`${directory}/${name}`, "{".repeat(9000));
    }
  }
  const reload = await home.run(["reload"]);
  assert.equal(reload.code, 4);
  assert.match(reload.stderr, /Cannot use ".*\/catalogue\.kv": it is damaged/);
  const [status] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  assert.match(status.config.problem, /catalogue\.kv": it is damaged/);
  assert.match((await home.run(["explain", "c-a.example.net"])).stdout, /goes to jump1\n/);
  await end(instance);
  const start = await home.run(["proxy", "--listen", "127.0.0.1:0"]);
  assert.deepEqual([start.code, start.stdout], [4, ""]);
  assert.match(
    start.stderr,
    /catalogue\.kv": it is damaged.*\npostern: hint: fetch the catalogue again, which renames this file first: postern update/,
  );
  const mended = await company.update();
  assert.equal(mended.code, 0);
  assert.match(
    mended.stderr,
    /postern renamed it to ".*\/catalogue\.kv\.damaged-[0-9T]+Z" and created a new store/,
  );
  await using again = await home.instance();
  await end(again);
});

Deno.test("a start leaves a cache of a later version alone, and an update sets it aside", async () => {
  await using company = await Company.open();
  const { home } = company;
  const directory = `${home.places.cache}/catalogue`;
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  const newer = JSON.stringify({ format: 99, catalogues: [] });
  await Deno.writeTextFile(`${directory}/snapshot.json`, newer);
  const { code, stderr } = await home.run(["proxy", "--listen", "127.0.0.1:0"]);
  assert.equal(code, 4);
  assert.match(
    stderr,
    /Cannot use ".*snapshot\.json": a newer postern wrote it \(format 99\)\npostern: hint: use/,
  );
  assert.equal(await Deno.readTextFile(`${directory}/snapshot.json`), newer);
  assert.equal((await company.update()).code, 0);
  await using instance = await home.instance();
  await end(instance);
});

Deno.test("a download survives an update that routes its name to a jump host, and SIGHUP", async () => {
  await using company = await Company.open();
  const { home, lieutenant } = company;
  const half = new Uint8Array(8 << 20).fill(7);
  const goOn = Promise.withResolvers<void>();
  await using target = new TargetServer(async (client) => {
    await client.send(half);
    await goOn.promise;
    await client.send(half);
  });
  await home.configure(plain);
  // An instance that starts without jump hosts drops the permissions that ssh needs.
  await company.update();
  await using instance = await home.instance();
  const client = await throughSocks5(await instance.address(), { host: "127.0.0.1", port: target.port });
  const got = client.rest();
  lieutenant.clusters = [companyCluster("c-a", "jump1"), companyCluster("c-new", "jump2")];
  assert.match((await company.update()).stderr, /reloaded instance "default"/);
  assert.match((await home.run(["explain", "c-new.example.net"])).stdout, /goes to jump2\n/);
  if (Deno.build.os !== "windows") {
    instance.kill("SIGHUP");
    await instance.says(/config\.reloading why=SIGHUP/);
  }
  goOn.resolve();
  assert.equal((await got).length, half.length * 2);
  client.close();
  await end(instance);
});

Deno.test("after SIGHUP with an invalid configuration the old routes stay, and status reports the problem", async () => {
  await using company = await Company.open();
  const { home } = company;
  await company.update();
  await home.configure(plain);
  await using instance = await home.instance();
  await home.configure(`${plain}catalogues: [{ lieutenant: nonsense }]\n`);
  instance.kill("SIGHUP");
  await instance.says(/config\.refused/);
  const [status] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  assert.match(status.config.problem, /config\.yaml:3:\d+: catalogues\[0\]\.lieutenant: /);
  assert.match((await home.run(["explain", "c-a.example.net"])).stdout, /goes to jump1\n/);
  await end(instance);
});

Deno.test("SIGTERM ends an instance with 0 after the last connection", async () => {
  await using company = await Company.open();
  const { home } = company;
  await company.update();
  const goOn = Promise.withResolvers<void>();
  await using target = new TargetServer(async (client) => {
    await goOn.promise;
    await client.send(new TextEncoder().encode("whole"));
  });
  await using instance = await home.instance();
  const client = await throughSocks5(await instance.address(), { host: "127.0.0.1", port: target.port });
  instance.kill("SIGTERM");
  await instance.says(/instance\.draining/);
  // A draining instance ignores a new catalogue.
  const { code, stderr } = await company.update();
  assert.deepEqual([code, stderr], [0, ""]);
  goOn.resolve();
  assert.equal(new TextDecoder().decode(await client.rest()), "whole");
  client.close();
  assert.equal((await instance.ended).code, 0);
});

Deno.test("a start on a port in use exits with 1 and names the owner", async () => {
  await using company = await Company.open();
  const { home } = company;
  await company.update();
  await using first = await home.instance(["--id", "first"]);
  const address = await first.address();
  const { code, stderr } = await home.run(["proxy", "--id", "second", "--listen", address]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /Cannot listen on .*\npostern: hint: .* instance "first" \(pid [0-9]+\), which listens there/,
  );
  await end(first);
});

Deno.test("two updates within a minute sign in once", async () => {
  await using company = await Company.open();
  using _turn = await signInTurn();
  const { oidc } = company;
  assert.equal((await visiting(company, ["update"], visit)).code, 0);
  const second = await company.home.run(["update"], { env: company.env });
  assert.deepEqual([second.code, second.stderr], [0, ""]);
  assert.deepEqual([oidc.authorizations.length, oidc.tokenRequests.length], [1, 1]);
});

peerTest(
  "an update reloads our own instance, and no other program of that name",
  ["bash"],
  async ({ bash }) => {
    await using company = await Company.open();
    await company.home.configure(plain);
    await company.update();
    await using instance = await company.home.instance();
    // kharon sends SIGHUP to this process, which ends it.
    const decoy = new Deno.Command(bash, { args: ["-c", 'exec -a "kharon-x proxy" sleep 600'] }).spawn();
    let isAlive = true;
    const ended = decoy.status.then(() => isAlive = false);
    try {
      assert.match((await company.update()).stderr, /reloaded instance "default"/);
      await eventually("the instance has reloaded", () => /config\.reloaded/.test(instance.stderr));
      assert.doesNotMatch(instance.stderr, /SIGHUP/);
      // A signal would have arrived before the response to a later request.
      await company.home.run(["status"]);
      assert.ok(isAlive);
    } finally {
      decoy.kill("SIGKILL");
      await ended;
    }
    await end(instance);
  },
);

Deno.test("if the API answers 503, the catalogue stays and its age is shown", async () => {
  await using company = await Company.open();
  const { home, lieutenant } = company;
  await company.update();
  lieutenant.answer = { status: 503, body: '{"reason":"maintenance"}' };
  const { code, stderr } = await company.update();
  assert.equal(code, 6);
  assert.match(
    stderr,
    /the server returned 503: maintenance\npostern: hint: .*; postern keeps the catalogue of \d+s ago\n$/,
  );
  assert.match((await home.run(["explain", "c-a.example.net"])).stdout, /goes to jump1\n/);
});

Deno.test("a browser that returns with a wrong state changes nothing, on either family", async () => {
  await using company = await Company.open();
  using _turn = await signInTurn();
  const { code, stderr } = await visiting(company, ["login"], async (address) => {
    for (const host of ["127.0.0.1", "[::1]", "localhost"]) {
      const answer = await ask(`http://${host}:18000/?code=stolen&state=foreign`);
      assert.equal(answer.status, 400, answer.text);
      assert.doesNotMatch(answer.text, /You are signed in/);
    }
    assert.equal(company.oidc.tokenRequests.length, 0);
    await visit(address);
  });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /sign_in\.foreign_callback/);
  assert.deepEqual(company.oidc.tokenRequests.map((form) => form.get("code") === "stolen"), [false]);
});

Deno.test("a browser that returns with access_denied ends the command with the reason", async () => {
  await using company = await Company.open();
  using _turn = await signInTurn();
  company.oidc.lies.redirect = { error: "access_denied", error_description: "not you" };
  const { code, stdout, stderr } = await visiting(company, ["update"], visit);
  assert.deepEqual([code, stdout], [5, ""]);
  assert.match(
    stderr,
    /postern: error: Cannot sign in at http:\S+: access_denied: not you\npostern: hint: sign in/,
  );
});

Deno.test("clusters -o json contains the ids in the same place as kharon", async () => {
  await using company = await Company.open();
  await company.update();
  const { stdout } = await company.home.run(["clusters", "-o", "json"]);
  const { clusters } = JSON.parse(stdout) as { clusters: { id: string }[] };
  assert.deepEqual(clusters.map(({ id }) => id), ["c-a", "c-b"]);
});

/** Runs a command that signs in; the test plays the browser. */
async function visiting(
  { home, env }: Company,
  args: readonly string[],
  browse: (address: string) => Promise<unknown>,
) {
  const command = home.start(args, { env: { ...env, POSTERN_BROWSER: "true" } });
  const [, address = ""] = await command.says(/open this address:\n(\S+)\n/);
  await browse(address);
  return await command.ended;
}

/** Opens a URL at the provider, which redirects back at once. */
async function visit(address: string): Promise<void> {
  const { location } = await ask(address);
  await ask(location ?? "");
}

async function ask(address: string) {
  const client = new HttpClient({ clock: systemClock, network: createNetwork() });
  const { signal } = new AbortController();
  const { status, fields, body } = await client.ask({ url: new URL(address) }, { signal });
  return { status, location: fields.get("location"), text: new TextDecoder().decode(body) };
}

async function end(instance: Instance): Promise<void> {
  instance.kill("SIGTERM");
  assert.equal((await instance.ended).code, 0, instance.stderr);
}
