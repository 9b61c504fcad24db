import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { throughSocks5 } from "../support/raw_client.ts";
import { EchoServer, exchange } from "./echo_server.ts";

/** A configuration that routes everything direct. */
const plain = "default: direct\n";

async function status(home: Household, ...args: string[]) {
  const { code, stdout, stderr } = await home.run(["status", "-o", "json", ...args]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

async function end(instance: Instance, signal: Deno.Signal = "SIGTERM"): Promise<void> {
  instance.kill(signal);
  assert.equal((await instance.ended).code, 0, instance.stderr);
}

peerTest(
  "an instance: curl through it, then status, connections, reload and stop",
  ["curl"],
  async ({ curl }) => {
    await using home = await Household.open();
    await home.configure(plain);
    await using site = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("hidden\n"),
    );
    await using instance = await home.instance();
    const address = await instance.address();
    for (const proxy of [`http://${address}`, `socks5h://${address}`, `socks4a://${address}`]) {
      const { code, stdout } = await new Deno.Command(curl, {
        args: [
          "--silent",
          "--show-error",
          "--noproxy",
          "",
          "--proxy",
          proxy,
          `http://127.0.0.1:${site.addr.port}/`,
        ],
      }).output();
      assert.deepEqual([code, new TextDecoder().decode(stdout)], [0, "hidden\n"], proxy);
    }
    const [shown] = await status(home);
    assert.deepEqual([shown.id, shown.state, shown.connections.total], ["default", "ready", 3]);
    assert.deepEqual(shown.listeners.map((listener: { address: string }) => listener.address), [address]);
    const text = await home.run(["status"]);
    assert.match(
      text.stdout,
      new RegExp(`^default {2}ready {2}pid ${shown.pid}, up .*\\n {2}listens {3}${address} \\(mixed\\)\\n`),
    );
    assert.deepEqual(await home.run(["reload"]), {
      code: 0,
      stdout: "",
      stderr: "postern: no changes\n",
    });
    assert.deepEqual(await home.run(["stop"]), {
      code: 0,
      stdout: "",
      stderr: 'postern: stopped "default"\n',
    });
    assert.equal((await instance.ended).code, 0);
    assert.match(instance.stderr, / conn\.done .*outcome=/);
    assert.equal((await home.run(["status"])).code, 3);
  },
);

Deno.test("postern connections lists a live connection and closes it", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using target = new EchoServer();
  await using instance = await home.instance();
  assert.deepEqual(await home.run(["connections"]), {
    code: 0,
    stdout: "",
    stderr: "postern: no live connections\n",
  });
  using conn = await throughSocks5(await instance.address(), { host: "127.0.0.1", port: target.port });
  assert.equal(await exchange(conn, "hello"), "hello");
  const [live, ...more] = JSON.parse((await home.run(["connections", "-o", "json"])).stdout);
  assert.deepEqual([live.target, live.transport, live.up, live.down, more], [
    target.address,
    "direct",
    5,
    5,
    [],
  ]);
  const { stdout } = await home.run(["connections"]);
  assert.match(
    stdout,
    new RegExp(`^ *ID {2}CLIENT .*BECAUSE\\n *${live.id} .* ${target.address} +direct .* 5 B +5 B `),
  );
  const wrong = await home.run(["connections", "close", "999"]);
  assert.match(wrong.stderr, /^postern: error: Cannot close connection .*no connection has this id/);
  assert.notEqual(wrong.code, 0);
  const closed = await home.run(["connections", "close", String(live.id)]);
  assert.deepEqual(closed, { code: 0, stdout: "", stderr: `postern: closed connection ${live.id}\n` });
  assert.equal((await conn.rest()).length, 0);
  await end(instance);
});

Deno.test("SIGTERM drains: the instance refuses new connections, and exits 0 after the live one ends", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using target = new EchoServer();
  await using instance = await home.instance();
  const address = await instance.address();
  const conn = await throughSocks5(address, { host: "127.0.0.1", port: target.port });
  instance.kill("SIGTERM");
  await instance.says(/instance\.draining/);
  assert.equal(await exchange(conn, "still here"), "still here");
  await assert.rejects(throughSocks5(address, { host: "127.0.0.1", port: target.port }));
  conn.close();
  assert.equal((await instance.ended).code, 0);
  assert.match(instance.stderr, /instance\.stopped/);
});

