import assert from "node:assert/strict";
import { ListenerSet, type ListenerSetDeps } from "../../../../src/instance/listening/listener_set.ts";
import { parseListenAddress } from "../../../../src/config/mod.ts";
import { type Endpoint, formatEndpoint, PosternError } from "../../../../src/words/mod.ts";
import type { FileInfo, Listening } from "../../../../src/world/mod.ts";
import type { DialRequest } from "../../../../src/core/mod.ts";
import {
  defaultLimits,
  type ForwardSettings,
  type ListenerSettings,
  type ListenSettings,
  parseForwardTarget,
} from "../../../../src/listeners/mod.ts";
import { type MemoryConn, readAll } from "../../../support/memory_conn.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const limits = defaultLimits;
const me = { name: "me", password: "right" };

function at(text: string, more: Partial<ListenerSettings> = {}): ListenerSettings {
  return { address: parseListenAddress(text), ...more };
}

/** Listen settings whose users come from `auth`. */
function listen(listeners: Partial<ListenSettings>): ListenSettings {
  return { allowOpen: false, ...listeners };
}

function setOf(network = new MemoryNetwork(), more: Partial<ListenerSetDeps> = {}) {
  const clock = new FakeClock();
  const log = recordingLog();
  const set = new ListenerSet({
    network,
    files: new MemoryFiles(),
    clock,
    log,
    pages: () => Promise.resolve({ status: 404, fields: [], body: "" }),
    generation: () => 1,
    dialOf: () => () => Promise.reject(new PosternError("no_route", "Cannot route anything")),
    usersOf: ({ auth }) => Promise.resolve((auth?.users ?? []).map(({ name }) => ({ ...me, name }))),
    ...more,
  });
  return { set, network, clock, log };
}

const withAuth = { auth: { users: [{ name: "me", passwordFile: "/pw" }] } };
const addresses = ({ bound }: ListenerSet) => bound.map(({ kind, address }) => `${kind} ${address}`);

/** The answer to the greeting of a SOCKS5 client that offers both methods. */
async function greeting(network: MemoryNetwork, port: number): Promise<string> {
  const conn = await network.connect({ host: "127.0.0.1", port }, { signal: new AbortController().signal });
  await conn.write(new Uint8Array([5, 2, 0, 2]));
  const into = new Uint8Array(64);
  const count = await conn.read(into);
  conn.abort();
  return [...into.subarray(0, count ?? 0)].join(" ");
}

Deno.test("ListenerSet binds both families of localhost:0 to one port", async () => {
  const { set } = setOf();
  await using _set = set;
  await set.apply(listen({ mixed: [at("localhost:0")] }), limits);
  assert.deepEqual(addresses(set), ["mixed 127.0.0.1:49152", "mixed [::1]:49152"]);
});

Deno.test("ListenerSet tries another port when the other address family uses it", async () => {
  const { set, network } = setOf();
  await using _set = set;
  for (const port of [49152, 49153]) network.listen({ host: "::1", port });
  await set.apply(listen({ mixed: [at("localhost:0")] }), limits);
  assert.deepEqual(addresses(set), ["mixed 127.0.0.1:49154", "mixed [::1]:49154"]);
  network.listen({ host: "127.0.0.1", port: 49152 }).close();
});

class WithoutIPv6 extends MemoryNetwork {
  override listen(endpoint: Endpoint): Listening {
    if (!("host" in endpoint) || endpoint.host !== "::1") return super.listen(endpoint);
    throw new PosternError("config", "Cannot listen on [::1]: no such address", { detail: "network" });
  }
}

Deno.test("ListenerSet ignores missing IPv6 for localhost, but not for [::1]", async () => {
  const { set } = setOf(new WithoutIPv6());
  await using _set = set;
  await set.apply(listen({ mixed: [at("localhost:1")] }), limits);
  assert.deepEqual(addresses(set), ["mixed 127.0.0.1:1"]);
  await assert.rejects(set.apply(listen({ mixed: [at("[::1]:1")] }), limits), { code: "config" });
  assert.deepEqual(addresses(set), ["mixed 127.0.0.1:1"]);
});

