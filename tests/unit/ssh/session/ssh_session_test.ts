import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { readAll } from "../../../support/memory_conn.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";
import { SshSession } from "../../../../src/ssh/session/ssh_session.ts";
import { memoryCipher, MemorySsh, MemorySshServer } from "../../../support/ssh_server.ts";

const signal = new AbortController().signal;
const target = { host: "target.example", port: 80 };

Deno.test("SshSession rejects everything with one error when its connection breaks", async () => {
  await using ssh = await MemorySsh.open();
  const conn = await ssh.session.connect(target, { signal });
  const reading = conn.read(new Uint8Array(1)).then(() => undefined, (error) => error);
  ssh.drop();
  await ssh.session.ended;
  const error = await reading;
  assert.ok(error instanceof PosternError);
  assert.equal(error.code, "unreachable");
  assert.equal(error, ssh.session.reason);
  await assert.rejects(conn.write(Uint8Array.of(1)), error);
  await assert.rejects(ssh.session.connect(target, { signal }), error);
});

Deno.test("SshSession delivers the data that arrived before its connection broke", async () => {
  await using ssh = await MemorySsh.open();
  const conn = await ssh.session.connect(target, { signal });
  await ssh.far[0]?.write(patternBytes(1000));
  const into = new Uint8Array(100);
  assert.equal(await conn.read(into), 100);
  ssh.drop();
  await ssh.session.ended;
  const seen: number[] = [];
  await assert.rejects(async () => {
    while (true) seen.push(await conn.read(into) ?? assert.fail("ended"));
  }, { code: "unreachable" });
  assert.equal(seen.reduce((sum, count) => sum + count, 0), 900);
});

Deno.test("SshSession aborts an open with the signal, and closes a late channel", async () => {
  await using ssh = await MemorySsh.open({ onChannel: (to) => to.includes("silent") ? "ignore" : "accept" });
  const stop = new AbortController();
  const failing = assert.rejects(
    ssh.session.connect({ host: "silent.example", port: 1 }, { signal: stop.signal }),
    /too slow/,
  );
  const late = assert.rejects(ssh.session.connect(target, { signal: stop.signal }), /too slow/);
  stop.abort(new Error("too slow"));
  await Promise.all([failing, late]);
  // Answers arrive in order: the late channel came before this one, and the server has closed its end.
  await using conn = await ssh.session.connect(target, { signal });
  assert.equal(await ssh.far[0]?.read(new Uint8Array(1)).catch(() => null), null);
  assert.equal(conn.peer, "target.example:80 (ssh memory)");
});

Deno.test("SshSession survives a refusal, and names target and server", async () => {
  await using ssh = await MemorySsh.open({ onChannel: () => "refuse" });
  await assert.rejects(ssh.session.connect(target, { signal }), {
    code: "unreachable",
    message: /^Cannot reach target\.example:80 through ssh memory/,
  });
  assert.equal(ssh.session.isOver, false);
});

for (const kind of ["forwarded", "x11"] as const) {
  Deno.test(`SshSession refuses a channel that the server opens (${kind}), and continues`, async () => {
    await using ssh = await MemorySsh.open();
    await using conn = await ssh.session.connect(target, { signal });
    const refusal = await ssh.openBack(kind);
    assert.match(refusal?.message ?? "it was accepted", /Channel open failure/);
    await conn.write(Uint8Array.of(7));
    assert.equal(await ssh.far[0]?.read(new Uint8Array(1)), 1);
    assert.equal(ssh.session.channels, 1);
  });
}

Deno.test("SshSession counts its channels, and removes closed ones", async () => {
  await using ssh = await MemorySsh.open();
  for (let round = 0; round < 50; round++) {
    const conns = await Promise.all([1, 2, 3, 4].map(() => ssh.session.connect(target, { signal })));
    assert.ok(ssh.session.channels >= 4);
    const far = ssh.far.slice(-4);
    await Promise.all(conns.map(async (conn, at) => {
      await conn.closeWrite();
      await far[at]?.closeWrite();
      assert.deepEqual(await readAll(conn), new Uint8Array());
    }));
    // The server's messages about the last four channels precede its answer to the next.
    const next = await ssh.session.connect(target, { signal });
    assert.equal(ssh.session.channels, 1);
    next.abort();
    const last = await ssh.session.connect(target, { signal });
    assert.equal(ssh.session.channels, 1);
    await last[Symbol.asyncDispose]();
    await assert.rejects(
      ssh.session.connect(target, { signal: AbortSignal.abort(new Error("late")) }),
      /late/,
    );
    await (await ssh.session.connect(target, { signal }))[Symbol.asyncDispose]();
  }
});

Deno.test("SshSession sends keepalives to a silent server, and measures the round trip", async () => {
  const clock = new FakeClock();
  await using ssh = await MemorySsh.open({ clock });
  for (let round = 0; round < 5; round++) {
    // The answer precedes that to the next request.
    await (await ssh.session.connect(target, { signal }))[Symbol.asyncDispose]();
    assert.equal(ssh.session.roundTrip, 0);
    await clock.advance(3000);
  }
  assert.equal(ssh.session.isOver, false);
  await clock.advance(6000);
  assert.equal(ssh.session.isOver, true);
  assert.match(String(ssh.session.reason), /no data for/);
});

Deno.test("SshSession.open() waits for the host key check when it is aborted", async () => {
  await using server = await MemorySshServer.start();
  const stop = new AbortController();
  const [checking, checked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isOver = false;
  const opening = SshSession.open(await server.connect(), {
    label: "ssh memory",
    clock: new FakeClock(),
    algorithms: { ciphers: [memoryCipher] },
    verifyHostKey: () => {
      checking.resolve();
      return checked.promise;
    },
    signIn: () => Promise.resolve(),
    keepalive: 3000,
    deadAfter: 6000,
    signal: stop.signal,
  }).finally(() => isOver = true);
  const failed = assert.rejects(opening, /aborted/);
  await checking.promise;
  stop.abort(new Error("aborted"));
  await settle();
  assert.equal(isOver, false);
  checked.resolve();
  await failed;
});
