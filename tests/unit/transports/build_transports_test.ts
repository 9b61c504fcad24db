import assert from "node:assert/strict";
import type { Conn, Transport } from "../../../src/core/mod.ts";
import { sameSettings, text } from "../../../src/config/mod.ts";
import { buildTransportsOf } from "../../../src/transports/build_transports.ts";
import { type BuildDeps, buildTransports, type TransportsSettings } from "../../../src/transports/mod.ts";
import {
  defineTransport,
  type TransportDeps,
  type TransportKind,
} from "../../../src/transports/define_transport.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { idleSshServices } from "../../support/idle_ssh_services.ts";
import { MemoryFiles } from "../../support/memory_files.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { noPrograms } from "../../support/no_programs.ts";
import { ProxyServer } from "../../support/proxy_server.ts";
import { recordingLog } from "../../support/recording_log.ts";

const signal = new AbortController().signal;

function depsOver(network: MemoryNetwork): BuildDeps {
  const parts = { network, clock: new FakeClock(), log: recordingLog(), files: new MemoryFiles() };
  return { ...parts, process: noPrograms, ssh: idleSshServices(parts) };
}

function upstream(port: number, via?: string): TransportsSettings[string] {
  return {
    kind: "proxy",
    settings: { scheme: "http", host: "192.0.2.1", port },
    ...(via !== undefined && { via }),
  };
}

Deno.test("buildTransports() includes direct and reject without configuration", async () => {
  const { byName, dropped } = buildTransports({}, depsOver(new MemoryNetwork()));
  assert.deepEqual([...byName].map(([name, { type, transport }]) => [name, type, transport.name]), [
    ["direct", "direct", "direct"],
    ["reject", "reject", "reject"],
  ]);
  assert.deepEqual(dropped, []);
  await assert.rejects(
    async () => await byName.get("reject")?.transport.dial({ host: "a", port: 1 }, { signal }),
    {
      code: "not_allowed",
      message: /^Cannot reach this target/,
    },
  );
});

Deno.test("buildTransports() does no I/O", () => {
  const network = new MemoryNetwork();
  const files = new MemoryFiles();
  const settings = {
    kind: "proxy",
    settings: { scheme: "https", host: "proxy.example", port: 1, user: "u", passwordFile: "/p", ca: "/c" },
  };
  const { byName } = buildTransports({ corp: settings }, { ...depsOver(network), files });
  assert.equal(byName.get("corp")?.type, "proxy");
  assert.deepEqual([network.connects, network.lookups, files.reads], [[], [], []]);
});

Deno.test("buildTransports() reaches a proxy through a proxy through a proxy", async () => {
  const network = new MemoryNetwork();
  await using outer = new ProxyServer(network, { host: "192.0.2.1", port: 1 }, { protocol: "http" });
  await using middle = new ProxyServer(network, { host: "middle.example", port: 2 }, { protocol: "socks5" });
  await using inner = new ProxyServer(network, { host: "inner.example", port: 3 }, { protocol: "http" });
  await using target = network.listen({ host: "web.example", port: 443 });
  // Deliberately in the wrong order.
  const { byName } = buildTransports({
    inner: { kind: "proxy", settings: { scheme: "http", host: "inner.example", port: 3 }, via: "middle" },
    middle: { kind: "proxy", settings: { scheme: "socks5", host: "middle.example", port: 2 }, via: "outer" },
    outer: upstream(1),
  }, depsOver(network));
  assert.equal(byName.get("inner")?.below, byName.get("middle"));
  assert.equal(byName.get("outer")?.below, byName.get("direct"));
  const dialled = byName.get("inner")?.transport.dial({ host: "web.example", port: 443 }, { signal });
  await using near = await dialled ?? assert.fail("no such transport");
  await using far = await target.accept() ?? assert.fail("closed");
  await near.write(new TextEncoder().encode("hello"));
  const into = new Uint8Array(10);
  assert.equal(await far.read(into), 5);
  assert.deepEqual([outer.asked, middle.asked, inner.asked], [
    ["middle.example:2"],
    ["inner.example:3"],
    ["web.example:443"],
  ]);
  assert.equal(network.connects[0], "192.0.2.1:1");
  assert.deepEqual(network.lookups, []);
});

Deno.test("buildTransports() dials nothing through reject", async () => {
  const network = new MemoryNetwork();
  const { byName } = buildTransports(
    { a: upstream(1, "no"), no: { kind: "reject", settings: "Not today" } },
    depsOver(network),
  );
  await assert.rejects(
    async () => await byName.get("a")?.transport.dial({ host: "x", port: 1 }, { signal }),
    {
      code: "not_allowed",
      message: /Not today$/,
    },
  );
  assert.deepEqual(network.connects, []);
});

Deno.test("buildTransports() reuses unchanged transports and reports dropped ones", () => {
  const deps = depsOver(new MemoryNetwork());
  const before = buildTransports({
    same: upstream(1),
    changed: upstream(2),
    above: upstream(3, "changed"),
    moved: upstream(4, "same"),
    gone: upstream(5),
  }, deps);
  const after = buildTransports(
    {
      same: upstream(1),
      changed: upstream(22),
      above: upstream(3, "changed"),
      moved: upstream(4),
      fresh: upstream(6, "same"),
    },
    deps,
    before,
  );
  const kept = [...after.byName].filter(([name, built]) => before.byName.get(name) === built).map(([name]) =>
    name
  );
  assert.deepEqual(kept, ["direct", "reject", "same"]);
  assert.deepEqual(after.dropped.map(({ name }) => name), ["changed", "above", "moved", "gone"]);
  assert.deepEqual([...after.byName.keys()], [
    "direct",
    "reject",
    "same",
    "changed",
    "above",
    "moved",
    "fresh",
  ]);
});