Deno.test("ListenerSet releases all sockets when the second address is in use", async () => {
  const { set, network } = setOf();
  await using _set = set;
  network.listen({ host: "127.0.0.1", port: 2 });
  const settings = listen({ mixed: [at("localhost:1")], http: [at("127.0.0.1:2")] });
  await assert.rejects(set.apply(settings, limits), /Cannot listen on 127\.0\.0\.1:2/);
  assert.deepEqual(set.bound, []);
  for (const host of ["127.0.0.1", "::1"]) network.listen({ host, port: 1 }).close();
});

Deno.test("ListenerSet keeps all sockets and settings when a reload fails", async () => {
  const { set, network } = setOf();
  await using _set = set;
  await set.apply(listen({ mixed: [at("127.0.0.1:1")] }), limits);
  network.listen({ host: "127.0.0.1", port: 2 });
  const settings = listen({ mixed: [at("127.0.0.1:1", withAuth), at("127.0.0.1:3"), at("127.0.0.1:2")] });
  await assert.rejects(set.apply(settings, limits), { code: "config" });
  assert.deepEqual(addresses(set), ["mixed 127.0.0.1:1"]);
  assert.equal(set.bound[0]?.hasAuth, false);
  assert.equal(await greeting(network, 1), "5 0");
  network.listen({ host: "127.0.0.1", port: 3 }).close();
});

Deno.test("ListenerSet applies new users to a socket that stays bound", async () => {
  const { set, network } = setOf();
  await using _set = set;
  await set.apply(listen({ mixed: [at("127.0.0.1:1")] }), limits);
  assert.equal(await greeting(network, 1), "5 0");
  await set.apply(listen({ mixed: [at("127.0.0.1:1", withAuth)] }), limits);
  assert.equal(await greeting(network, 1), "5 2");
  assert.deepEqual(set.bound.map(({ hasAuth, users }) => ({ hasAuth, users })), [{
    hasAuth: true,
    users: [me],
  }]);
});

/** Whether the listener on port 1 accepts a password of `me`. */
async function login(network: MemoryNetwork, password: string): Promise<boolean> {
  const conn = await network.connect({ host: "127.0.0.1", port: 1 }, {
    signal: new AbortController().signal,
  });
  await conn.write(new Uint8Array([5, 1, 2]));
  await conn.read(new Uint8Array(2));
  const bytes = (text: string) => [text.length, ...new TextEncoder().encode(text)];
  await conn.write(new Uint8Array([1, ...bytes("me"), ...bytes(password)]));
  const verdict = new Uint8Array(2);
  await conn.read(verdict);
  conn.abort();
  return verdict[1] === 0;
}

Deno.test("ListenerSet remembers wrong passwords across a reload", async () => {
  const { set, network, clock } = setOf();
  await using _set = set;
  const settings = listen({ mixed: [at("127.0.0.1:1", withAuth)] });
  await set.apply(settings, limits);
  assert.equal(await login(network, "wrong"), false);
  await set.apply(settings, limits);
  let isIn: boolean | undefined;
  const trying = login(network, "right").then((verdict) => isIn = verdict);
  await clock.advance(90);
  assert.equal(isIn, undefined);
  await clock.advance(10);
  assert.equal(await trying, true);
});

Deno.test("ListenerSet keeps a socket when its kind or spelling changes", async () => {
  const { set, network, log } = setOf();
  await using _set = set;
  await set.apply(listen({ mixed: [at("127.0.0.1:1")] }), limits);
  await set.apply(listen({ http: [at("localhost:1")] }), limits);
  assert.deepEqual(addresses(set), ["http 127.0.0.1:1", "http [::1]:1"]);
  await assert.rejects(greeting(network, 1), "an HTTP listener does not accept SOCKS");
  await set.apply(listen({ socks: [at("127.0.0.1:1")] }), limits);
  assert.deepEqual(addresses(set), ["socks 127.0.0.1:1"]);
  assert.equal(await greeting(network, 1), "5 0");
  assert.deepEqual(
    log.lines.filter(({ event }) => event.startsWith("listener.")).map((
      { event, address },
    ) => [event, address]),
    [["listener.ready", "127.0.0.1:1"], ["listener.ready", "[::1]:1"], ["listener.closed", "[::1]:1"]],
  );
});

