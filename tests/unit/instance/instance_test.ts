import assert from "node:assert/strict";
import { loadConfig, tryConfig } from "../../../src/plan/mod.ts";
import { Instance } from "../../../src/instance/mod.ts";
import type { Conn, Dialed } from "../../../src/core/mod.ts";
import type { Needs } from "../../../src/world/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { settle } from "../../support/fake_clock.ts";
import type { MemoryConn } from "../../support/memory_conn.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { recordingLog } from "../../support/recording_log.ts";

const target = { host: "192.0.2.1", port: 80 };
const request = { target, client: "127.0.0.1:5", protocol: "socks5" };
const { signal } = new AbortController();
const basic = "listen: { mixed: 127.0.0.1:1 }\n";

async function instanceOf(text = basic, world = new MemoryWorld()) {
  const log = recordingLog();
  const pages = () => () => Promise.resolve({ status: 404, fields: [], body: "" });
  const instance = new Instance(world, await loadConfig(world, { text }), {
    version: "1",
    id: "x",
    log,
    pages,
  });
  const reload = (text: string) =>
    instance.reload(async (apply) => await apply(await tryConfig(world, { text })));
  return { instance, world, log, reload };
}

Deno.test("Instance.dial() counts live and ended connections", async () => {
  const { instance, world } = await instanceOf();
  await using _instance = instance;
  world.network.listen(target);
  const dialed = await instance.dial(request, { signal });
  dialed.tally.up = 5;
  dialed.tally.down = 6;
  for (let look = 0; look < 2; look++) assert.deepEqual(instance.status().bytes, { up: 5, down: 6 });
  assert.deepEqual(instance.status().connections, { open: 1, total: 1, failed: 0 });
  dialed.finish("done");
  assert.deepEqual(instance.status().bytes, { up: 5, down: 6 });
  assert.deepEqual(instance.status().connections, { open: 0, total: 1, failed: 0 });
});

Deno.test("Instance.dial() fails with a message about the limit when nothing answers", async () => {
  const { instance, world } = await instanceOf("listen: { mixed: 127.0.0.1:1, limits: { dial: 3s } }\n");
  await using _instance = instance;
  world.network.faults.set("192.0.2.1", "silent");
  const failed = assert.rejects(instance.dial(request, { signal }), {
    code: "timeout",
    message: "Cannot reach 192.0.2.1:80: no answer within 3 s",
  });
  await world.clock.advance(3300);
  await failed;
  assert.deepEqual(instance.status().connections, { open: 0, total: 1, failed: 1 });
  const [direct] = instance.status().transports;
  assert.deepEqual([direct?.name, direct?.dials, direct?.failures], ["direct", 1, 1]);
});

Deno.test("Instance.dial() does not dial for a client that has left", async () => {
  const { instance, world } = await instanceOf();
  await using _instance = instance;
  world.network.listen(target);
  const reason = new PosternError("cancelled", "The client has left");
  await assert.rejects(instance.dial(request, { signal: AbortSignal.abort(reason) }), reason);
  assert.equal(world.network.open, 0);
  assert.deepEqual(instance.status().connections, { open: 0, total: 1, failed: 1 });
  assert.equal(instance.status().transports[0]?.failures, 0, "the transport did not fail");
});

Deno.test("Instance.dial() drops a connection that was closed during the dial", async () => {
  const { instance, world } = await instanceOf();
  await using _instance = instance;
  world.network.listen(target);
  const connect = world.network.connect.bind(world.network);
  world.network.connect = async (endpoint, options) => {
    const conn = await connect(endpoint, options);
    instance.connections.closeAll(new PosternError("cancelled", "Closed"));
    return conn;
  };
  await assert.rejects(instance.dial(request, { signal }), { message: "Closed" });
  const [conn] = world.network.conns as [MemoryConn];
  assert.equal(conn.isClosed, true);
  assert.equal(instance.connections.counts.open, 0);
});

