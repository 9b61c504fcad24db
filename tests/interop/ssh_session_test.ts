import assert from "node:assert/strict";
import { silentLog } from "../../src/core/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { HostKeys } from "../../src/ssh/host_keys/host_keys.ts";
import { openSshSession } from "../../src/ssh/session/open_ssh_session.ts";
import type { SshHost } from "../../src/ssh/mod.ts";
import type { SshSession } from "../../src/ssh/session/ssh_session.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { freePort } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { echoServer, TargetServer } from "../support/target_server.ts";

const signal = new AbortController().signal;
const network = createNetwork();
const clock = systemClock;
const files = createFiles(clock);

async function session(host: SshHost): Promise<SshSession> {
  const conn = await network.connect({ host: host.hostName, port: host.port }, { signal });
  const hostKeys = new HostKeys({ files, clock, log: silentLog });
  return await openSshSession(conn, host, {
    deps: { network, clock, files, hostKeys, keepalive: 3000, deadAfter: 6000 },
    signal,
  });
}

peerTest("SshSession transfers bytes both ways to a target of sshd", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  await using echo = echoServer();
  await using ssh = await session(lab.host(sshd));
  await using conn = await ssh.connect({ host: "127.0.0.1", port: echo.port }, { signal });
  const sent = patternBytes(3_000_000);
  const [seen] = await Promise.all([readAll(conn), conn.write(sent).then(() => conn.closeWrite())]);
  assert.deepEqual(seen, sent);
  assert.equal(sshd.signIns, 1);
});

peerTest("SshSession passes on a half-close", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  await using target = new TargetServer(async (client) => {
    let count = 0;
    for (let bytes = await client.some(); bytes; bytes = await client.some()) count += bytes.length;
    await client.send(new TextEncoder().encode(`got ${count} bytes`));
  });
  await using ssh = await session(lab.host(sshd));
  await using conn = await ssh.connect({ host: "127.0.0.1", port: target.port }, { signal });
  await conn.write(patternBytes(1000));
  await conn.closeWrite();
  assert.equal(new TextDecoder().decode(await readAll(conn)), "got 1000 bytes");
});

peerTest("SshSession reports why sshd refuses a channel", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  await using ssh = await session(lab.host(sshd));
  await assert.rejects(ssh.connect({ host: "127.0.0.1", port: freePort() }, { signal }), {
    code: "refused",
    message: /through ssh jump1: Connection refused/,
  });
  await assert.rejects(ssh.connect({ host: "missing.invalid", port: 80 }, { signal }), {
    code: "name_not_found",
  });
});