Deno.test("ListenerSet distinguishes two listeners on port 0", async () => {
  const { set, network } = setOf();
  await using _set = set;
  const settings = listen({ mixed: [at("127.0.0.1:0", withAuth), at("127.0.0.1:0")] });
  await set.apply(settings, limits);
  const before = addresses(set);
  assert.deepEqual(before, ["mixed 127.0.0.1:49152", "mixed 127.0.0.1:49153"]);
  assert.deepEqual([await greeting(network, 49152), await greeting(network, 49153)], ["5 2", "5 0"]);
  await set.apply(settings, limits);
  assert.deepEqual(addresses(set), before);
});

Deno.test("ListenerSet keeps the clients of a closed socket", async () => {
  const { set, network } = setOf();
  await using _set = set;
  await set.apply(listen({ mixed: [at("127.0.0.1:1")] }), limits);
  const signal = new AbortController().signal;
  const client = await network.connect({ host: "127.0.0.1", port: 1 }, { signal });
  await client.write(new Uint8Array([5, 1]));
  await settle();
  await set.apply(listen({ mixed: [at("127.0.0.1:2")] }), limits);
  await assert.rejects(network.connect({ host: "127.0.0.1", port: 1 }, { signal }), { code: "refused" });
  await client.write(new Uint8Array([0]));
  const into = new Uint8Array(2);
  assert.equal(await client.read(into), 2);
  client.abort();
});

Deno.test("ListenerSet binds nothing once it drains, even during a reload", async () => {
  const users = Promise.withResolvers<[]>();
  const { set, network } = setOf(new MemoryNetwork(), { usersOf: () => users.promise });
  await using _set = set;
  const applied = set.apply(listen({ mixed: [at("127.0.0.1:1")] }), limits);
  await set.drain();
  users.resolve([]);
  await assert.rejects(applied, { code: "cancelled", detail: "closing" });
  network.listen({ host: "127.0.0.1", port: 1 }).close();
});

Deno.test("ListenerSet.drop() drops clients without a request", async () => {
  const { set, network } = setOf();
  await set.apply(listen({ mixed: [at("127.0.0.1:1")] }), limits);
  await network.connect({ host: "127.0.0.1", port: 1 }, { signal: new AbortController().signal });
  await settle();
  let isDrained = false;
  const drained = set.drain().then(() => isDrained = true);
  await settle();
  assert.equal(isDrained, false);
  set.drop(new PosternError("cancelled", "Enough"));
  await drained;
  const [client] = network.conns as [MemoryConn];
  await assert.rejects(readAll(client));
  await set[Symbol.asyncDispose]();
});

/** Files, one of which is a socket. */
function socketFiles(path: string): MemoryFiles {
  const files = new MemoryFiles({ [path]: "" });
  const info = files.info.bind(files);
  files.info = async (path) => {
    const found = await info(path);
    return found && { ...found, kind: "other" } satisfies FileInfo;
  };
  return files;
}

for (const { name, isAlive } of [{ name: "a dead", isAlive: false }, { name: "a living", isAlive: true }]) {
  Deno.test(`ListenerSet ${isAlive ? "leaves" : "removes"} the unix socket of ${name} instance`, async () => {
    const files = socketFiles("/run/postern.sock");
    const network = new MemoryNetwork();
    if (isAlive) network.listen({ path: "/run/postern.sock" });
    const { set } = setOf(network, { files });
    await using _set = set;
    const settings = listen({ unix: [at("unix:/run/postern.sock")] });
    if (isAlive) await assert.rejects(set.apply(settings, limits), /address in use/);
    else await set.apply(settings, limits);
    assert.equal(await files.info("/run/postern.sock") !== undefined, isAlive);
    assert.deepEqual(addresses(set), isAlive ? [] : ["unix unix:/run/postern.sock"]);
  });
}

Deno.test("ListenerSet leaves a plain file at the path of a unix socket alone", async () => {
  const files = new MemoryFiles({ "/run/precious": "x" });
  const { set } = setOf(new MemoryNetwork(), { files });
  await using _set = set;
  await set.apply(listen({ unix: [at("unix:/run/precious")] }), limits);
  assert.equal(await files.readText("/run/precious"), "x");
});