Deno.test("SIGINT stops an instance like SIGTERM", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using instance = await home.instance();
  await end(instance, "SIGINT");
});

Deno.test("SIGHUP and a changed file reload the configuration", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using instance = await home.instance();
  instance.kill("SIGHUP");
  await instance.says(/config\.reloaded/);
  await home.configure("routes: [{ to: .example.net, via: reject }]\n");
  await instance.says(/config\.reloaded changes=[1-9]/);
  assert.match((await home.run(["explain", "a.example.net"])).stdout, /goes to reject/);
  await end(instance);
});

Deno.test("an invalid reload keeps the old configuration and reports the line", async () => {
  await using home = await Household.open();
  const path = await home.configure("routes: [{ to: .example.net, via: reject }]\n");
  await using instance = await home.instance();
  await Deno.writeTextFile(path, "routes:\n  - { to: .example.net, via: [\n");
  await instance.says(/config\.yaml:[23]:/);
  const reload = await home.run(["reload"]);
  assert.equal(reload.code, 4);
  assert.match(reload.stderr, /config\.yaml:[23]:\d+: /);
  assert.match((await home.run(["explain", "a.example.net"])).stdout, /goes to reject/);
  assert.match(
    (await home.run(["status"])).stdout,
    /^ {2}problem {3}Cannot use .*\n {12}.*config\.yaml:[23]:\d+: /m,
  );
  assert.equal((await home.run(["config", "check"])).code, 4);
  await end(instance);
});

Deno.test("an open listener is rejected, and with --allow-open it warns at every start", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  const refused = await home.run(["proxy", "--listen", "0.0.0.0:0"]);
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /0\.0\.0\.0:0.*listen\.allowOpen: true \(--allow-open\)/);
  for (let start = 0; start < 2; start++) {
    await using instance = home.start(["proxy", "--listen", "0.0.0.0:0", "--allow-open"]);
    await instance.ready;
    await instance.says(/ WARN .*0\.0\.0\.0/);
    await end(instance);
  }
});

Deno.test("a used port fails the start and names the address, also in the background", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = `127.0.0.1:${(taken.addr as Deno.NetAddr).port}`;
  for (const more of [[], ["--background"]]) {
    const { code, stdout, stderr } = await home.run(["proxy", "--listen", address, ...more]);
    assert.notEqual(code, 0);
    assert.equal(stdout, "");
    assert.match(stderr, new RegExp(`postern: error: Cannot listen on ${address}`));
    assert.doesNotMatch(stderr, /started/);
  }
  assert.equal((await home.run(["status"])).code, 3);
});

Deno.test("a reload from one address to the wildcard address of a port names the conflict", async () => {
  await using home = await Household.open();
  await home.configure("listen: { mixed: 127.0.0.1:0 }\n");
  await using instance = home.start(["proxy"]);
  const address = await instance.address();
  const all = address.replace("127.0.0.1", "0.0.0.0");
  await home.configure(`listen: { mixed: ${all}, allowOpen: true }\n`);
  const reload = await home.run(["reload"]);
  assert.equal(reload.code, 1);
  assert.match(
    reload.stderr,
    new RegExp(
      `error: Cannot listen on ${all}: this instance already listens on ${address}\n.*hint: .*restart the instance`,
    ),
  );
  await end(instance);
});

Deno.test("the error about a used port names the other instance", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using first = await home.instance(["--id", "first"]);
  const address = await first.address();
  const { code, stderr } = await home.run(["proxy", "--id", "second", "--listen", address]);
  assert.equal(code, 1);
  assert.match(stderr, /hint: .* instance "first" \(pid [0-9]+\), which listens there: postern stop first/);
});

Deno.test("an instance ignores HTTP_PROXY", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using target = new EchoServer();
  const dead = "http://127.0.0.1:1";
  const env = {
    HTTP_PROXY: dead,
    http_proxy: dead,
    HTTPS_PROXY: dead,
    https_proxy: dead,
    ALL_PROXY: dead,
    all_proxy: dead,
  };
  await using instance = await home.instance([], { env });
  using conn = await throughSocks5(await instance.address(), { host: "127.0.0.1", port: target.port });
  assert.equal(await exchange(conn, "direct"), "direct");
  conn.close();
  await end(instance);
});

