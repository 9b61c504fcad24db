import assert from "node:assert/strict";
import { connectInstance } from "../../../src/instances/mod.ts";
import { runInstance } from "../../../src/instance/mod.ts";
import type { Conn } from "../../../src/core/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { settle } from "../../support/fake_clock.ts";
import { askSocks5, startInstance, take } from "../../support/memory_instance.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { type LoggedLine, recordingLog } from "../../support/recording_log.ts";

const path = "/config/config.yaml";
const basic = "listen: { mixed: 127.0.0.1:1 }\n";
const target = { host: "192.0.2.1", port: 80 };
const { signal } = new AbortController();

function worldWith(text = basic): MemoryWorld {
  return new MemoryWorld({ files: { [path]: text } });
}

/** A target that accepts one connection. */
function targetOf(world: MemoryWorld): { accepted: Promise<Conn | undefined> } {
  return { accepted: world.network.listen(target).accept() };
}

const events = (lines: readonly LoggedLine[], event: string) => lines.filter((line) => line.event === event);

/** Waits until a condition holds; fails if it never does. */
async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 200; turn++) {
    if (isSo()) return;
    await settle();
  }
  throw new Error(`the condition never held: ${isSo}`);
}

Deno.test("runInstance() releases everything when it stops", async () => {
  const world = worldWith();
  const instance = await startInstance(world, { readyFile: "/run/ready" });
  assert.deepEqual(instance.addresses, ["127.0.0.1:1"]);
  assert.equal(await world.files.readText("/run/ready"), "127.0.0.1:1\n");
  assert.equal((await world.files.info("/run/ready"))?.mode, 0o600);
  world.kill("SIGTERM");
  await instance.ended;
  assert.equal(await world.files.info("/run/ready"), undefined);
  assert.equal(world.listening, 0);
  assert.equal(world.clock.waiting, 0);
  for (const endpoint of [{ host: "127.0.0.1", port: 1 }, { path: "/run/me/default.sock" }]) {
    world.network.listen(endpoint).close();
  }
  assert.ok(await world.files.lock("/run/me/default.lock"));
});

Deno.test("runInstance() writes the ready file before the control socket reports ready", async () => {
  const world = worldWith();
  const seen: string[] = [];
  const listen = world.network.listen.bind(world.network);
  world.network.listen = (endpoint) => {
    if ("path" in endpoint) seen.push(endpoint.path);
    return listen(endpoint);
  };
  const replace = world.files.replace.bind(world.files);
  world.files.replace = async (path, content, options) => {
    await replace(path, content, options);
    seen.push(path);
  };
  const instance = await startInstance(world, { readyFile: "/run/ready" });
  assert.deepEqual(seen, ["/run/ready", "/run/me/default.sock"]);
  world.kill("SIGTERM");
  await instance.ended;
});

const failures = [
  {
    name: "a second address in use",
    prepare: (world: MemoryWorld) => {
      world.files.put(path, "listen: { mixed: 127.0.0.1:1, http: 127.0.0.1:2 }\n");
      world.network.listen({ host: "127.0.0.1", port: 2 });
    },
    error: /Cannot listen on 127\.0\.0\.1:2/,
  },
  {
    name: "a control socket that another instance uses as a listener",
    prepare: (world: MemoryWorld) => void world.network.listen({ path: "/run/me/default.sock" }),
    error: /another instance listens on \/run\/me\/default\.sock/,
  },
  {
    name: "a control socket that cannot be bound",
    prepare: (world: MemoryWorld) => {
      const listen = world.network.listen.bind(world.network);
      world.network.listen = (endpoint) => {
        if ("path" in endpoint) throw new PosternError("config", `Cannot listen on ${endpoint.path}`);
        return listen(endpoint);
      };
    },
    error: /Cannot listen on \/run\/me\/default\.sock/,
  },
  {
    name: "a ready file that cannot be written",
    prepare: (world: MemoryWorld) => {
      world.files.replace = () => Promise.reject(new PosternError("config", "Cannot write it"));
    },
    error: /Cannot write it/,
  },
];
for (const { name, prepare, error } of failures) {
  Deno.test(`runInstance() releases everything after ${name}`, async () => {
    const world = worldWith();
    prepare(world);
    await assert.rejects(startInstance(world, { readyFile: "/run/ready" }), error);
    assert.equal(await world.files.info("/run/ready"), undefined);
    assert.equal(world.listening, 0);
    assert.equal(world.clock.waiting, 0);
    world.network.listen({ host: "127.0.0.1", port: 1 }).close();
    const lock = await world.files.lock("/run/me/default.lock");
    assert.ok(lock, "the lock was released");
  });
}