Deno.test("ListenerSet removes the unix socket of a removed listener, and keeps the others", async () => {
  const files = socketFiles("/run/postern.sock");
  const { set, log } = setOf(new MemoryNetwork(), { files });
  const tcp = at("127.0.0.1:1");
  const unix = at("unix:/run/postern.sock");
  await set.apply(listen({ mixed: [tcp], unix: [unix] }), limits);
  // The memory network creates no socket file.
  files.put("/run/postern.sock", "");
  await set.apply(listen({ mixed: [tcp], unix: [unix] }), limits);
  assert.notEqual(await files.info("/run/postern.sock"), undefined);
  await set.apply(listen({ mixed: [tcp] }), limits);
  assert.equal(await files.info("/run/postern.sock"), undefined);
  files.put("/run/postern.sock", "");
  await set.apply(listen({ mixed: [tcp], unix: [unix] }), limits);
  files.put("/run/postern.sock", "");
  const remove = files.remove.bind(files);
  files.remove = () => Promise.reject(new PosternError("internal", "Cannot remove it: permission denied"));
  await set.apply(listen({ mixed: [tcp] }), limits);
  assert.deepEqual(addresses(set), ["mixed 127.0.0.1:1"]);
  assert.equal(log.lines.at(-1)?.event, "listener.leftover");
  files.remove = remove;
  await set[Symbol.asyncDispose]();
  assert.equal(await files.info("/run/postern.sock"), undefined);
});

/** A forward as the settings describe it. */
function forward(listen: string, to: string, name?: string): ForwardSettings {
  const target = parseForwardTarget(to);
  return { address: parseListenAddress(listen), target, place: 0, ...(name !== undefined && { name }) };
}

/** The requests of the clients of a set. */
function dialsOf(): { requests: DialRequest[]; dialOf: ListenerSetDeps["dialOf"] } {
  const requests: DialRequest[] = [];
  const refused = new PosternError("refused", "Cannot connect");
  return { requests, dialOf: () => (request) => (requests.push(request), Promise.reject(refused)) };
}

const forwardsIn = ({ bound }: ListenerSet) =>
  bound.map(({ address, forward }) => `${address} ${forward && formatEndpoint(forward.target)}`);

Deno.test("ListenerSet forwards the clients of a forward to its target, also after a reload", async () => {
  const { requests, dialOf } = dialsOf();
  const { set, network, log } = setOf(new MemoryNetwork(), { dialOf });
  await using _set = set;
  const connect = async (port: number) => {
    const conn = await network.connect({ host: "127.0.0.1", port }, { signal: new AbortController().signal });
    await assert.rejects(readAll(conn));
  };
  await set.apply(listen({ forward: [forward("127.0.0.1:5432", "a.example:1", "first")] }), limits);
  await connect(5432);
  await set.apply(listen({ forward: [forward("127.0.0.1:5432", "b.example:2")] }), limits);
  await connect(5432);
  assert.deepEqual(requests.map(({ client: _, ...request }) => request), [
    { target: { host: "a.example", port: 1 }, protocol: "forward", forward: "first" },
    { target: { host: "b.example", port: 2 }, protocol: "forward" },
  ]);
  assert.equal(log.lines.filter((line) => line.event === "listener.ready").length, 1);
  await set.apply(listen({}), limits);
  await assert.rejects(connect(5432), { code: "refused" });
});

Deno.test("ListenerSet asks the clients of a forward for no password", async () => {
  const { set } = setOf();
  await using _set = set;
  await set.apply(listen({ ...withAuth, forward: [forward("127.0.0.1:1", "a.example:1")] }), limits);
  assert.deepEqual(set.bound.map(({ hasAuth }) => hasAuth), [false]);
});

Deno.test("ListenerSet keeps the free ports of forwards by target", async () => {
  const { set } = setOf();
  await using _set = set;
  const [a, b] = [forward("127.0.0.1:0", "a.example:1"), forward("127.0.0.1:0", "b.example:1")];
  await set.apply(listen({ mixed: [at("127.0.0.1:0")], forward: [a, b, a] }), limits);
  const before = forwardsIn(set);
  assert.equal(before.length, 4);
  await set.apply(listen({ forward: [b, a] }), limits);
  assert.deepEqual(forwardsIn(set), [before[2], before[1]]);
});