Deno.test("Instance.dial() rejects a loop", async () => {
  const { instance, world } = await instanceOf();
  await using _instance = instance;
  await instance.open();
  const connect = world.network.connect.bind(world.network);
  world.network.connect = async (endpoint, options) => {
    const conn = await connect(endpoint, options);
    return Object.defineProperty(conn, "peer", { value: "127.0.0.1:1" });
  };
  const own = { ...request, target: { host: "127.0.0.1", port: 1 } };
  await assert.rejects(instance.dial(own, { signal }), {
    code: "not_allowed",
    message: /this door itself, a loop/,
  });
});

Deno.test("Instance.reload() returns the changes", async () => {
  const { instance, reload } = await instanceOf();
  await using _instance = instance;
  await instance.open();
  assert.deepEqual(await reload(basic), { changed: false, changes: [], warnings: [] });
  const { changes } = await reload(
    "listen: { http: 127.0.0.1:1, socks: 127.0.0.1:2, limits: { dial: 1s } }\n" +
      "transports: { corp: { proxy: { url: http://10.0.0.1:3128 } } }\n" +
      "routes: [{ to: a.example, via: corp }]\ndefault: reject\n",
  );
  assert.deepEqual(changes, [
    "a.example now goes to corp",
    "everything else now goes to reject (was direct)",
    "transport corp is new",
    "the limit dial is 1000 now (was 20000)",
    "now listens on 127.0.0.1:2",
    "127.0.0.1:1 is now http (was mixed)",
  ]);
});

Deno.test("Instance.reload() reports every setting that it applies", async () => {
  const { instance, reload } = await instanceOf();
  await using _instance = instance;
  await instance.open();
  const texts = [
    {
      text: "listen: { mixed: { address: 127.0.0.1:1, only: [a.example] }, dns: 127.0.0.1:53 }\n",
      changes: ["127.0.0.1:1 now allows other targets", "now answers DNS on 127.0.0.1:53"],
    },
    {
      text: `${basic}dns: { fakeRange: 198.18.0.0/15 }\nssh: { connectTimeout: 9s }\n`,
      changes: [
        "ssh has changed",
        "dns has changed",
        "127.0.0.1:1 now allows every target",
        "no longer answers DNS on 127.0.0.1:53",
      ],
    },
    { text: `${basic}dns: { fakeRange: 198.18.0.0/15 }\nssh: { connectTimeout: 9s }\n`, changes: [] },
  ];
  for (const { text, changes } of texts) {
    const report = await reload(text);
    assert.deepEqual([report.changed, report.changes], [changes.length > 0, changes]);
  }
});

Deno.test("Instance.reload() runs reloads one at a time", async () => {
  const { instance, world } = await instanceOf();
  await using _instance = instance;
  await instance.open();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const reload = (name: string, wait: Promise<void>) =>
    instance.reload(async (apply) => {
      order.push(`${name} begins`);
      await wait;
      order.push(`${name} ends`);
      return await apply(await tryConfig(world, { text: `${basic}default: ${name}\n` }));
    });
  const first = reload("reject", gate.promise);
  const second = reload("direct", Promise.resolve());
  await settle();
  gate.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(order, ["reject begins", "reject ends", "direct begins", "direct ends"]);
  assert.equal(instance.plan.router.fallback, "direct");
});

Deno.test("Instance.reload() requested while the instance opens runs afterwards", async () => {
  const text = "listen: { mixed: 127.0.0.1:1, dns: 127.0.0.1:53 }\n";
  const { instance, world, reload } = await instanceOf(text);
  await using _instance = instance;
  const gate = Promise.withResolvers<void>();
  const datagrams = world.network.datagrams.bind(world.network);
  world.network.datagrams = async (endpoint) => {
    await gate.promise;
    return await datagrams(endpoint);
  };
  const both = Promise.all([instance.open(), reload(text)]);
  await settle();
  gate.resolve();
  const [, report] = await both;
  assert.equal(report.changed, false);
  assert.equal(instance.status().config.problem, undefined);
  assert.equal(instance.phase, "ready");
});

Deno.test("Instance.reload() reads nothing once the instance closes", async () => {
  const { instance } = await instanceOf();
  await using _instance = instance;
  await instance.open();
  await instance.drain();
  let isAsked = false;
  const load = () => {
    isAsked = true;
    return Promise.reject(new Error("unexpected read"));
  };
  await assert.rejects(instance.reload(load), {
    code: "refused",
    exit: 3,
    message: "Cannot reload: the instance is stopping",
  });
  assert.equal(isAsked, false);
  assert.equal(instance.status().config.problem, undefined);
});