Deno.test("postern status in a shell with proxy variables connects directly to the instance", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using instance = await home.instance();
  const proxy = `http://${await instance.address()}`;
  const env = { http_proxy: proxy, HTTP_PROXY: proxy, all_proxy: proxy, ALL_PROXY: proxy };
  const { code, stdout } = await home.run(["status", "-o", "json"], { env });
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout)[0].connections.total, 0);
  await end(instance);
});

Deno.test("two instances run at once; a third with a used id fails", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using one = await home.instance(["--id", "one"]);
  await using two = await home.instance(["--id", "two"]);
  const again = await home.run(["proxy", "--listen", "127.0.0.1:0", "--id", "one"]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /"one": it is already running\npostern: hint: .*--id/);
  assert.deepEqual((await status(home)).map(({ id }: { id: string }) => id), ["one", "two"]);
  assert.deepEqual((await status(home, "--id", "two")).map(({ id }: { id: string }) => id), ["two"]);
  assert.equal((await home.run(["stop", "one"])).code, 0);
  assert.equal((await one.ended).code, 0);
  assert.deepEqual((await status(home)).map(({ id }: { id: string }) => id), ["two"]);
  assert.equal((await home.run(["stop", "--all"])).code, 0);
  assert.equal((await two.ended).code, 0);
});

Deno.test("the next instance starts after a killed one", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using killed = await home.instance();
  killed.kill("SIGKILL");
  await killed.ended;
  assert.equal((await home.run(["status"])).code, 3);
  assert.equal((await home.run(["reload"])).code, 3);
  await using next = await home.instance();
  assert.equal((await status(home))[0].pid, next.pid);
  await end(next);
  assert.deepEqual(
    [...Deno.readDirSync(home.places.runtime)].map(({ name }) => name).filter((name) =>
      name.endsWith(".sock")
    ),
    [],
  );
});

Deno.test("a background instance is ready when it listens, and keeps its log after stop", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  const started = await home.run(["proxy", "--listen", "127.0.0.1:0", "--background", "--id", "work", "-v"]);
  assert.equal(started.code, 0, started.stderr);
  try {
    const address = /^ready (127\.0\.0\.1:\d+)\n$/.exec(started.stdout)?.[1];
    assert.match(
      started.stderr,
      /^postern: started "work" \(pid \d+\), log: .*work\.log\npostern: stop it with: postern stop work\n$/,
    );
    await using target = new EchoServer();
    using conn = await throughSocks5(address ?? "", { host: "127.0.0.1", port: target.port });
    assert.equal(await exchange(conn, "hello"), "hello");
    const twice = await home.run(["proxy", "--listen", "127.0.0.1:0", "--background", "--id", "work"]);
    assert.equal(twice.code, 1);
    assert.match(twice.stderr, /is already running/);
  } finally {
    const stopped = await home.run(["stop", "work"]);
    assert.deepEqual(stopped, { code: 0, stdout: "", stderr: 'postern: stopped "work"\n' });
  }
  const logs = await home.run(["logs", "work"]);
  assert.equal(logs.code, 0);
  assert.match(logs.stdout, /instance\.ready[^]* conn\.done [^]*instance\.stopped/);
});

Deno.test("postern logs --follow prints new lines, and an interrupt ends it with 130", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  assert.equal((await home.run(["proxy", "--listen", "127.0.0.1:0", "--background"])).code, 0);
  try {
    await using logs = home.start(["logs", "--follow"]);
    await logs.prints(/instance\.ready/);
    assert.equal((await home.run(["reload"])).code, 0);
    await logs.prints(/config\.reloaded/);
    logs.kill("SIGINT");
    const { code, stderr } = await logs.ended;
    assert.deepEqual([code, stderr], [130, ""]);
  } finally {
    assert.equal((await home.run(["stop"])).code, 0);
  }
});