Deno.test("buildTransports() rejects errors that the schema would report", () => {
  const deps = depsOver(new MemoryNetwork());
  assert.throws(() => buildTransports({ a: upstream(1, "missing") }, deps), {
    code: "config",
    message: /"missing": unknown name/,
  });
  assert.throws(() => buildTransports({ a: upstream(1, "b"), b: upstream(2, "a") }, deps), {
    code: "config",
    message: /path contains itself/,
  });
  assert.throws(() => buildTransports({ a: { kind: "odd", settings: 1 } }, deps), {
    code: "config",
    message: /"a": unknown name/,
  });
});

Deno.test("defineTransport() makes a kind for building a set", async () => {
  const made: TransportDeps[] = [];
  const kind = defineTransport({
    type: "echo",
    settings: text(),
    create: (settings, deps): Transport => {
      made.push(deps);
      return {
        name: `${deps.name}/${settings}`,
        dial: (target, options): Promise<Conn> => deps.dialer(target, options),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    },
  });
  const network = new MemoryNetwork();
  const log = recordingLog();
  const { byName } = buildTransportsOf([kind], { e: { kind: "echo", settings: "x" } }, {
    deps: { ...depsOver(network), log },
  });
  assert.equal(byName.get("e")?.transport.name, "e/x");
  made[0]?.log.warn("transport.tried");
  assert.equal(log.lines[0]?.transport, "e");
  await assert.rejects(
    async () => await byName.get("e")?.transport.dial({ host: "192.0.2.1", port: 1 }, { signal }),
    {
      code: "refused",
    },
  );
  assert.deepEqual(network.connects, ["192.0.2.1:1"]);
});

const pairs: { a: unknown; b: unknown; same: boolean }[] = [
  { a: 1, b: 1, same: true },
  { a: undefined, b: undefined, same: true },
  { a: { x: [1, { y: "z" }] }, b: { x: [1, { y: "z" }] }, same: true },
  { a: { x: 1, y: 2 }, b: { y: 2, x: 1 }, same: true },
  { a: { x: 1 }, b: { x: 1, y: undefined }, same: false },
  { a: { x: undefined }, b: { y: undefined }, same: false },
  { a: [1, 2], b: [2, 1], same: false },
  { a: [], b: {}, same: false },
  { a: null, b: {}, same: false },
  { a: "1", b: 1, same: false },
  { a: new Map(), b: new Map(), same: false },
];
for (const { a, b, same } of pairs) {
  Deno.test(`sameSettings() is ${same} for ${JSON.stringify(a)} and ${JSON.stringify(b)} (${typeof a}, ${typeof b})`, () => {
    assert.equal(sameSettings(a, b), same);
    assert.equal(sameSettings(b, a), same);
  });
}

/**
 * Kinds that query others: one with a `via`, and one whose settings refer to the transport that it queries.
 */
function askingKinds(): { kinds: TransportKind[]; deps: Map<string, TransportDeps> } {
  const deps = new Map<string, TransportDeps>();
  const create = (_settings: unknown, given: TransportDeps): Transport => {
    deps.set(given.name, given);
    const failing = (how: string) => Promise.reject(new Error(`${given.name} ${how}`));
    return {
      name: given.name,
      dial: () => failing("asked"),
      dialUnasked: () => failing("unasked"),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  };
  const references = (name: string) => [{ name, path: [], problem: () => undefined }];
  return {
    deps,
    kinds: [
      defineTransport({ type: "plain", settings: text(), create }),
      defineTransport({ type: "asking", settings: text(), create, references }),
    ],
  };
}

Deno.test("buildTransports() dials without queries for a transport that the dialer itself queries, at any depth", async () => {
  const { kinds, deps } = askingKinds();
  const settings = {
    lab: { kind: "plain", settings: "x", via: "jump" },
    jump: { kind: "plain", settings: "x", via: "hosted" },
    other: { kind: "plain", settings: "x", via: "hosted" },
    hosted: { kind: "asking", settings: "lab" },
  };
  const { byName } = buildTransportsOf(kinds, settings, { deps: depsOver(new MemoryNetwork()) });
  assert.equal(deps.get("hosted")?.sibling?.("lab"), byName.get("lab")?.transport);
  assert.equal(deps.get("hosted")?.sibling?.("missing"), undefined);
  const through = async (name: string) =>
    await deps.get(name)?.dialer({ host: "a", port: 1 }, { signal }).catch((error) => error.message);
  assert.equal(await through("jump"), "hosted unasked");
  assert.equal(await through("other"), "hosted asked");
  assert.equal(await through("lab"), "jump asked");
});

Deno.test("buildTransports() rebuilds a transport together with the one that it queries", () => {
  const { kinds } = askingKinds();
  const deps = depsOver(new MemoryNetwork());
  const settings = (value: string) => ({
    lab: { kind: "plain", settings: value, via: "hosted" },
    hosted: { kind: "asking", settings: "lab" },
    above: { kind: "plain", settings: "x", via: "hosted" },
    separate: { kind: "plain", settings: "x" },
  });
  const before = buildTransportsOf(kinds, settings("x"), { deps });
  const same = buildTransportsOf(kinds, settings("x"), { deps, previous: before });
  assert.deepEqual(same.dropped, []);
  const after = buildTransportsOf(kinds, settings("y"), { deps, previous: same });
  assert.deepEqual(after.dropped.map(({ name }) => name).sort(), ["above", "hosted", "lab"]);
});
