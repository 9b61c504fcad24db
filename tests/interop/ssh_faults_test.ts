import assert from "node:assert/strict";
import type { Conn } from "../../src/core/mod.ts";
import { PosternError } from "../../src/words/mod.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { eventually } from "../support/peer_program.ts";
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

for (const cipher of ["chacha20-poly1305@openssh.com", "aes128-gcm@openssh.com", "aes128-ctr"]) {
  peerTest(`an ssh session changes its keys under load (${cipher})`, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const sshd = await lab.start("jump1", { config: ["RekeyLimit 1M", "LogLevel DEBUG1"] });
    await using ssh = new SshTransports([lab.host(sshd, { ciphers: [cipher] })]);
    const transport = ssh.to("jump1");
    const bytes = patternBytes(3_000_000);
    await Promise.all([1, 2, 3].map(async () => {
      await using conn = await transport.dial({ host: "127.0.0.1", port: echo.port }, { signal });
      assert.deepEqual(await echoed(conn, bytes), bytes);
    }));
    assert.ok((sshd.log.match(/SSH2_MSG_NEWKEYS received/g)?.length ?? 0) > 5);
    assert.equal(transport.status().hops[0]?.reconnects, 0);
  });
}

peerTest("an ssh session changes its keys during 32 uploads", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using sink = new TargetServer(async (client) => {
    let count = 0;
    for (let bytes = await client.some(); bytes; bytes = await client.some()) count += bytes.length;
    await client.send(`${count}`);
  });
  const sshd = await lab.start("jump1", { config: ["RekeyLimit 4M", "LogLevel DEBUG1"] });
  await using ssh = new SshTransports([lab.host(sshd)]);
  const transport = ssh.to("jump1");
  const bytes = patternBytes(8_000_000);
  await Promise.all(Array.from({ length: 32 }, async () => {
    await using conn = await transport.dial({ host: "127.0.0.1", port: sink.port }, { signal });
    assert.equal(new TextDecoder().decode(await echoed(conn, bytes)), `${bytes.length}`);
  }));
  assert.ok((sshd.log.match(/SSH2_MSG_NEWKEYS received/g)?.length ?? 0) > 1);
  assert.equal(transport.status().hops[0]?.reconnects, 0);
});

peerTest("an ssh session serves 500 concurrent connections, and releases them", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump1");
  await using ssh = new SshTransports([lab.host(sshd)]);
  const transport = ssh.to("jump1");
  const conns = await Promise.all(
    Array.from({ length: 500 }, () => transport.dial({ host: "127.0.0.1", port: echo.port }, { signal })),
  );
  assert.equal(transport.status().hops[0]?.channels, 500);
  for (
    const [at, seen] of (await Promise.all(conns.map((conn, at) => echoed(conn, patternBytes(at))))).entries()
  ) {
    assert.equal(seen.length, at);
  }
  for (const conn of conns) await conn[Symbol.asyncDispose]();
  await eventually("no channel is left", () => transport.status().hops[0]?.channels === 0);
  assert.equal(sshd.signIns, 1);
});

peerTest("a client that stops reading blocks no other, and little data", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  let sent = 0;
  await using flood = new TargetServer(async (client) => {
    const bytes = patternBytes(64 * 1024);
    while (true) {
      await client.send(bytes);
      sent += bytes.length;
    }
  });
  const sshd = await lab.start("jump1");
  await using ssh = new SshTransports([lab.host(sshd)]);
  const transport = ssh.to("jump1");
  const stuck = await transport.dial({ host: "127.0.0.1", port: flood.port }, { signal });
  await stuck.read(new Uint8Array(1000));
  for (let round = 0; round < 20; round++) {
    await using conn = await transport.dial({ host: "127.0.0.1", port: echo.port }, { signal });
    assert.equal((await echoed(conn, patternBytes(300_000))).length, 300_000);
  }
  // The window, plus the buffers of kernels and sshd.
  assert.ok(sent < 16 * 1024 * 1024, `${sent} bytes without a reader`);
  stuck.abort();
});

const strange: readonly { name: string; serve: readonly number[] | string; code: string }[] = [
  { name: "speaks HTTP", serve: "HTTP/1.1 400 Bad Request\r\n\r\n", code: "unreachable" },
  { name: "speaks without end of line", serve: "x".repeat(100_000), code: "protocol" },
  { name: "closes immediately", serve: "", code: "unreachable" },
  { name: "closes after its name", serve: "SSH-2.0-strange\r\n", code: "unreachable" },
  { name: "speaks junk after its name", serve: `SSH-2.0-strange\r\n${"\xff".repeat(200)}`, code: "protocol" },
  { name: "speaks an old ssh", serve: "SSH-1.5-old\r\n", code: "protocol" },
];
for (const { name, serve, code } of strange) {
  Deno.test(`a jump host that ${name} causes an immediate error`, async () => {
    await using server = new TargetServer(async (client) => {
      await client.send(Uint8Array.from(serve as string, (character) => character.charCodeAt(0)));
    });
    const host = sshHost("strange", { port: server.port });
    await using ssh = new SshTransports([host]);
    const transport = ssh.to("strange");
    const error = await transport.dial({ host: "127.0.0.1", port: 1 }, { signal }).catch((error) => error);
    assert.ok(error instanceof PosternError);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, /ssh strange/);
    assert.equal(transport.status().state, "failing");
  });
}

peerTest("a hundred sessions die together, and each reconnects on demand", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump1");
  const hosts = Array.from(
    { length: 100 },
    (_, at) => lab.host(sshd, { alias: `h${at}`, serverAliveInterval: 3000 + at }),
  );
  await using ssh = new SshTransports(hosts);
  const transports = hosts.map(({ alias }) => ssh.to(alias));
  const target = { host: "127.0.0.1", port: echo.port };
  const conns = await Promise.all(transports.map((transport) => transport.dial(target, { signal })));
  assert.equal(sshd.signIns, 100);
  await sshd.signalSessions("KILL");
  for (const conn of conns) await assert.rejects(readAll(conn), { code: "unreachable" });
  const again = await Promise.all(transports.map((transport) => transport.dial(target, { signal })));
  for (const conn of again) conn.abort();
});
