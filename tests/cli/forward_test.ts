import assert from "node:assert/strict";
import { Household, type Instance } from "../support/postern_process.ts";
import { RawClient } from "../support/raw_client.ts";
import { EchoServer, exchange } from "./echo_server.ts";

const plain = "default: direct\n";

/** Sends a text through a forward and returns the answer. */
async function answered(address: string, text = "hello"): Promise<string> {
  using client = await RawClient.connect(address);
  return await exchange(client, text);
}

/** Connects to a unix socket, and returns the answer to a text. */
async function answeredAt(path: string, text = "hello"): Promise<string> {
  using conn = await Deno.connect({ transport: "unix", path });
  await conn.write(new TextEncoder().encode(text));
  const into = new Uint8Array(text.length);
  const count = await conn.read(into) ?? 0;
  return new TextDecoder().decode(into.subarray(0, count));
}

async function stop(instance: Instance): Promise<void> {
  instance.kill("SIGTERM");
  assert.equal((await instance.ended).code, 0, instance.stderr);
}

/** The first loopback port of a `ready` line. */
async function forwardOf(instance: Instance): Promise<string> {
  const found = (await instance.ready).find((address) => address.startsWith("forward:127."));
  assert.ok(found, instance.stdout);
  return found.replace("forward:", "");
}

Deno.test("listen.forward: a reload adds and removes forwards and keeps a live connection, and status shows them", async () => {
  await using home = await Household.open();
  await using first = new EchoServer();
  await using second = new EchoServer();
  const forwards = (list: string) => home.configure(`${plain}listen: { forward: [${list}] }\n`);
  const one = `{ listen: "127.0.0.1:0", target: "${first.address}", name: echo }`;
  await forwards(one);
  await using instance = await home.instance();
  const address = await forwardOf(instance);
  await instance.says(/forward\.shared reason="any local user can connect to a TCP forward"/);
  using live = await RawClient.connect(address);
  assert.equal(await exchange(live, "begun"), "begun");

  const connections = await home.run(["connections"]);
  assert.match(connections.stdout, new RegExp(`forward echo +${first.address} +direct`));
  const { stdout: explained } = await home.run(["explain", address]);
  assert.match(
    explained,
    new RegExp(`forward {2}postern forwards ${address} to ${first.address} \\(echo\\)`),
  );

  await forwards(`${one}, { listen: "127.0.0.1:0", target: "${second.address}" }`);
  assert.equal((await home.run(["reload"])).code, 0);
  const [status] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  const shown = status.listeners.filter(({ kind }: { kind: string }) => kind === "forward");
  assert.deepEqual(
    shown.map(({ target, name }: { target: string; name?: string }) => [target, name]),
    [[first.address, "echo"], [second.address, undefined]],
  );
  assert.equal(shown[0].address, address);
  assert.equal(await answered(shown[1].address), "hello");
  assert.equal(await exchange(live, "still"), "still");
  assert.match(
    (await home.run(["status"])).stdout,
    / {2}forwards .* to .* \(echo\)\n(.*\n)+.*any local user can/,
  );

  await forwards("");
  assert.equal((await home.run(["reload"])).code, 0);
  await assert.rejects(RawClient.connect(address));
  assert.equal(await exchange(live, "after"), "after");
  live[Symbol.dispose]();
  await stop(instance);
});

Deno.test("config check reports a forward on the address of another listener", async () => {
  await using home = await Household.open();
  await home.configure(`${plain}listen:
  mixed: 127.0.0.1:12000
  forward:
    127.0.0.1:5432: a.example:1
    localhost:5432: b.example:1
    127.0.0.1:12000: c.example:1
`);
  const { code, stderr, stdout } = await home.run(["config", "check"]);
  assert.equal(code, 4, stdout + stderr);
  assert.match(
    stdout + stderr,
    /config\.yaml:6.*must be a free address: listen\.forward already uses localhost:5432/,
  );
  assert.match(stdout + stderr, /config\.yaml:7.*must be a free address: listen\.mixed already uses/);
});

