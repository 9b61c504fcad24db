import assert from "node:assert/strict";
import { checkedId, connectInstance, InstanceLock, instances, logFile } from "../../../src/instances/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { startInstance } from "../../support/memory_instance.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { jsonAnswer, WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();
const config = "listen: { mixed: 127.0.0.1:0 }\n";
const lockFile = "/run/me/work.lock";

for (const id of ["default", "a", "work-2.b_c", "9", "x".repeat(40)]) {
  Deno.test(`checkedId() takes ${id.slice(0, 12)}`, () => assert.equal(checkedId(id), id));
}

for (const id of ["", ".", "..", "../x", "a/b", "a b", "-a", "a\n", "x".repeat(41), "ü"]) {
  Deno.test(`checkedId() refuses ${JSON.stringify(id.slice(0, 12))}`, () => {
    assert.throws(() => checkedId(id), { code: "usage" });
    assert.throws(() => logFile(new MemoryWorld(), id), { code: "usage" });
  });
}

Deno.test("InstanceLock.take() removes the files of a dead instance, and releases the lock", async () => {
  const world = new MemoryWorld({ files: { "/run/me/work.sock": "", "/run/me/work.control.json": "{}" } });
  {
    await using lock = await InstanceLock.take(world, "work");
    assert.equal(await world.files.info("/run/me/work.sock"), undefined);
    assert.equal(await world.files.info("/run/me/work.control.json"), undefined);
    await assert.rejects(InstanceLock.take(world, "work"), { code: "config", exit: 1 });
    await using _other = await InstanceLock.take(world, "other");
    assert.equal((await lock.listen()).token, undefined);
    assert.ok(await world.files.info("/run/me/work.sock"));
  }
  assert.equal(await world.files.info("/run/me/work.sock"), undefined);
  await using _again = await InstanceLock.take(world, "work");
});

Deno.test("InstanceLock.take() keeps the socket of a running instance, whatever it serves", async () => {
  const world = new MemoryWorld();
  await using _instance = world.network.listen({ path: "/run/me/work.sock" });
  await assert.rejects(InstanceLock.take(world, "work"), /another instance listens on \/run\/me\/work\.sock/);
  assert.ok(await world.files.info("/run/me/work.sock"));
  assert.ok(await world.files.lock(lockFile));
});

Deno.test("InstanceLock.take() refuses a socket path that is too long, before it creates a file", async () => {
  const world = new MemoryWorld();
  Object.assign(world.places, { runtime: `/${"deep/".repeat(25)}run` });
  world.files.privateDirectory = () => Promise.reject(new Error("unexpected directory"));
  await assert.rejects(
    InstanceLock.take(world, "work"),
    /^PosternError: Cannot use the socket path .*exceed the system's limit of 107$/,
  );
});

Deno.test("InstanceLock.take() releases the lock when it cannot remove old files", async () => {
  const world = new MemoryWorld();
  const { remove } = world.files;
  world.files.remove = () => Promise.reject(new PosternError("config", "Cannot remove it"));
  await assert.rejects(InstanceLock.take(world, "work"), /Cannot remove it/);
  world.files.remove = remove;
  assert.ok(await world.files.lock(lockFile));
});

Deno.test("InstanceLock releases the lock when it cannot remove its socket", async () => {
  const world = new MemoryWorld();
  const lock = await InstanceLock.take(world, "work");
  await lock.listen();
  world.files.remove = () => Promise.reject(new PosternError("config", "Cannot remove it"));
  await assert.rejects(lock[Symbol.asyncDispose](), /Cannot remove it/);
  assert.ok(await world.files.lock(lockFile));
});

Deno.test("InstanceLock.listen() stores a token in a private file on Windows", async () => {
  const world = new MemoryWorld({ platform: "windows" });
  await using lock = await InstanceLock.take(world, "work");
  const { listening, token } = await lock.listen();
  assert.match(token ?? "", /^[0-9a-f]{48}$/);
  const file = "/run/me/work.control.json";
  assert.equal((await world.files.info(file))?.mode, 0o600);
  const { endpoint } = listening;
  assert.deepEqual(JSON.parse(await world.files.readText(file)), {
    port: "port" in endpoint ? endpoint.port : undefined,
    token,
  });
});

for (const platform of ["linux", "windows"] as const) {
  Deno.test(`connectInstance() finds only the running instance on ${platform}`, async () => {
    const world = new MemoryWorld({ platform, files: { "/c.yaml": config } });
    const instance = await startInstance(world, { id: "work", config: "/c.yaml" });
    const client = await connectInstance(world, "work", { signal });
    assert.deepEqual(await client.hello({ signal }), {
      version: "1.2.3",
      id: "work",
      pid: 4711,
      protocol: 1,
    });
    await assert.rejects(connectInstance(world, "default", { signal }), {
      code: "refused",
      exit: 3,
      detail: "no_instance",
      message: 'Cannot query instance "default": it is not running',
    });
    await client.stop({ signal });
    await instance.ended;
    await assert.rejects(connectInstance(world, "work", { signal }), { exit: 3 });
  });
}

Deno.test("connectInstance() sends a newer instance only requests of every version", async () => {
  const world = new MemoryWorld();
  const hello = { version: "9.0.0", id: "work", pid: 1, protocol: 2 };
  await using _instance = new WebServer(
    world.network.listen({ path: "/run/me/work.sock" }),
    () => jsonAnswer(hello),
  );
  await assert.rejects(connectInstance(world, "work", { signal }), {
    code: "protocol",
    message: 'Cannot query instance "work": it runs a newer postern (9.0.0)',
    hint: "use that version of postern, or stop the instance: postern stop --id work",
  });
  const client = await connectInstance(world, "work", { signal, ofAnyVersion: true });
  assert.deepEqual(await client.hello({ signal }), hello);
});

Deno.test("connectInstance() ignores the socket of a dead instance", async () => {
  const world = new MemoryWorld({ files: { "/run/me/work.sock": "" } });
  await assert.rejects(connectInstance(world, "work", { signal }), { code: "refused", exit: 3 });
});

Deno.test("instances() lists running instances by id, and removes files of dead ones", async () => {
  const world = new MemoryWorld({
    files: {
      "/c.yaml": config,
      "/run/me/dead.lock": "",
      "/run/me/dead.sock": "",
      "/run/me/..lock": "",
      "/run/me/other": "",
    },
  });
  // The file locks remove the other lock files; a memory world has none.
  const started = [];
  for (const id of ["work", "b"]) {
    world.files.put(`/run/me/${id}.lock`, "");
    started.push(await startInstance(world, { id, config: "/c.yaml" }));
  }
  world.files.put("/run/me", "");
  const found = await instances(world, { signal });
  assert.deepEqual(found.map(({ id, control }) => [id, control]), [
    ["b", "/run/me/b.sock"],
    ["work", "/run/me/work.sock"],
  ]);
  assert.equal(await world.files.info("/run/me/dead.sock"), undefined);
  world.kill("SIGTERM");
  for (const { ended } of started) await ended;
});

Deno.test("instances() keeps the socket of a starting instance", async () => {
  const world = new MemoryWorld({ files: { "/run/me": "", [lockFile]: "", "/run/me/work.sock": "" } });
  using _lock = await world.files.lock(lockFile);
  assert.deepEqual(await instances(world, { signal }), []);
  assert.ok(await world.files.info("/run/me/work.sock"));
});

for (const isEnding of [true, false]) {
  Deno.test(`instances() ${isEnding ? "omits a stopping instance" : "reports a failing instance"}`, async () => {
    const world = new MemoryWorld({ files: { [lockFile]: "", "/run/me/work.sock": "", "/run/me": "" } });
    const fault = isEnding
      ? new PosternError("unreachable", "Cannot read: connection reset", { detail: "reset" })
      : new PosternError("not_allowed", "Cannot connect");
    world.network.faults.set("/run/me/work.sock", fault);
    if (isEnding) assert.deepEqual(await instances(world, { signal }), []);
    else await assert.rejects(instances(world, { signal }), fault);
  });
}

Deno.test("instances() lists the others when one instance does not answer", async () => {
  const world = new MemoryWorld({ files: { [lockFile]: "", "/run/me/work.sock": "", "/run/me": "" } });
  world.network.faults.set("/run/me/work.sock", new PosternError("timeout", "Cannot wait any longer"));
  const silent: string[] = [];
  assert.deepEqual(await instances(world, { signal, unanswered: (id) => void silent.push(id) }), []);
  assert.deepEqual(silent, ["work"]);
});

const former = "/tmp/postern-1000";

/** A world with a second place, where an older postern keeps its instances. */
function withFormerPlace(files: Readonly<Record<string, string>> = {}): MemoryWorld {
  const world = new MemoryWorld({ files });
  Object.assign(world.places, { formerRuntime: former });
  return world;
}

function answering(world: MemoryWorld, path: string, id: string): WebServer {
  return new WebServer(
    world.network.listen({ path }),
    () => jsonAnswer({ version: "0.1.0", id, pid: 7, protocol: 1 }),
  );
}

for (const path of ["/run/me", "/run/me/work.sock"]) {
  Deno.test(`connectInstance() does not connect if another user can write to ${path}`, async () => {
    const world = new MemoryWorld({ files: { [lockFile]: "" } });
    await using _stranger = answering(world, "/run/me/work.sock", "work");
    world.files.distrusted.set(path, "it belongs to another user (65534)");
    await assert.rejects(connectInstance(world, "work", { signal }), {
      code: "config",
      detail: "untrusted",
      message: new RegExp(`"${path}": it belongs to another user \\(65534\\)$`),
    });
    const told: string[] = [];
    const asked = instances(world, { signal, unanswered: (id, error) => void told.push(`${id}: ${error}`) });
    if (path === "/run/me") await assert.rejects(asked, { detail: "untrusted" });
    else {
      assert.deepEqual(await asked, []);
      assert.match(told.join(), /^work: PosternError: Cannot trust the socket/);
    }
    assert.deepEqual(world.network.connects, []);
  });
}

Deno.test("connectInstance() finds and lists an instance of an older postern", async () => {
  const world = withFormerPlace({ [`${former}/work.lock`]: "" });
  await using _earlier = answering(world, `${former}/work.sock`, "work");
  assert.equal((await (await connectInstance(world, "work", { signal })).hello({ signal })).pid, 7);
  const found = await instances(world, { signal });
  assert.deepEqual(found.map(({ id, control }) => [id, control]), [["work", `${former}/work.sock`]]);
});

Deno.test("connectInstance() ignores the former place if another user created it, and reports that", async () => {
  const world = withFormerPlace({ [`${former}/work.lock`]: "" });
  await using _stranger = answering(world, `${former}/work.sock`, "work");
  world.files.distrusted.set(former, "it belongs to another user (65534)");
  await assert.rejects(connectInstance(world, "work", { signal }), {
    code: "refused",
    exit: 3,
    detail: "no_instance",
    hint: `remove it: rm "${former}"`,
  });
  const ignored: string[] = [];
  assert.deepEqual(
    await instances(world, { signal, ignored: ({ message }) => void ignored.push(message) }),
    [],
  );
  assert.deepEqual(ignored, [`Cannot trust the directory "${former}": it belongs to another user (65534)`]);
  assert.deepEqual(world.network.connects, []);
  // It does not prevent a start either.
  await using _instance = await InstanceLock.take(world, "work");
});

Deno.test("connectInstance() ignores the former place without permission to read it", async () => {
  const world = withFormerPlace();
  const { owned } = world.files;
  world.files.owned = (path, kind) =>
    path === former
      ? Promise.reject(new PosternError("not_allowed", "missing permission --allow-read"))
      : owned.call(world.files, path, kind);
  await assert.rejects(connectInstance(world, "work", { signal }), {
    detail: "no_instance",
    message: 'Cannot query instance "work": it is not running',
    hint: "list running instances: postern status",
  });
  const ignored = () => assert.fail("unexpected report");
  assert.deepEqual(await instances(world, { signal, ignored }), []);
});

Deno.test("InstanceLock.take() refuses the id of an older postern's instance", async () => {
  const world = withFormerPlace({ [`${former}/work.lock`]: "" });
  {
    using _lock = await world.files.lock(`${former}/work.lock`);
    await assert.rejects(InstanceLock.take(world, "work"), /instance "work": it is already running/);
  }
  await using _instance = await InstanceLock.take(world, "work");
});

Deno.test("instances() takes the id from the socket, not from the answer", async () => {
  const world = new MemoryWorld({ files: { [lockFile]: "" } });
  await using _odd = answering(world, "/run/me/work.sock", "../../etc/passwd");
  const [found] = await instances(world, { signal });
  assert.deepEqual([found?.id, found?.control], ["work", "/run/me/work.sock"]);
});

for (const listen of ["192.0.2.7:12000", "127.0.0.1:12000"]) {
  const isNamed = listen.startsWith("192.");
  Deno.test(`connectInstance() ${isNamed ? "accepts" : "refuses"} a proxy off loopback if our configuration listens on ${listen}`, async () => {
    const world = new MemoryWorld({
      files: { [lockFile]: "", "/config/config.yaml": `listen: { mixed: "${listen}", allowOpen: true }\n` },
    });
    const environment = { noProxy: [], notes: [], needsAuth: false };
    const urls = { http: "http://192.0.2.7:12000", socks: "socks5h://192.0.2.7:12000" };
    await using _instance = new WebServer(
      world.network.listen({ path: "/run/me/work.sock" }),
      ({ url }) =>
        jsonAnswer(
          url.pathname === "/v1/env"
            ? { ...environment, ...urls }
            : { version: "0.1.0", id: "work", pid: 7, protocol: 1 },
        ),
    );
    const client = await connectInstance(world, "work", { signal });
    if (isNamed) assert.equal((await client.env({ signal })).http, urls.http);
    else {await assert.rejects(client.env({ signal }), {
        code: "not_allowed",
        message: /names 192\.0\.2\.7:12000/,
      });}
  });
}