Deno.test("runInstance() keeps an existing file when the ready file cannot be written", async () => {
  const world = worldWith();
  world.files.put("/run/ready", "another program\n");
  world.files.replace = () => Promise.reject(new PosternError("config", "Cannot write it"));
  await assert.rejects(startInstance(world, { readyFile: "/run/ready" }), /Cannot write it/);
  assert.equal(await world.files.readText("/run/ready"), "another program\n");
});

Deno.test("runInstance() refuses an id in use and leaves the other instance alone", async () => {
  const world = worldWith();
  const instance = await startInstance(world);
  world.files.put("/other.yaml", "listen: { mixed: 127.0.0.1:2 }\n");
  await assert.rejects(startInstance(world, { config: "/other.yaml" }), (error: PosternError) => {
    assert.match(error.message, /^Cannot start instance "default": it is already running$/);
    assert.equal(error.exit, 1);
    return true;
  });
  const client = await connectInstance(world, "default", { signal });
  assert.equal((await client.status({ signal })).state, "ready");
  world.kill("SIGINT");
  await instance.ended;
});

Deno.test("runInstance() refuses to start without routes", async () => {
  await assert.rejects(startInstance(new MemoryWorld()), /nothing would be routed/);
});

Deno.test("runInstance() reloads once for many signals", async () => {
  const world = worldWith();
  const instance = await startInstance(world);
  world.files.put(path, basic + "routes: [{ to: a.example, via: reject }]\n");
  for (let count = 0; count < 50; count++) world.kill("SIGHUP");
  // This request comes after all signals.
  const client = await connectInstance(world, "default", { signal });
  await client.reload({ signal });
  const reloads = events(instance.lines, "config.reloaded").length;
  assert.ok(reloads <= 3, `${reloads} reloads`);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() reloads once more for all signals during a reload", async () => {
  const world = worldWith();
  const instance = await startInstance(world);
  const gate = Promise.withResolvers<void>();
  const readTextIfThere = world.files.readTextIfThere.bind(world.files);
  let reads = 0;
  world.files.readTextIfThere = async (file, options) => {
    const text = await readTextIfThere(file, options);
    if (file === path && options !== undefined && ++reads === 1) await gate.promise;
    return text;
  };
  world.kill("SIGHUP");
  await until(() => reads === 1);
  world.files.put(path, `${basic}default: reject\n`);
  for (let count = 0; count < 5; count++) world.kill("SIGHUP");
  await settle();
  assert.equal(events(instance.lines, "config.reloaded").length, 0);
  gate.resolve();
  await until(() => events(instance.lines, "config.reloaded").length === 2);
  await settle();
  assert.deepEqual(events(instance.lines, "config.reloaded").map(({ changes }) => changes), [0, 1]);
  assert.equal((await askSocks5(world.network, 1, target)).code, 2);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() reloads when a catalogue changes or appears", async () => {
  const text = `${basic}routesFrom: /lists/big.txt\n`;
  const world = worldWith(text);
  world.files.put("/lists/big.txt", "192.0.2.1 direct\n");
  const instance = await startInstance(world);
  world.files.put("/lists/big.txt", "192.0.2.1 reject\n");
  await until(() => events(instance.lines, "config.reloaded").length === 1);
  assert.equal((await askSocks5(world.network, 1, target)).code, 2);
  world.files.put(path, `${basic}routesFrom: /more/list.txt\n`);
  await until(() => events(instance.lines, "config.refused").length === 1);
  assert.match(
    String(events(instance.lines, "config.refused")[0]?.reason),
    /config\.yaml:2:13: routesFrom\[0\]: Cannot read/,
  );
  world.files.put("/more/list.txt", "any direct\n");
  await until(() => events(instance.lines, "config.reloaded").length === 2);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() applies a changed password file, and logs the change", async () => {
  const world = worldWith(
    "listen: { mixed: 127.0.0.1:1, auth: { users: [{ name: me, passwordFile: pw }] } }\n",
  );
  world.files.put("/config/pw", "old\n");
  const instance = await startInstance(world);
  const answer = async (password: string) => {
    const conn = await world.network.connect({ host: "127.0.0.1", port: 1 }, { signal });
    await conn.write(Uint8Array.of(5, 1, 2, 1, 2, ...new TextEncoder().encode("me"), password.length));
    await conn.write(new TextEncoder().encode(password));
    const verdict = (await take(conn, 4))[3];
    await conn[Symbol.asyncDispose]();
    return verdict;
  };
  assert.deepEqual([await answer("old"), await answer("new")], [0, 1]);
  world.files.put("/config/pw", "new\n");
  await until(() => events(instance.lines, "config.reloaded").length === 1);
  assert.equal(events(instance.lines, "config.reloaded")[0]?.changes, 1);
  assert.equal(await answer("new"), 0);
  await world.files.remove("/config/pw");
  world.files.put("/config/stir", "");
  await until(() => events(instance.lines, "config.refused").length === 1);
  world.files.put("/config/pw", "third\n");
  await until(() => events(instance.lines, "config.reloaded").length === 2);
  assert.doesNotMatch(JSON.stringify(instance.lines), /third|old|"new/);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() keeps its routes while the file is missing, and reports that", async () => {
  const world = worldWith(`${basic}default: reject\n`);
  const instance = await startInstance(world);
  await world.files.remove(path);
  world.kill("SIGHUP");
  await until(() => events(instance.lines, "config.refused").length === 1);
  const client = await connectInstance(world, "default", { signal });
  assert.match((await client.status({ signal })).config.problem ?? "", /the file no longer exists/);
  assert.equal((await askSocks5(world.network, 1, target)).code, 2);
  world.files.put(path, `${basic}default: direct\n`);
  await until(() => events(instance.lines, "config.reloaded").length === 1);
  assert.equal((await client.status({ signal })).config.problem, undefined);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() notices a named file that returns unchanged", async () => {
  const named = "/named/postern.yaml";
  const text = `${basic}default: reject\n`;
  const world = new MemoryWorld({ files: { [named]: text } });
  const instance = await startInstance(world, { config: named });
  await world.files.remove(named);
  world.files.put("/named/stir", "");
  await until(() => events(instance.lines, "config.refused").length === 1);
  const client = await connectInstance(world, "default", { signal });
  assert.match((await client.status({ signal })).config.problem ?? "", /no such file/);
  world.files.put("/named/stir", "again");
  await settle();
  assert.equal(events(instance.lines, "config.refused").length, 1, "logged once");
  world.files.put(named, text);
  await until(() => events(instance.lines, "config.reloaded").length === 1);
  assert.equal((await client.status({ signal })).config.problem, undefined);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() logs a broken file once, and keeps its configuration", async () => {
  const world = worldWith();
  const instance = await startInstance(world);
  world.files.put(path, "listen: [\n");
  await until(() => events(instance.lines, "config.refused").length === 1);
  world.files.put("/config/other", "x");
  await settle();
  assert.equal(events(instance.lines, "config.refused").length, 1);
  world.network.listen(target);
  assert.equal((await askSocks5(world.network, 1, target)).code, 0);
  world.kill("SIGTERM");
  world.kill("SIGTERM");
  await until(instance.hasEnded);
});

Deno.test("runInstance() waits for live connections, and drops them after the limit", async () => {
  const world = worldWith("listen: { mixed: 127.0.0.1:1, limits: { drain: 5s } }\n");
  const { accepted } = targetOf(world);
  const instance = await startInstance(world, { readyFile: "/run/ready" });
  const { conn, code } = await askSocks5(world.network, 1, target);
  assert.equal(code, 0);
  world.kill("SIGTERM");
  await settle();
  assert.equal(await world.files.info("/run/ready"), undefined, "the ready file is gone once it drains");
  await world.clock.advance(4900);
  await conn.write(new Uint8Array([1, 2, 3]));
  assert.deepEqual([...await take(await accepted as Conn, 3)], [1, 2, 3]);
  assert.equal(instance.hasEnded(), false);
  await world.clock.advance(200);
  await instance.ended;
  const [done] = events(instance.lines, "conn.done");
  assert.deepEqual([done?.outcome, done?.up, done?.reason], ["closed", 3, "The instance stopped"]);
});

Deno.test("runInstance() drops clients without a request soon after the limit", async () => {
  const world = worldWith("listen: { mixed: 127.0.0.1:1, limits: { drain: 1s, handshake: 1h } }\n");
  const instance = await startInstance(world);
  const client = await world.network.connect({ host: "127.0.0.1", port: 1 }, { signal });
  await client.write(new Uint8Array([5]));
  world.kill("SIGTERM");
  await world.clock.advance(3000);
  await until(instance.hasEnded);
});

Deno.test("runInstance() does not wait after a second signal", async () => {
  const world = worldWith();
  targetOf(world);
  const instance = await startInstance(world);
  const { conn } = await askSocks5(world.network, 1, target);
  world.kill("SIGTERM");
  await settle();
  assert.equal(instance.hasEnded(), false);
  world.kill("SIGINT");
  await until(instance.hasEnded);
  await assert.rejects(take(conn, 1));
});

Deno.test("runInstance() binds nothing when it stops during a reload", async () => {
  const world = worldWith();
  const instance = await startInstance(world);
  const read = world.files.readText.bind(world.files);
  const gate = Promise.withResolvers<void>();
  world.files.readTextIfThere = async (asked) => {
    await gate.promise;
    return await read(asked);
  };
  world.files.put(path, "listen: { mixed: 127.0.0.1:2 }\n");
  world.kill("SIGHUP");
  await settle();
  world.kill("SIGTERM");
  await settle();
  gate.resolve();
  await until(instance.hasEnded);
  world.network.listen({ host: "127.0.0.1", port: 2 }).close();
  assert.deepEqual(events(instance.lines, "config.refused"), [], "the file is valid");
});

Deno.test("runInstance() rejects a reload because it is stopping", async () => {
  const world = worldWith();
  targetOf(world);
  const instance = await startInstance(world);
  await askSocks5(world.network, 1, target);
  const client = await connectInstance(world, "default", { signal });
  const read = world.files.readText.bind(world.files);
  const gate = Promise.withResolvers<void>();
  world.files.readTextIfThere = async (asked) => {
    await gate.promise;
    return await read(asked);
  };
  const refused = assert.rejects(client.reload({ signal }), {
    code: "refused",
    detail: "closing",
    exit: 3,
    message: "Cannot reload: the instance is stopping",
  });
  await settle();
  world.kill("SIGTERM");
  await settle();
  gate.resolve();
  await refused;
  world.kill("SIGTERM");
  await until(instance.hasEnded);
});

Deno.test("runInstance() with only SOCKS listeners offers no status page", async () => {
  const world = worldWith("listen: { socks: 127.0.0.1:1 }\n");
  const instance = await startInstance(world);
  const client = await connectInstance(world, "default", { signal });
  await assert.rejects(client.page({ signal }), { code: "config", exit: 1, message: /only SOCKS listeners/ });
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() leaves no ready file when it stops during a reload", async () => {
  const world = worldWith();
  const instance = await startInstance(world, { readyFile: "/run/ready" });
  const replace = world.files.replace.bind(world.files);
  const gate = Promise.withResolvers<void>();
  world.files.replace = async (path, content, options) => {
    await gate.promise;
    await replace(path, content, options);
  };
  world.kill("SIGHUP");
  await until(() => events(instance.lines, "config.reloaded").length === 1);
  await settle();
  world.kill("SIGTERM");
  await settle();
  gate.resolve();
  await until(instance.hasEnded);
  assert.equal(await world.files.info("/run/ready"), undefined);
});

Deno.test("runInstance() on port 80 has a PAC file for the command line", async () => {
  const world = worldWith("listen: { mixed: 127.0.0.1:80 }\ndefault: reject\n");
  const instance = await startInstance(world);
  const client = await connectInstance(world, "default", { signal });
  assert.match(await client.pac({ signal }), /"SOCKS5 127\.0\.0\.1:80"/);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() stops when idle, counted from the last connection", async () => {
  const world = worldWith();
  const { accepted } = targetOf(world);
  const instance = await startInstance(world, { idleExit: 60_000 });
  await world.clock.advance(50_000);
  const { conn } = await askSocks5(world.network, 1, target);
  await world.clock.advance(70_000);
  conn.abort();
  (await accepted)?.abort();
  await settle();
  await world.clock.advance(59_000);
  assert.equal(instance.hasEnded(), false);
  await world.clock.advance(1000);
  await until(instance.hasEnded);
  assert.equal(events(instance.lines, "instance.stopping")[0]?.why, "idle for 60 s");
});

const activated = { LISTEN_PID: "4711", LISTEN_FDS: "2", LISTEN_FDNAMES: "postern.socket:postern.socket" };

for (const onDemand of [undefined, { by: "systemd", name: "postern.socket" } as const]) {
  Deno.test(`runInstance() serves on sockets passed ${onDemand ? "by name" : "without a flag"}, also after a reload`, async () => {
    const world = new MemoryWorld({ files: { [path]: basic }, env: activated });
    world.network.handedOver.set(3, { host: "127.0.0.1", port: 5 });
    world.network.handedOver.set(4, { host: "::1", port: 5 });
    targetOf(world);
    const instance = await startInstance(world, onDemand ? { onDemand } : {});
    assert.deepEqual(instance.addresses, ["127.0.0.1:5", "[::1]:5"]);
    world.network.listen({ host: "127.0.0.1", port: 1 }).close();
    world.files.put(path, "listen: { mixed: 127.0.0.1:2 }\n");
    world.kill("SIGHUP");
    await until(() => events(instance.lines, "config.reloaded").length === 1);
    assert.equal((await askSocks5(world.network, 5, target)).code, 0);
    world.network.listen({ host: "127.0.0.1", port: 2 }).close();
    world.kill("SIGTERM");
    world.kill("SIGTERM");
    await world.clock.advance(1000);
    await until(instance.hasEnded);
    world.network.listen({ host: "127.0.0.1", port: 5 }).close();
  });
}

Deno.test("runInstance() closes passed sockets when it cannot start", async () => {
  const world = new MemoryWorld({ files: { [path]: basic }, env: { ...activated, LISTEN_FDS: "1" } });
  world.network.handedOver.set(3, { host: "127.0.0.1", port: 5 });
  await assert.rejects(startInstance(world, { overrides: { listen: ["127.0.0.1:6"] } }), {
    code: "usage",
    message: /Cannot use --listen/,
  });
  world.network.listen({ host: "127.0.0.1", port: 5 }).close();
  assert.equal(world.clock.waiting, 0);
});

Deno.test("runInstance() accepts an idle limit of weeks", async () => {
  const world = worldWith();
  const instance = await startInstance(world, { idleExit: 60 * 24 * 3_600_000 });
  await world.clock.advance(2 ** 31);
  assert.equal(instance.hasEnded(), false);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() stops on a control request, within the requested time", async () => {
  const world = worldWith();
  targetOf(world);
  const instance = await startInstance(world);
  await askSocks5(world.network, 1, target);
  const client = await connectInstance(world, "default", { signal });
  await client.stop({ drain: 2000, signal });
  await settle();
  assert.equal(instance.hasEnded(), false);
  await world.clock.advance(2000);
  await world.clock.advance(1000);
  await until(instance.hasEnded);
  await assert.rejects(connectInstance(world, "default", { signal }), { code: "refused", exit: 3 });
});

Deno.test("runInstance() stops immediately if its signal aborted during the start", async () => {
  const controller = new AbortController();
  controller.abort();
  const instance = await startInstance(worldWith(), {}, controller.signal);
  await instance.ended;
});

Deno.test("runInstance() stops on a signal while a transport of the command line is still prepared", async () => {
  const world = worldWith(`${basic}ssh: { config: /ssh }\n`);
  world.files.put("/ssh", 'Match exec "never ends"\n  Port 2222\n');
  const asked = Promise.withResolvers<void>();
  world.process.run = () => {
    asked.resolve();
    return new Promise(() => {});
  };
  const log = recordingLog();
  let isReady = false;
  const onReady = () => Promise.resolve(void (isReady = true));
  const overrides = { routes: ["x.example=ssh:jump"] };
  let hasEnded = false;
  const ended = runInstance(world, { version: "1", id: "default", log, overrides, onReady }, { signal })
    .finally(() => hasEnded = true);
  await asked.promise;
  world.kill("SIGTERM");
  await until(() => hasEnded);
  await ended;
  assert.deepEqual([isReady, world.network.open, world.listening], [false, 0, 0]);
  assert.deepEqual(log.lines.map(({ event }) => event), ["instance.stopping"]);
});
