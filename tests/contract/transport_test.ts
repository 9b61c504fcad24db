import assert from "node:assert/strict";
import { type Conn, Tasks, type Transport } from "../../src/core/mod.ts";
import { type ErrorCode, PosternError } from "../../src/words/mod.ts";
import type { Listening, Network } from "../../src/world/mod.ts";
import { buildTransports, type BuiltTransports, type TransportsSettings } from "../../src/transports/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { readAll } from "../support/memory_conn.ts";
import { idleSshServices } from "../support/idle_ssh_services.ts";
import { MemoryFiles } from "../support/memory_files.ts";
import { MemoryNetwork } from "../support/memory_network.ts";
import { noPrograms } from "../support/no_programs.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { ProxyServer, type ProxyServerOptions } from "../support/proxy_server.ts";
import { recordingLog } from "../support/recording_log.ts";

/** A transport in a small network: it reaches `192.0.2.7` and, by name, `web.example`. */
interface Setting {
  readonly network: MemoryNetwork;
  readonly transports: BuiltTransports;
  readonly transport: Transport;
  /** Listens where the targets are. */
  readonly target: Listening;
  readonly close: () => Promise<void>;
}

const address = { host: "192.0.2.7", port: 7 };
const signal = new AbortController().signal;

function setting(settings: TransportsSettings, servers: readonly ProxyServerOptions[]): Setting {
  const network = new MemoryNetwork();
  network.tls = (conn) => Promise.resolve(conn);
  network.names.set("web.example", [address.host]);
  network.names.set("silent.example", ["192.0.2.8"]);
  network.names.set("closed.example", ["192.0.2.9"]);
  network.faults.set("192.0.2.8", "silent");
  const proxies = servers.map((options, at) => {
    const endpoint = { host: `192.0.2.10${at}`, port: 3128 };
    return new ProxyServer(resolving(network), endpoint, options);
  });
  const files = new MemoryFiles({ "/password": "secret\n" });
  const parts = { network, clock: new FakeClock(), log: recordingLog(), files };
  const transports = buildTransports(settings, {
    ...parts,
    process: noPrograms,
    ssh: idleSshServices(parts),
  });
  const target = network.listen(address);
  return {
    network,
    transports,
    transport: transports.byName.get("it")?.transport ?? transports.byName.get("direct")?.transport ??
      assert.fail("no transport"),
    target,
    close: async () => {
      target.close();
      for (const { transport } of transports.byName.values()) await transport[Symbol.asyncDispose]();
      for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
    },
  };
}

/** What a proxy server does with names: it looks them up on its side. */
function resolving(network: MemoryNetwork): Network {
  return {
    listen: (endpoint) => network.listen(endpoint),
    inherit: (descriptor) => network.inherit(descriptor),
    datagrams: (endpoint) => network.datagrams(endpoint),
    lookup: (name, options) => network.lookup(name, options),
    addresses: () => network.addresses(),
    secure: (conn, options) => network.secure(conn, options),
    secureAsServer: (conn, options) => network.secureAsServer(conn, options),
    connect: async (endpoint, options) => {
      if ("path" in endpoint || /^[0-9]/.test(endpoint.host)) return await network.connect(endpoint, options);
      const [host = ""] = await network.lookup(endpoint.host, options);
      return await network.connect({ host, port: endpoint.port }, options);
    },
  };
}

interface Expected {
  readonly settings: TransportsSettings;
  readonly servers?: readonly ProxyServerOptions[];
  /** What becomes of a target that refuses, and of a name that is unknown. */
  readonly refused: ErrorCode;
  readonly unknown: ErrorCode;
}

