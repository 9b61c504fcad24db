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

// The rows 39 to 50 of what is compared with kharon, all by the real program.

const plain = "listen: { mixed: 127.0.0.1:0 }\nroutes: [{ to: x.example, via: reject }]\n";

Deno.test("without any routing information a door ends at once, before it listens, and names update", async () => {
  await using home = await Household.open();
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const { code, stdout, stderr } = await home.run(["proxy", "--listen", `127.0.0.1:${port}`]);
  assert.deepEqual([code, stdout], [4, ""]);
  assert.match(
    stderr,
    /^postern: error: Cannot start: .*\npostern: hint: fetch a catalogue: postern update;/,
  );
  assert.doesNotMatch(stderr, /listener\.ready/);
});

Deno.test("what kharon has stored is routing information, until the first update", async () => {
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

Deno.test("a damaged cache ends a start with its name, and a running door keeps what it has", async () => {
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
  assert.match(start.stderr, /catalogue\.kv": it is damaged.*\npostern: hint: postern update sets it aside/);
  const mended = await company.update();
  assert.equal(mended.code, 0);
  assert.match(mended.stderr, /it is kept as ".*\/catalogue\.kv\.damaged-[0-9T]+Z", and a new one was begun/);
  await using again = await home.instance();
  await end(again);
});

Deno.test("a cache of a later version is not touched by a start, and set aside by an update", async () => {
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
    /Cannot use ".*snapshot\.json": it is of a newer postern \(format 99\)\npostern: hint: use/,
  );
  assert.equal(await Deno.readTextFile(`${directory}/snapshot.json`), newer);
  assert.equal((await company.update()).code, 0);
  await using instance = await home.instance();
  await end(instance);
});

Deno.test("a download goes on over an update that gives its name to a jump host, and over SIGHUP", async () => {
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
  // An instance that starts without jump hosts gives up what ssh needs.
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

Deno.test("after SIGHUP with a mistake the old routes stay, and status shows it", async () => {
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

Deno.test("SIGTERM ends a door with 0 when the last connection has ended", async () => {
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
  // A door that is closing has no use for a catalogue.
  const { code, stderr } = await company.update();
  assert.deepEqual([code, stderr], [0, ""]);
  goOn.resolve();
  assert.equal(new TextDecoder().decode(await client.rest()), "whole");
  client.close();
  assert.equal((await instance.ended).code, 0);
});

Deno.test("a port that is taken ends the start with 1, and the holder is named", async () => {
  await using company = await Company.open();
  const { home } = company;
  await company.update();
  await using first = await home.instance(["--id", "first"]);
  const address = await first.address();
  const { code, stderr } = await home.run(["proxy", "--id", "second", "--listen", address]);
  assert.equal(code, 1);
  assert.match(stderr, /Cannot listen on .*\npostern: hint: instance "first" \(pid [0-9]+\) uses it/);
  await end(first);
});

Deno.test("two updates within a minute are one sign-in", async () => {
  await using company = await Company.open();
  using _turn = await signInTurn();
  const { oidc } = company;
  assert.equal((await visiting(company, ["update"], visit)).code, 0);
  const second = await company.home.run(["update"], { env: company.env });
  assert.deepEqual([second.code, second.stderr], [0, ""]);
  assert.deepEqual([oidc.authorizations.length, oidc.tokenRequests.length], [1, 1]);
});

peerTest(
  "an update reloads our own door, and no program that is called like one",
  ["bash"],
  async ({ bash }) => {
    await using company = await Company.open();
    await company.home.configure(plain);
    await company.update();
    await using instance = await company.home.instance();
    // What kharon sends SIGHUP to, which ends it.
    const decoy = new Deno.Command(bash, { args: ["-c", 'exec -a "kharon-x proxy" sleep 600'] }).spawn();
    let isAlive = true;
    const ended = decoy.status.then(() => isAlive = false);
    try {
      assert.match((await company.update()).stderr, /reloaded instance "default"/);
      await eventually("the door has reloaded", () => /config\.reloaded/.test(instance.stderr));
      assert.doesNotMatch(instance.stderr, /SIGHUP/);
      // A signal would have come before the answer to a later question.
      await company.home.run(["status"]);
      assert.ok(isAlive);
    } finally {
      decoy.kill("SIGKILL");
      await ended;
    }
    await end(instance);
  },
);

Deno.test("beside an API that answers 503 the catalogue is kept, and its age told", async () => {
  await using company = await Company.open();
  const { home, lieutenant } = company;
  await company.update();
  lieutenant.answer = { status: 503, body: '{"reason":"maintenance"}' };
  const { code, stderr } = await company.update();
  assert.equal(code, 6);
  assert.match(
    stderr,
    /it answered 503: maintenance\npostern: hint: .*; the catalogue of \d+s ago is kept\n$/,
  );
  assert.match((await home.run(["explain", "c-a.example.net"])).stdout, /goes to jump1\n/);
});

Deno.test("a browser that comes back with a foreign state changes nothing, on either family", async () => {
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

Deno.test("a browser that comes back with access_denied ends the command with the reason", async () => {
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

Deno.test("clusters -o json has the ids where kharon has them", async () => {
  await using company = await Company.open();
  await company.update();
  const { stdout } = await company.home.run(["clusters", "-o", "json"]);
  const { clusters } = JSON.parse(stdout) as { clusters: { id: string }[] };
  assert.deepEqual(clusters.map(({ id }) => id), ["c-a", "c-b"]);
});

/** Runs a command that signs in, with the test for a browser. */
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

/** What a browser does with an address at the provider, who sends it back at once. */
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
