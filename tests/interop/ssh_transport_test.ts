import assert from "node:assert/strict";
import type { Conn } from "../../src/core/mod.ts";
import { PosternError, socks5Reply } from "../../src/words/mod.ts";
import type { Ssh } from "../../src/transports/ssh.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { eventually, freePort } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { SshTransports } from "../support/ssh_transports.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { echoServer, TargetServer } from "../support/target_server.ts";
import { sshHost } from "../support/ssh_host.ts";

const signal = new AbortController().signal;

async function echoed(conn: Conn, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const [seen] = await Promise.all([readAll(conn), conn.write(bytes).then(() => conn.closeWrite())]);
  return seen;
}

async function request(transport: Ssh, port: number): Promise<void> {
  await using conn = await transport.dial({ host: "127.0.0.1", port }, { signal });
  assert.equal((await echoed(conn, patternBytes(100))).length, 100);
}

peerTest(
  "Ssh connects through three hops, with one sign-in each for ten concurrent clients",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const [a, b, c] = [await lab.start("a"), await lab.start("b"), await lab.start("c")];
    await using ssh = new SshTransports([
      lab.host(a),
      lab.host(b, { jumps: [{ host: "a" }] }),
      lab.host(c, { jumps: [{ host: "b" }] }),
    ]);
    const transport = ssh.to("c");
    const bytes = patternBytes(100_000);
    const conns = await Promise.all(
      Array.from({ length: 10 }, () => transport.dial({ host: "127.0.0.1", port: echo.port }, { signal })),
    );
    for (const seen of await Promise.all(conns.map((conn) => echoed(conn, bytes)))) {
      assert.deepEqual(
        seen,
        bytes,
      );
    }
    for (const conn of conns) await conn[Symbol.asyncDispose]();
    assert.deepEqual([a.signIns, b.signIns, c.signIns], [1, 1, 1]);
    // Another target on the first two hops shares them.
    await request(ssh.to("b"), echo.port);
    assert.deepEqual([a.signIns, b.signIns, c.signIns], [1, 1, 1]);
    const { state, hops } = transport.status();
    assert.equal(state, "ready");
    assert.deepEqual(hops.map(({ host, state }) => [host, state]), [["a", "ready"], ["b", "ready"], [
      "c",
      "ready",
    ]]);
  },
);

peerTest("Ssh connects through a list of jump hosts with users and ports", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const [a, b, c] = [await lab.start("a"), await lab.start("b"), await lab.start("c")];
  await using ssh = new SshTransports([
    lab.host({ name: "a", port: 1 }, { user: "unused" }),
    lab.host(b, { jumps: [{ host: "nowhere" }] }),
    lab.host(c, { jumps: [{ host: "a", user: lab.user, port: a.port }, { host: "b" }] }),
  ]);
  await request(ssh.to("c"), echo.port);
  assert.deepEqual([a.signIns, b.signIns, c.signIns], [1, 1, 1]);
});

peerTest("Ssh reports how a target or a jump host fails", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  const strange = await lab.start("strange");
  const wrong = await lab.makeKey("wrong");
  await Deno.writeTextFile(lab.knownHosts, "");
  await lab.know(`[127.0.0.1]:${sshd.port}`, `${sshd.keys[0]}.pub`);
  await lab.know(`[127.0.0.1]:${strange.port}`, `${wrong}.pub`);
  await using ssh = new SshTransports([
    lab.host(sshd),
    lab.host(strange),
    lab.host({ name: "dead", port: freePort() }),
    lab.host({ name: "behind", port: freePort() }, { jumps: [{ host: "jump1" }] }),
  ]);
  const failure = async (alias: string, target: { host: string; port: number }): Promise<PosternError> => {
    const error = await ssh.to(alias).dial(target, { signal }).then(() => undefined, (error) => error);
    assert.ok(error instanceof PosternError);
    return error;
  };
  const target = { host: "127.0.0.1", port: freePort() };
  const refused = await failure("jump1", target);
  assert.deepEqual([refused.code, socks5Reply(refused)], ["refused", 5]);
  const unknown = await failure("jump1", { host: "missing.invalid", port: 80 });
  assert.deepEqual([unknown.code, socks5Reply(unknown)], ["name_not_found", 4]);
  for (const alias of ["dead", "behind"]) {
    const dead = await failure(alias, target);
    assert.deepEqual([dead.code, socks5Reply(dead)], ["unreachable", 4]);
    assert.match(dead.message, new RegExp(`^Cannot reach ssh ${alias} .*connection refused`, "i"));
  }
  const key = await failure("strange", target);
  assert.deepEqual([key.code, socks5Reply(key)], ["auth", 2]);
  assert.match(key.message, /SHA256:.*SHA256:/s);
  const state = ssh.to("strange");
  await assert.rejects(state.dial(target, { signal }));
  assert.equal(state.status().state, "failing");
  assert.match(state.status().lastError ?? "", /host key/);
});