/** What every transport that reaches targets promises. */
function transportContract(name: string, { settings, servers = [], refused, unknown }: Expected): void {
  const check = (promise: string, body: (setting: Setting) => Promise<void>) =>
    Deno.test(`${name} ${promise}`, async () => {
      const made = setting(settings, servers);
      try {
        await body(made);
      } finally {
        await made.close();
      }
    });
  const joined = async ({ transport, target }: Setting, host = address.host): Promise<[Conn, Conn]> => {
    const near = await transport.dial({ host, port: address.port }, { signal });
    return [near, await target.accept() ?? assert.fail("closed")];
  };

  check("does nothing before the first dial", ({ network }) => {
    assert.deepEqual([network.connects, network.lookups], [[], []]);
    return Promise.resolve();
  });

  for (const host of [address.host, "web.example"]) {
    check(`carries bytes both ways to ${host}`, async (made) => {
      const [near, far] = await joined(made, host);
      await using _near = near;
      await using _far = far;
      const up = patternBytes(200_000, 1);
      const down = patternBytes(200_000, 2);
      const [atFar, atNear] = await Promise.all([
        readAll(far),
        readAll(near),
        near.write(up).then(() => near.closeWrite()),
        far.write(down).then(() => far.closeWrite()),
      ]);
      assert.deepEqual(atFar, up);
      assert.deepEqual(atNear, down);
    });
  }

  check("hands on what a target says before it is spoken to", async (made) => {
    const [near, far] = await joined(made);
    await using _near = near;
    await far.write(patternBytes(200));
    await far[Symbol.asyncDispose]();
    assert.deepEqual(await readAll(near), patternBytes(200));
  });

  check("keeps a half-close: the target answers after it", async (made) => {
    const [near, far] = await joined(made);
    await using _near = near;
    await using _far = far;
    await near.write(patternBytes(200));
    await near.closeWrite();
    assert.deepEqual(await readAll(far), patternBytes(200));
    await far.write(patternBytes(300));
    await far.closeWrite();
    assert.deepEqual(await readAll(near), patternBytes(300));
  });

  check("carries many connections at once and apart", async (made) => {
    const conns = await Promise.all([1, 2, 3, 4, 5].map(async (seed) => {
      const near = await made.transport.dial(address, { signal });
      await near.write(Uint8Array.of(seed));
      return near;
    }));
    for (let at = 0; at < conns.length; at++) {
      const far = await made.target.accept() ?? assert.fail("closed");
      const into = new Uint8Array(1);
      assert.equal(await far.read(into), 1);
      await far.write(into);
      await far[Symbol.asyncDispose]();
    }
    for (const [at, near] of conns.entries()) {
      assert.deepEqual(await readAll(near), Uint8Array.of(at + 1));
      await near[Symbol.asyncDispose]();
    }
  });

  check("passes a reset on", async (made) => {
    const [near, far] = await joined(made);
    const pending = near.read(new Uint8Array(1)).catch(() => null);
    far.abort(new Error("reset"));
    assert.equal(await pending, null);
    near.abort();
    await assertNothingOpen(made.network);
  });

  check(`says ${refused} of a target that refuses`, async ({ transport, network }) => {
    await assert.rejects(transport.dial({ host: "closed.example", port: 1 }, { signal }), {
      name: "PosternError",
      code: refused,
      message: /^Cannot reach closed\.example:1/,
    });
    await assertNothingOpen(network);
  });

  check(`says ${unknown} of a name that nobody knows`, async ({ transport, network }) => {
    await assert.rejects(transport.dial({ host: "no.example", port: 1 }, { signal }), {
      name: "PosternError",
      code: unknown,
      message: /no\.example/,
    });
    await assertNothingOpen(network);
  });

  check("leaves nothing open when the signal ends while it dials", async ({ transport, network }) => {
    const stop = new AbortController();
    const reason = new PosternError("timeout", "Too slow");
    const failed = assert.rejects(
      transport.dial({ host: "silent.example", port: 1 }, { signal: stop.signal }),
      reason,
    );
    // The last thing to happen before the silence.
    while (!network.connects.includes("192.0.2.8:1")) await Promise.resolve();
    stop.abort(reason);
    await failed;
    await assertNothingOpen(network);
  });

  check("dials nothing for a signal that has ended", async ({ transport, network }) => {
    const reason = new Error("too late");
    await assert.rejects(transport.dial(address, { signal: AbortSignal.abort(reason) }), reason);
    await assertNothingOpen(network);
  });

  check("lets a connection live when the dial's signal ends after it", async ({ transport, target }) => {
    const stop = new AbortController();
    await using near = await transport.dial(address, { signal: stop.signal });
    await using far = await target.accept() ?? assert.fail("closed");
    stop.abort(new Error("too late"));
    await near.write(patternBytes(10));
    await near.closeWrite();
    assert.deepEqual(await readAll(far), patternBytes(10));
  });

  check("says how it is, and can be disposed twice", async ({ transport }) => {
    if (transport.status) assert.equal(transport.status().state, "idle");
    await transport[Symbol.asyncDispose]();
    await transport[Symbol.asyncDispose]();
  });
}

/** The proxies between give up theirs a few turns later. */
async function assertNothingOpen(network: MemoryNetwork): Promise<void> {
  for (let turn = 0; turn < 5 && network.open > 0; turn++) await settle();
  assert.equal(network.open, 0);
}

function upstream(at: number, scheme: string, more: object = {}): TransportsSettings[string] {
  return { kind: "proxy", settings: { scheme, host: `192.0.2.10${at}`, port: 3128, ...more } };
}