Deno.test("ListenerSet lends forwards to a command, in addition to those of the settings", async () => {
  const { requests, dialOf } = dialsOf();
  const { set, network, log } = setOf(new MemoryNetwork(), { dialOf });
  await using _set = set;
  await set.apply(listen({ mixed: [at("127.0.0.1:1")] }), limits);
  const lent = await set.lend([forward("127.0.0.1:0", "a.example:1")], limits);
  assert.deepEqual(set.bound.map(({ address, ofCommand }) => `${address} ${ofCommand}`), [
    "127.0.0.1:1 false",
    "127.0.0.1:49152 true",
  ]);
  const connect = () =>
    network.connect({ host: "127.0.0.1", port: 49152 }, { signal: new AbortController().signal });
  await assert.rejects(readAll(await connect()));
  assert.equal(requests.length, 1);
  await set.apply(listen({ mixed: [at("127.0.0.1:2")] }), { ...limits, connections: 1 });
  assert.deepEqual(set.bound.map(({ address }) => address), ["127.0.0.1:2", "127.0.0.1:49152"]);
  await lent.end();
  assert.deepEqual(set.bound.map(({ address }) => address), ["127.0.0.1:2"]);
  await assert.rejects(connect(), { code: "refused" });
  await lent.end();
  assert.equal(log.lines.filter(({ event }) => event === "listener.closed").length, 2);
});

Deno.test("ListenerSet drops the clients of a forward when its command ends, and no others", async () => {
  const pending = Promise.withResolvers<never>();
  pending.promise.catch(() => {});
  const { set, network } = setOf(new MemoryNetwork(), { dialOf: () => () => pending.promise });
  await using _set = set;
  await set.apply(listen({ forward: [forward("127.0.0.1:1", "a.example:1")] }), limits);
  const lent = await set.lend([forward("127.0.0.1:2", "b.example:1")], limits);
  const { signal } = new AbortController();
  const [stays, goes] = await Promise.all(
    [1, 2].map((port) => network.connect({ host: "127.0.0.1", port }, { signal })),
  );
  await settle();
  await lent.end();
  assert.ok(stays && goes);
  await assert.rejects(readAll(goes));
  const read = readAll(stays);
  assert.equal(
    await Promise.race([read.then(() => "ended", () => "ended"), settle().then(() => "open")]),
    "open",
  );
  stays.abort();
  pending.reject(new PosternError("refused", "Cannot connect"));
  await read.catch(() => {});
});

Deno.test("ListenerSet lends no address that is in use, and binds none of a failed request", async () => {
  const { set, network } = setOf();
  await using _set = set;
  await set.apply(listen({ forward: [forward("127.0.0.1:1", "a.example:1")] }), limits);
  await assert.rejects(
    set.lend([forward("127.0.0.1:2", "b.example:1"), forward("127.0.0.1:1", "b.example:1")], limits),
    { code: "config", message: "Cannot listen on 127.0.0.1:1: this instance already listens on 127.0.0.1:1" },
  );
  assert.deepEqual(forwardsIn(set), ["127.0.0.1:1 a.example:1"]);
  network.listen({ host: "127.0.0.1", port: 2 }).close();
  const lent = await set.lend([forward("127.0.0.1:3", "b.example:1")], limits);
  await assert.rejects(set.apply(listen({ forward: [forward("127.0.0.1:3", "a.example:1")] }), limits), {
    message: "Cannot listen on 127.0.0.1:3: this instance already listens on 127.0.0.1:3",
    hint: "end the command: postern forward",
  });
  assert.deepEqual(forwardsIn(set), ["127.0.0.1:1 a.example:1", "127.0.0.1:3 b.example:1"]);
  await lent.end();
});

Deno.test("ListenerSet tells a command that the instance stops, and lends nothing then", async () => {
  const { set } = setOf();
  await using _set = set;
  const lent = await set.lend([forward("127.0.0.1:1", "a.example:1")], limits);
  assert.equal(lent.closed.aborted, false);
  await set.drain();
  assert.equal(lent.closed.aborted, true);
  assert.deepEqual(set.bound, []);
  await lent.end();
  await assert.rejects(set.lend([forward("127.0.0.1:1", "a.example:1")], limits), { code: "cancelled" });
});

Deno.test("ListenerSet lends forwards to a limited number of commands", async () => {
  const { set } = setOf();
  await using _set = set;
  for (let at = 1; at <= 64; at++) await set.lend([forward(`127.0.0.1:${at}`, "a.example:1")], limits);
  await assert.rejects(set.lend([forward("127.0.0.1:65", "a.example:1")], limits), /64 commands already/);
});