peerTest(
  "postern logs --follow and status --watch end when their reader closes the pipe",
  ["bash"],
  async ({ bash }) => {
    await using home = await Household.open();
    await home.configure(plain);
    assert.equal((await home.run(["proxy", "--listen", "127.0.0.1:0", "--background"])).code, 0);
    try {
      const under = [bash, "-c", 'set -o pipefail; "$@" | head -n 1', "bash"];
      const watched = await home.run(["status", "--watch"], { under });
      assert.deepEqual([watched.code, watched.stderr], [0, ""]);
      const following = home.run(["logs", "--follow"], { under });
      const hasEnded = new AbortController();
      following.finally(() => hasEnded.abort()).catch(() => {});
      // Each reload adds a line: the first line after the reader closed ends the command.
      while (!hasEnded.signal.aborted) assert.equal((await home.run(["reload"])).code, 0);
      const { code, stdout, stderr } = await following;
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, /^.*listener\.ready.*\n$/);
    } finally {
      assert.equal((await home.run(["stop"])).code, 0);
    }
  },
);

Deno.test("postern status --watch repeats the status until an interrupt ends it with 130", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using instance = await home.instance();
  await using watch = home.start(["status", "--watch"]);
  await watch.prints(/default {2}ready[^]*default {2}ready/);
  watch.kill("SIGINT");
  const { code, stderr } = await watch.ended;
  assert.deepEqual([code, stderr], [130, ""]);
  await end(instance);
});

Deno.test("--ready-file contains the addresses until the instance stops", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  const path = `${home.directory}/ready`;
  await using instance = await home.instance(["--ready-file", path]);
  assert.equal(await Deno.readTextFile(path), `${await instance.address()}\n`);
  await end(instance);
  await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
});

Deno.test("--idle-exit stops an unused instance", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using instance = await home.instance(["--idle-exit", "200ms"]);
  assert.equal((await instance.ended).code, 0);
  assert.match(instance.stderr, /instance\.stopping why="idle/);
});

Deno.test("--log-file receives the log, and stderr stays empty", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  const path = `${home.directory}/postern.log`;
  await using instance = await home.instance(["--log-file", path, "--log-format", "json"]);
  await end(instance);
  assert.equal(instance.stderr, "");
  const events = (await Deno.readTextFile(path)).trimEnd().split("\n").map((line) => JSON.parse(line).event);
  assert.ok(events.includes("instance.ready") && events.includes("instance.stopped"), events.join(" "));
});

Deno.test("--listen-socks alone replaces the mixed listener, and --listen keeps it", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using socks = home.start(["proxy", "--listen-socks", "127.0.0.1:0"]);
  assert.equal((await socks.ready).length, 1);
  assert.deepEqual((await status(home))[0].listeners.map(({ kind }: { kind: string }) => kind), ["socks"]);
  await end(socks);
  await using both = await home.instance(["--listen-socks", "127.0.0.1:0"]);
  assert.equal((await both.ready).length, 2);
  await end(both);
});

Deno.test("--route sends matching targets through an inline transport", async () => {
  await using home = await Household.open();
  await using target = new EchoServer();
  await using far = await home.instance(["--id", "far", "--route", "any=direct"]);
  await using near = await home.instance([
    "--id",
    "near",
    "--route",
    `127.0.0.1=proxy:socks5h://${await far.address()}`,
  ]);
  using conn = await throughSocks5(await near.address(), { host: "127.0.0.1", port: target.port });
  assert.equal(await exchange(conn, "twice"), "twice");
  assert.equal((await status(home, "--id", "far"))[0].connections.open, 1);
  conn.close();
  await end(near);
  await end(far);
});

Deno.test("--listen-unix is relative to the working directory, not to the configuration", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await Deno.mkdir(`${home.directory}/work`);
  const cwd = `${home.directory}/work`;
  await using instance = home.start(["proxy", "--listen-unix", "./postern.sock"], { cwd });
  assert.deepEqual(await instance.ready, [`unix:${cwd}/postern.sock`]);
  assert.ok((await Deno.lstat(`${cwd}/postern.sock`)).isSocket);
  await end(instance);
});

Deno.test("an instance removes its unix socket", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  const path = `${home.directory}/postern.sock`;
  await using instance = await home.instance(["--listen-unix", path]);
  assert.ok((await Deno.lstat(path)).isSocket);
  instance.kill("SIGTERM");
  assert.equal((await instance.ended).code, 0);
  await assert.rejects(Deno.lstat(path), Deno.errors.NotFound);
});