/** Resolves when the transport with this name is disposed. */
function watchDisposal(instance: Instance, name: string): () => boolean {
  const transport = instance.plan.transports.byName.get(name)?.transport;
  assert.ok(transport);
  let isDisposed = false;
  const dispose = transport[Symbol.asyncDispose].bind(transport);
  transport[Symbol.asyncDispose] = () => {
    assert.equal(isDisposed, false, "disposed twice");
    isDisposed = true;
    return dispose();
  };
  return () => isDisposed;
}

const withCorp = `${basic}transports: { corp: { proxy: { url: http://10.0.0.1:3128 } } }\n` +
  "routes: [{ to: a.example, via: corp }]\n";

/** A connection through the proxy of `withCorp`, which accepts once. */
async function dialThroughCorp(instance: Instance, { network }: MemoryWorld): Promise<Dialed> {
  const accepted = network.listen({ host: "10.0.0.1", port: 3128 }).accept();
  const [dialed] = await Promise.all([
    instance.dial({ ...request, target: { host: "a.example", port: 80 } }, { signal }),
    accepted.then((conn) => conn?.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"))),
  ]);
  return dialed;
}

Deno.test("Instance.reload() disposes a dropped transport after its last connection", async () => {
  const { instance, world, reload } = await instanceOf(withCorp);
  await using _instance = instance;
  await instance.open();
  world.network.listen(target);
  const isDisposed = watchDisposal(instance, "corp");
  const through = await dialThroughCorp(instance, world);
  const other = await instance.dial(request, { signal });
  await reload(basic);
  await settle();
  assert.equal(isDisposed(), false);
  const later = await instance.dial(request, { signal });
  through.finish("done");
  await settle();
  assert.equal(isDisposed(), true);
  other.finish("done");
  later.finish("done");
});

Deno.test("Instance disposes each dropped transport once when it is disposed itself", async () => {
  const { instance, world, reload } = await instanceOf(withCorp);
  await instance.open();
  const dialed = await dialThroughCorp(instance, world);
  const isDisposed = watchDisposal(instance, "corp");
  await reload(basic);
  await instance[Symbol.asyncDispose]();
  assert.equal(isDisposed(), true);
  dialed.finish("done");
  await settle();
});

Deno.test("Instance.reload() changes nothing when an address is in use, and status reports why", async () => {
  const { instance, world, log, reload } = await instanceOf();
  await using _instance = instance;
  await instance.open();
  world.network.listen({ host: "127.0.0.1", port: 2 });
  const before = instance.plan;
  await assert.rejects(reload("listen: { mixed: 127.0.0.1:2 }\ndefault: reject\n"), { code: "config" });
  assert.equal(instance.plan, before);
  assert.match(instance.status().config.problem ?? "", /Cannot listen on 127\.0\.0\.1:2/);
  assert.equal(log.lines.filter(({ event }) => event === "config.refused").length, 1);
  await reload(basic);
  assert.equal(instance.status().config.problem, undefined);
});

Deno.test("Instance.reload() that fails with another range keeps the assigned addresses in their file", async () => {
  const withRange = (range: string, port: number) =>
    `listen: { mixed: 127.0.0.1:${port} }\ndns: { fakeRange: ${range} }\n`;
  const file = "/state/dns/x.addresses";
  const world = new MemoryWorld({ files: { [file]: "198.18.0.7 early.example\n" } });
  const { instance, reload } = await instanceOf(withRange("198.18.0.0/15", 1), world);
  await using _instance = instance;
  await instance.open();
  world.network.listen({ host: "127.0.0.1", port: 2 });
  for (const dns of ["", "listen: { dns: 127.0.0.1:2 }\n"]) {
    const text = dns === "" ? withRange("10.9.8.0/24", 2) : `${dns}dns: { fakeRange: 10.9.8.0/24 }\n`;
    await assert.rejects(reload(text), { detail: "in_use" });
    assert.match(await world.files.readText(file), /^198\.18\.0\.7 early\.example$/m, text);
  }
  const { target } = await instance.explain({ host: "198.18.0.7", port: 80 }, { dial: false, signal });
  assert.equal(target, "early.example:80");
});

Deno.test("Instance.reload() routes the next request of an HTTP client with the new plan", async () => {
  const { instance, world, reload } = await instanceOf();
  await using _instance = instance;
  await instance.open();
  const accepted = world.network.listen(target).accept();
  await using client: Conn = await world.network.connect({ host: "127.0.0.1", port: 1 }, { signal });
  const into = new Uint8Array(1000);
  const text = (bytes: number | null) => new TextDecoder().decode(into.subarray(0, bytes ?? 0));
  const status = async () => text(await client.read(into)).slice(9, 12);
  const get = new TextEncoder().encode("GET http://192.0.2.1/ HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n");
  await client.write(get);
  const origin = await accepted;
  assert.ok(origin);
  await origin.read(into);
  await origin.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  assert.equal(await status(), "200");
  await reload(`${basic}routes: [{ to: 192.0.2.1, via: reject }]\n`);
  await client.write(get);
  assert.equal(await status(), "403");
});

Deno.test("Instance restricts a listener with `only` to its targets", async () => {
  const world = new MemoryWorld();
  const { instance } = await instanceOf(
    "listen: { http: { address: 127.0.0.1:1, only: [192.0.2.0/24] } }\n",
    world,
  );
  await using _instance = instance;
  await instance.open();
  world.network.listen(target);
  world.network.listen({ host: "198.51.100.1", port: 80 });
  const status = async (host: string) => {
    await using conn: Conn = await world.network.connect({ host: "127.0.0.1", port: 1 }, { signal });
    await conn.write(new TextEncoder().encode(`CONNECT ${host}:80 HTTP/1.1\r\nHost: ${host}:80\r\n\r\n`));
    const into = new Uint8Array(1000);
    return new TextDecoder().decode(into.subarray(9, await conn.read(into) ?? 0)).slice(0, 3);
  };
  assert.equal(await status("192.0.2.1"), "200");
  assert.equal(await status("0xc0.0.513"), "200");
  assert.equal(await status("198.51.100.1"), "403");
  assert.equal(await status("198.51.25601"), "403");
  assert.equal(await status("192.0.2.256"), "400");
  assert.equal(instance.connections.counts.failed, 2);
});

const told = [
  { listen: "{ socks: 127.0.0.1:1, http: 127.0.0.1:2 }", address: "127.0.0.1:2" },
  { listen: "{ socks: 127.0.0.1:1 }", address: "127.0.0.1:1" },
  { listen: '{ mixed: "0.0.0.0:3", allowOpen: true }', address: "127.0.0.1:3" },
  { listen: '{ mixed: "[::]:3", allowOpen: true }', address: "[::1]:3" },
  { listen: "{ unix: /run/me/postern.sock, admin: 127.0.0.1:4 }", address: undefined },
];
for (const { listen, address } of told) {
  Deno.test(`Instance.told() of ${listen} is ${address}`, async () => {
    const { instance } = await instanceOf(`listen: ${listen}\n`);
    await using _instance = instance;
    await instance.open();
    assert.equal(instance.told()?.address, address);
  });
}

Deno.test("Instance.explain() returns the path and the result of the dial", async () => {
  const { instance, world } = await instanceOf(
    `${basic}routes: [{ to: 192.0.2.0/24, via: direct }]\ndefault: reject\n`,
  );
  await using _instance = instance;
  world.network.listen(target);
  const reached = await instance.explain(target, { dial: true, signal });
  assert.equal(reached.transport, "direct");
  assert.equal(reached.dial?.error, undefined);
  assert.equal(world.network.open, 0);
  const { transport, dial } = await instance.explain({ host: "b.example", port: 1 }, { dial: true, signal });
  assert.deepEqual([transport, dial?.error?.code], ["reject", "not_allowed"]);
  assert.equal((await instance.explain(target, { dial: false, signal })).dial, undefined);
  assert.equal(instance.connections.counts.total, 0);
});

Deno.test("Instance.explain() stops at the time limit", async () => {
  const { instance, world } = await instanceOf();
  await using _instance = instance;
  world.network.faults.set("192.0.2.1", "silent");
  const explained = instance.explain(target, { dial: true, signal });
  await world.clock.advance(20_000);
  const { dial } = await explained;
  assert.deepEqual([dial?.ms, dial?.error?.code], [20_000, "timeout"]);
});

const kubeconfig = JSON.stringify({
  "current-context": "lab",
  clusters: [{ name: "lab", cluster: { server: "https://192.0.2.1:6443" } }],
  users: [{
    name: "me",
    user: {
      exec: { apiVersion: "client.authentication.k8s.io/v1", command: "kubectl", interactiveMode: "Never" },
    },
  }],
  contexts: [{ name: "lab", context: { cluster: "lab", user: "me" } }],
});

const givenUp = [
  {
    what: "a cluster with a sign-in program",
    transport: "{ kubernetes: { kubeconfig: /lab.yaml } }",
    needs: { ssh: false, plugins: ["kubectl"], resolver: false },
    missing: "kubectl",
    says: 'the transport "lab" needs the program "kubectl"',
  },
  {
    what: "an ssh host",
    transport: "{ ssh: jump1 }",
    needs: { ssh: true, plugins: [], resolver: false },
    missing: "ssh",
    says: 'the transport "lab" needs ssh',
  },
];
for (const { what, transport, needs, missing, says } of givenUp) {
  Deno.test(`Instance.reload() refuses ${what} that needs a dropped right, and keeps the old plan`, async () => {
    const world = new MemoryWorld({ files: { "/lab.yaml": kubeconfig } });
    const asked: Needs[] = [];
    world.process.missing = (needs) => {
      asked.push(needs);
      return missing;
    };
    const { instance, reload } = await instanceOf(basic, world);
    await using _instance = instance;
    await instance.open();
    const message =
      `Cannot apply the configuration: ${says}, and this instance dropped that right at startup`;
    await assert.rejects(reload(`${basic}transports: { lab: ${transport} }\n`), {
      code: "not_allowed",
      message,
      hint: "restart the instance",
    });
    assert.deepEqual(asked, [needs]);
    assert.equal(instance.status().config.problem, message);
    assert.equal(instance.plan.transports.byName.has("lab"), false);
  });
}

const narrowed: readonly { name: string; text: string; needs: Needs }[] = [
  {
    name: "neither ssh nor clusters",
    text: "",
    needs: { ssh: false, plugins: [], resolver: false },
  },
  {
    name: "ssh",
    text: "transports: { lab: { ssh: jump1 } }\n",
    needs: { ssh: true, plugins: [], resolver: false },
  },
  {
    name: "a cluster with a sign-in program",
    text: "transports: { lab: { kubernetes: { kubeconfig: /lab.yaml } } }\n",
    needs: { ssh: false, plugins: ["kubectl"], resolver: false },
  },
  {
    name: "a cluster whose kubeconfig is missing",
    text: "transports: { lab: { kubernetes: { kubeconfig: /none.yaml } } }\n",
    needs: { ssh: false, plugins: "any", resolver: false },
  },
];
for (const { name, text, needs } of narrowed) {
  Deno.test(`Instance.narrow() keeps the rights that a plan with ${name} uses`, async () => {
    const world = new MemoryWorld({ files: { "/lab.yaml": kubeconfig } });
    const { instance } = await instanceOf(`${basic}${text}`, world);
    await using _instance = instance;
    await instance.open();
    await instance.narrow();
    assert.deepEqual(world.kept, [needs]);
  });
}

Deno.test("Instance.drain() at the end of a reload opens no DNS listener of that reload", async () => {
  const { instance, world, reload } = await instanceOf(
    `listen: { mixed: 127.0.0.1:1, unix: /run/me/postern }\n`,
  );
  await using _instance = instance;
  await instance.open();
  const info = world.files.info.bind(world.files);
  const draining = Promise.withResolvers<Promise<void>>();
  world.files.info = (path) => {
    // The removed socket is checked last.
    if (path === "/run/me/postern") draining.resolve(instance.drain());
    return info(path);
  };
  const refused = assert.rejects(reload("listen: { mixed: 127.0.0.1:1, dns: 127.0.0.1:53 }\n"), {
    detail: "closing",
  });
  await (await draining.promise);
  await refused;
  assert.deepEqual(instance.dnsEndpoints, []);
});