peerTest(
  "Ssh rejects all dials through a silent jump host within ConnectTimeout",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const sshd = await lab.start("jump1");
    await using silent = new TargetServer(async (client) => {
      while (await client.some());
    });
    await using ssh = new SshTransports([
      lab.host(sshd),
      lab.host({ name: "silent", port: silent.port }, { connectTimeout: 700 }),
    ]);
    const transport = ssh.to("silent");
    const target = { host: "127.0.0.1", port: echo.port };
    const first = transport.dial(target, { signal });
    const second = transport.dial(target, { signal });
    const failures = Promise.allSettled([first, second]);
    await request(ssh.to("jump1"), echo.port);
    for (const outcome of await failures) {
      assert.equal(outcome.status, "rejected");
      assert.ok(outcome.reason instanceof PosternError);
      assert.equal(outcome.reason.code, "timeout");
      assert.match(outcome.reason.message, /ssh silent: no session within 0.7 s/);
    }
    assert.equal(silent.count, 1);
  },
);

peerTest("Ssh loses no request when the server kills its session", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump1");
  await using ssh = new SshTransports([lab.host(sshd)]);
  const transport = ssh.to("jump1");
  await request(transport, echo.port);
  const reconnects = () => transport.status().hops[0]?.reconnects ?? 0;
  for (let round = 0; round < 20; round++) {
    const before = reconnects();
    const killing = sshd.signalSessions("KILL");
    const conns = [];
    for (let at = 0; at < 5; at++) {
      const startedAt = performance.now();
      conns.push(await transport.dial({ host: "127.0.0.1", port: echo.port }, { signal }));
      assert.ok(performance.now() - startedAt < 2000);
    }
    await killing;
    for (const conn of conns) conn.abort();
    // A client dials: without one, the hop waits longer after each lost session.
    await eventually("the session is made again", async () => {
      (await transport.dial({ host: "127.0.0.1", port: echo.port }, { signal })).abort();
      return reconnects() > before;
    });
  }
});

peerTest("Ssh reconnects before the next dial", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump1");
  await using ssh = new SshTransports([lab.host(sshd)]);
  const transport = ssh.to("jump1");
  await request(transport, echo.port);
  await sshd.signalSessions("KILL");
  await eventually(
    "the hop signs in again",
    () => sshd.signIns === 2 && transport.status().state === "ready",
  );
  assert.match(transport.status().lastError ?? "", /ssh jump1/);
});

peerTest("Ssh serves new requests next to a frozen session", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump1");
  await using ssh = new SshTransports([lab.host(sshd)], { keepalive: 1000, deadAfter: 3000 });
  const transport = ssh.to("jump1");
  await request(transport, echo.port);
  await sshd.signalSessions("STOP");
  const startedAt = performance.now();
  await Promise.all([request(transport, echo.port), request(transport, echo.port)]);
  assert.ok(performance.now() - startedAt < 3000);
  assert.equal(sshd.signIns, 2);
  const again = performance.now();
  await request(transport, echo.port);
  assert.ok(performance.now() - again < 900);
  await eventually("the frozen session is closed", () => transport.status().hops[0]?.sessions === 1);
});

peerTest("Ssh keeps its sessions when the configuration is read again", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump1");
  let host = lab.host(sshd);
  await using ssh = new SshTransports([], { read: () => Promise.resolve(host) });
  const transport = ssh.to("jump1");
  const target = { host: "127.0.0.1", port: echo.port };
  await using standing = await transport.dial(target, { signal });
  await transport.prepare();
  await request(transport, echo.port);
  // Nothing has changed, so the session stays; another alias with the same settings shares it too.
  host = { ...host, alias: "renamed" };
  await request(ssh.to("renamed"), echo.port);
  assert.equal(sshd.signIns, 1);
  host = { ...host, ciphers: ["aes256-ctr"] };
  await transport.prepare();
  await request(transport, echo.port);
  assert.equal(sshd.signIns, 2);
  assert.deepEqual(await echoed(standing, patternBytes(1000)), patternBytes(1000));
});

peerTest(
  "Ssh shares a sign-in between dials, and continues it when one is aborted",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const sshd = await lab.start("jump1");
    await using ssh = new SshTransports([lab.host(sshd)]);
    const transport = ssh.to("jump1");
    const target = { host: "127.0.0.1", port: echo.port };
    const stop = new AbortController();
    const first = assert.rejects(transport.dial(target, { signal: stop.signal }), /enough/);
    const second = transport.dial(target, { signal });
    stop.abort(new Error("enough"));
    await first;
    (await second).abort();
    assert.equal(sshd.signIns, 1);
  },
);

Deno.test("Ssh finds a loop of jump hosts", async () => {
  await using ssh = new SshTransports([
    sshHost("a", { jumps: [{ host: "b" }] }),
    sshHost("b", { jumps: [{ host: "a" }] }),
  ]);
  const transport = ssh.to("a");
  const [note] = await transport.prepare();
  assert.equal(note?.severity, "blocking");
  assert.match(note.text, /a via b via a/);
  assert.equal(transport.status().state, "unusable");
});

peerTest("Ssh connects from the BindAddress", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump1", { config: ["LogLevel VERBOSE"] });
  await using ssh = new SshTransports([
    lab.host(sshd, { bindAddress: "127.0.0.1" }),
    lab.host(sshd, { alias: "elsewhere", bindAddress: "192.0.2.77" }),
    lab.host(sshd, { alias: "other", bindAddress: "::1" }),
  ]);
  await request(ssh.to("jump1"), echo.port);
  const target = { host: "127.0.0.1", port: echo.port };
  await assert.rejects(ssh.to("elsewhere").dial(target, { signal }), {
    code: "unreachable",
    message: /from 192\.0\.2\.77/,
  });
  await assert.rejects(ssh.to("other").dial(target, { signal }), { message: /has no IPv6 address/ });
});