const signedIn = { user: "me", passwordFile: "/password" };
const credentials = { user: "me", password: "secret" };

transportContract("direct", { settings: {}, refused: "refused", unknown: "name_not_found" });
transportContract("proxy (http)", {
  settings: { it: upstream(0, "http") },
  servers: [{ protocol: "http" }],
  refused: "unreachable",
  unknown: "unreachable",
});
transportContract("proxy (http, signed in)", {
  settings: { it: upstream(0, "http", signedIn) },
  servers: [{ protocol: "http", credentials }],
  refused: "unreachable",
  unknown: "unreachable",
});
transportContract("proxy (https)", {
  settings: { it: upstream(0, "https") },
  servers: [{ protocol: "http" }],
  refused: "unreachable",
  unknown: "unreachable",
});
transportContract("proxy (socks5)", {
  settings: { it: upstream(0, "socks5") },
  servers: [{ protocol: "socks5" }],
  refused: "refused",
  unknown: "unreachable",
});
transportContract("proxy (socks5, signed in)", {
  settings: { it: upstream(0, "socks5", signedIn) },
  servers: [{ protocol: "socks5", credentials }],
  refused: "refused",
  unknown: "unreachable",
});
transportContract("proxy (socks5) via proxy (http)", {
  settings: { it: { ...upstream(0, "socks5"), via: "outer" }, outer: upstream(1, "http") },
  servers: [{ protocol: "socks5" }, { protocol: "http" }],
  refused: "refused",
  unknown: "unreachable",
});
transportContract("proxy (http) via proxy (socks5)", {
  settings: { it: { ...upstream(0, "http"), via: "outer" }, outer: upstream(1, "socks5") },
  servers: [{ protocol: "http" }, { protocol: "socks5" }],
  refused: "unreachable",
  unknown: "unreachable",
});

Deno.test("reject refuses with its sentence and dials nothing", async () => {
  const { transport, network, close } = setting(
    { it: { kind: "reject", settings: "Not from this machine" } },
    [],
  );
  await assert.rejects(transport.dial(address, { signal }), {
    code: "not_allowed",
    message: "Not from this machine",
  });
  assert.deepEqual([network.connects, network.lookups], [[], []]);
  await close();
});

for (const protocol of ["http", "socks5"] as const) {
  Deno.test(`proxy (${protocol}) keeps the 200 bytes that come with the answer`, async () => {
    const early = patternBytes(200);
    const made = setting({ it: upstream(0, protocol) }, [{ protocol, early }]);
    await using near = await made.transport.dial(address, { signal });
    await using far = await made.target.accept() ?? assert.fail("closed");
    await far.write(patternBytes(100, 2));
    await far.closeWrite();
    const seen = await readAll(near);
    assert.deepEqual(seen.subarray(0, 200), early);
    assert.deepEqual(seen.subarray(200), patternBytes(100, 2));
    await near[Symbol.asyncDispose]();
    await far[Symbol.asyncDispose]();
    await made.close();
  });
}

Deno.test("direct and proxies carry a megabyte each way over real sockets", async () => {
  const network = createNetwork();
  const loopback = { host: "127.0.0.1", port: 0 };
  await using listening = network.listen(loopback);
  const target = "port" in listening.endpoint ? listening.endpoint : assert.fail("no port");
  const up = patternBytes(1 << 20, 1);
  const down = patternBytes(1 << 20, 2);
  for (const protocol of ["http", "socks5", undefined] as const) {
    await using tasks = new Tasks(undefined, (error) => assert.fail(String(error)));
    await using proxy = protocol && new ProxyServer(network, loopback, { protocol });
    const parts = { network, clock: new FakeClock(), log: recordingLog(), files: new MemoryFiles() };
    const { byName } = buildTransports(
      proxy ? { it: { kind: "proxy", settings: { scheme: protocol, ...proxy.endpoint } } } : {},
      { ...parts, process: noPrograms, ssh: idleSshServices(parts) },
    );
    const transport = byName.get(protocol ? "it" : "direct")?.transport ?? assert.fail("no transport");
    tasks.spawn(async () => {
      await using far = await listening.accept() ?? assert.fail("closed");
      const [seen] = await Promise.all([readAll(far), far.write(down).then(() => far.closeWrite())]);
      assert.deepEqual(seen, up);
    });
    await using near = await transport.dial(target, { signal });
    const [seen] = await Promise.all([readAll(near), near.write(up).then(() => near.closeWrite())]);
    assert.deepEqual(seen, down);
    await tasks.idle();
  }
});