Deno.test("proxy -L forwards in addition to the listeners of the file, also from a unix socket to a private one", async () => {
  await using home = await Household.open();
  await using echo = new EchoServer();
  await home.configure(plain);
  await using behind = home.start([
    "proxy",
    "--listen",
    "127.0.0.1:0",
    "--id",
    "behind",
    "-L",
    `./b.sock:${echo.address}`,
  ]);
  await behind.ready;
  await using instance = await home.instance([
    ...["-L", `127.0.0.1:0:${echo.address}`, "--forward", `${home.directory}/a.sock:unix:b.sock`],
  ]);
  const ready = await instance.ready;
  assert.equal(ready.length, 3);
  assert.equal(ready[2], `forward:unix:${home.directory}/a.sock`);
  assert.equal(await answered(await forwardOf(instance)), "hello");
  const socket = `${home.directory}/a.sock`;
  assert.equal(((await Deno.stat(socket)).mode ?? 0) & 0o777, 0o600);
  assert.equal(await answeredAt(socket), "hello");
  await instance.says(/conn\.done .*protocol=forward target=unix:\S*b\.sock transport=direct .*outcome=done/);
  // Any other user could now replace the answers of that socket.
  await Deno.chmod(`${home.directory}/b.sock`, 0o666);
  await assert.rejects(async () => assert.equal(await answeredAt(socket), "hello"));
  await instance.says(/target=unix:\S*b\.sock .*reason=".*other users have access to it/);
  await stop(instance);
  await stop(behind);
  await assert.rejects(Deno.stat(socket), Deno.errors.NotFound);
});

Deno.test("a forward never reaches the control sockets", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  const control = `${home.places.runtime}/default.sock`;
  await using instance = await home.instance(["-L", `127.0.0.1:0:${control}`]);
  using client = await RawClient.connect(await forwardOf(instance));
  await assert.rejects(async () => {
    await client.send("GET /v1/hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert.notEqual(await client.restText(), "");
  });
  await instance.says(/outcome=not_allowed .*control sockets are in that directory/);
  await stop(instance);
});

Deno.test("postern forward uses the running instance, and ends with the command", async () => {
  await using home = await Household.open();
  await using echo = new EchoServer();
  await home.configure(plain);
  await using instance = await home.instance();
  const words = ["forward", `127.0.0.1:0:${echo.address}`, "--ready-file", "ready.txt"];
  await using command = home.start(words);
  const [address = ""] = await command.ready;
  await command.says(/forwards \S+ to \S+ through instance "default"\n.*any local user can connect/);
  assert.equal(await Deno.readTextFile(`${home.directory}/ready.txt`), `${address}\n`);
  using live = await RawClient.connect(address);
  assert.equal(await exchange(live, "hello"), "hello");
  const { stdout } = await home.run(["status"]);
  assert.match(stdout, new RegExp(`forwards {2}${address} to ${echo.address} \\(for postern forward\\)`));
  assert.equal((await home.run(["reload"])).code, 0);
  assert.equal(await exchange(live, "still"), "still");

  const taken = await home.run(["forward", `${address}:${echo.address}`]);
  assert.equal(taken.code, 1, taken.stderr);
  assert.match(taken.stderr, /this instance already listens on .*\n.*end the command: postern forward/);

  command.kill("SIGINT");
  assert.equal((await command.ended).code, 130, command.stderr);
  // The address is free at once, and the connection has ended.
  await assert.rejects(RawClient.connect(address));
  await assert.rejects(async () => assert.equal(await exchange(live, "gone"), "gone"));
  await assert.rejects(Deno.stat(`${home.directory}/ready.txt`), Deno.errors.NotFound);
  await using again = home.start(["forward", `${address}:${echo.address}`]);
  assert.deepEqual(await again.ready, [address]);
  // From source, this instance may not write there, and the command listens by itself.
  await using local = home.start(["forward", `./f.sock:${echo.address}`]);
  assert.deepEqual(await local.ready, [`unix:${home.directory}/f.sock`]);
  assert.equal(await answeredAt(`${home.directory}/f.sock`), "hello");
  local.kill("SIGINT");
  assert.equal((await local.ended).code, 130, local.stderr);
  await assert.rejects(Deno.stat(`${home.directory}/f.sock`), Deno.errors.NotFound);
  again.kill("SIGKILL");
  await again.ended;
  await instance.says(
    new RegExp(`listener\\.closed address=${address}\n(.*\n)*.*listener\\.closed address=${address}`),
  );
  await stop(instance);
});

Deno.test("postern forward says that its instance has stopped", async () => {
  await using home = await Household.open();
  await home.configure(plain);
  await using instance = await home.instance();
  await using command = home.start(["forward", "svc/db", ":5432", "-n", "shop"]);
  await command.says(/forwards 127\.0\.0\.1:\d+ to db\.shop\.svc:5432 through/);
  await stop(instance);
  const { code, stderr } = await command.ended;
  assert.equal(code, 1);
  assert.match(
    stderr,
    /error: Cannot keep the forwards: instance "default" has stopped\n.*hint: run the command again/,
  );
});

Deno.test("postern forward forwards by itself without an instance, by the rules of the file", async () => {
  await using home = await Household.open();
  await using echo = new EchoServer();
  await home.configure("routes: [{ to: no.example, via: reject }]\n");
  await using command = home.start([
    ...[
      "forward",
      "-L",
      `127.0.0.1:0:${echo.address}`,
      "127.0.0.1:0:no.example:1",
      "./f.sock:" + echo.address,
      "127.0.0.1:0:~/db.sock",
    ],
  ]);
  const [works = "", rejected = "", socket] = await command.ready;
  assert.match(command.stderr, /^postern: instance "default" is not running: forwarding by itself\n/);
  await command.says(new RegExp(` to unix:${home.directory}/db\\.sock\n`));
  assert.equal(socket, `unix:${home.directory}/./f.sock`.replace("/./", "/"));
  assert.equal(await answered(works), "hello");
  assert.equal(await answeredAt(`${home.directory}/f.sock`), "hello");
  await assert.rejects(async () => assert.equal(await answered(rejected), "hello"));
  // Another instance is not in its way, and does not see its listeners.
  await using instance = await home.instance();
  assert.doesNotMatch((await home.run(["status"])).stdout, /forwards/);
  await stop(instance);
  command.kill("SIGTERM");
  assert.equal((await command.ended).code, 143, command.stderr);
  await assert.rejects(Deno.stat(`${home.directory}/f.sock`), Deno.errors.NotFound);
});

Deno.test("postern forward refuses what it cannot forward", async () => {
  await using home = await Household.open();
  const cases: readonly { readonly words: readonly string[]; readonly says: RegExp }[] = [
    { words: [], says: /missing argument: FORWARD/ },
    { words: ["pod/web", "80:80"], says: /routes names of Services.*\n.*svc\/NAME/ },
    { words: ["0.0.0.0:0:db.example:1"], says: /must not be open to the network.*--allow-open/ },
    { words: ["--id", "none", "1:db.example:1"], says: /Cannot query instance "none": it is not running/ },
    {
      words: ["--id", "none", "--config", "x.yaml", "1:db.example:1"],
      says: /Cannot use --id with --config/,
    },
  ];
  const readyFile = `${home.directory}/ready.txt`;
  await Deno.writeTextFile(readyFile, "of another command\n");
  for (const { words, says } of cases) {
    const { code, stderr, stdout } = await home.run(["forward", "--ready-file", readyFile, ...words]);
    assert.notEqual(code, 0);
    assert.equal(stdout, "");
    assert.match(stderr, says);
    assert.equal(await Deno.readTextFile(readyFile), "of another command\n");
  }
});
