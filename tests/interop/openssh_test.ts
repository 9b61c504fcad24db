import assert from "node:assert/strict";
import type { Conn } from "../../src/core/mod.ts";
import { PosternError, socks5Reply } from "../../src/words/mod.ts";
import type { Openssh } from "../../src/ssh/openssh/openssh.ts";
import { readAll } from "../support/memory_conn.ts";
import { hostLines, OpensshLab, opensshPeers } from "../support/openssh_lab.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { eventually, freePort, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { SshLab } from "../support/sshd.ts";
import { echoServer, TargetServer } from "../support/target_server.ts";

const signal = new AbortController().signal;

async function echoed(conn: Conn, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const [seen] = await Promise.all([readAll(conn), conn.write(bytes).then(() => conn.closeWrite())]);
  return seen;
}

async function request(host: Openssh, port: number): Promise<void> {
  await using conn = await host.dial({ host: "127.0.0.1", port }, { signal });
  assert.equal((await echoed(conn, patternBytes(100))).length, 100);
}

async function failure(host: Openssh, target: { host: string; port: number }): Promise<PosternError> {
  const error = await host.dial(target, { signal }).then(() => undefined, (error) => error);
  assert.ok(error instanceof PosternError, `${error}`);
  return error;
}

peerTest(
  "Openssh dials through the ssh program, 32 at once with one sign-in",
  opensshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const sshd = await lab.start("jump1");
    await using openssh = await OpensshLab.create(lab, [hostLines(lab, sshd)]);
    const host = openssh.to("jump1");
    const steps: string[] = [];
    const bytes = patternBytes(300_000);
    const conns = await Promise.all(
      Array.from(
        { length: 32 },
        () =>
          host.dial({ host: "127.0.0.1", port: echo.port }, { signal, onStep: (step) => steps.push(step) }),
      ),
    );
    for (
      const seen of await Promise.all(conns.map((conn) => echoed(conn, bytes)))
    ) {
      assert.deepEqual(seen, bytes);
    }
    for (const conn of conns) await conn[Symbol.asyncDispose]();
    assert.equal(sshd.signIns, 1);
    const { state, address, sessions, reconnects, roundTripMs = NaN } = host.status();
    assert.deepEqual([state, address, sessions, reconnects], ["ready", `127.0.0.1:${sshd.port}`, 1, 0]);
    assert.ok(roundTripMs > 0 && roundTripMs < 1000);
    assert.ok(steps.includes("signed in to ssh jump1"));
  },
);

peerTest("Openssh keeps the half-close of either side", opensshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using target = new TargetServer(async (client) => {
    let seen = 0;
    for (let bytes = await client.some(); bytes; bytes = await client.some()) seen += bytes.length;
    await client.send(new TextEncoder().encode(`${seen}`));
  });
  const sshd = await lab.start("jump1");
  await using openssh = await OpensshLab.create(lab, [hostLines(lab, sshd)]);
  await using conn = await openssh.to("jump1").dial({ host: "127.0.0.1", port: target.port }, { signal });
  assert.equal(new TextDecoder().decode(await echoed(conn, patternBytes(5_000_000))), "5000000");
});

peerTest("Openssh reports why a target fails", opensshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1", { config: ["PermitOpen 127.0.0.1:* missing.invalid:*"] });
  await using openssh = await OpensshLab.create(lab, [hostLines(lab, sshd)]);
  const host = openssh.to("jump1");
  const refused = await failure(host, { host: "127.0.0.1", port: freePort() });
  assert.deepEqual([refused.code, socks5Reply(refused)], ["refused", 5]);
  const unknown = await failure(host, { host: "missing.invalid", port: 80 });
  assert.deepEqual([unknown.code, socks5Reply(unknown)], ["name_not_found", 4]);
  const prohibited = await failure(host, { host: "127.0.0.2", port: 80 });
  assert.deepEqual([prohibited.code, socks5Reply(prohibited)], ["not_allowed", 2]);
  assert.equal(sshd.signIns, 1);
});

peerTest("Openssh reports why a jump host fails", opensshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  const strange = await lab.start("strange");
  const wrong = await lab.makeKey("wrong");
  await Deno.writeTextFile(lab.knownHosts, "");
  await lab.know(`[127.0.0.1]:${sshd.port}`, `${sshd.keys[0]}.pub`);
  await lab.know(`[127.0.0.1]:${strange.port}`, `${wrong}.pub`);
  await using silent = new TargetServer(async (client) => {
    while (await client.some());
  });
  const dead = { name: "dead", port: freePort() };
  await using openssh = await OpensshLab.create(lab, [
    "IdentityAgent none",
    hostLines(lab, sshd),
    hostLines(lab, strange),
    hostLines(lab, dead),
    hostLines(lab, { name: "behind_dead", port: sshd.port }, "ProxyJump dead"),
    hostLines(lab, { name: "silent", port: silent.port }),
    hostLines(lab, { name: "locked", port: sshd.port }, `PubkeyAuthentication no`),
    hostLines(lab, { name: "unnamed", port: 22 }).replace("HostName 127.0.0.1", "HostName missing.invalid"),
    hostLines(lab, { name: "unheard", port: strange.port }, "HostKeyAlias unheard"),
  ]);
  const target = { host: "127.0.0.1", port: freePort() };
  const cases = [
    {
      alias: "strange",
      code: "auth",
      message: /^Cannot trust the host key of ssh host "strange": .*SHA256:.*known_hosts:2/,
    },
    {
      alias: "unheard",
      code: "auth",
      message: /^Cannot trust the host key of ssh host "unheard": No .* known for unheard/,
    },
    { alias: "dead", code: "unreachable", message: /^Cannot reach ssh dead: .*Connection refused/ },
    {
      alias: "behind_dead",
      code: "unreachable",
      message: /^Cannot reach ssh behind_dead: .*Connection refused/,
    },
    { alias: "locked", code: "auth", message: /^Cannot sign in to ssh locked: .*Permission denied/ },
    { alias: "unnamed", code: "unreachable", message: /^Cannot reach ssh unnamed: .*not resolve hostname/ },
  ] as const;
  for (const { alias, code, message } of cases) {
    const host = openssh.to(alias);
    const error = await failure(host, target);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.match(error.hint ?? "", new RegExp(`ssh (-v )?${alias}`));
    assert.equal(host.status().state, "failing");
  }
  const late = await failure(openssh.to("silent", { times: { connectTimeout: 1000 } }), target);
  assert.equal(late.code, "timeout");
  // A configuration that ssh itself rejects.
  await using broken = await OpensshLab.create(lab, ["Host odd", "  NoSuchOption yes"]);
  const odd = await failure(broken.to("odd"), target);
  assert.equal(odd.code, "config");
  assert.match(odd.message, /NoSuchOption|configuration option/i);
});

peerTest(
  "Openssh uses jump hosts from the configuration and from its options",
  opensshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const [a, b] = [await lab.start("a"), await lab.start("b")];
    await using openssh = await OpensshLab.create(lab, [
      hostLines(lab, a),
      hostLines(lab, b, "ProxyJump a"),
      hostLines(lab, { name: "straight", port: 1 }),
    ]);
    await request(openssh.to("b"), echo.port);
    assert.deepEqual([a.signIns, b.signIns], [1, 1]);
    await request(
      openssh.to("straight", { port: b.port, user: lab.user, jumps: [{ host: "a" }] }),
      echo.port,
    );
    assert.deepEqual([a.signIns, b.signIns], [2, 2]);
  },
);

peerTest(
  "Openssh loses no request when its session is killed at the server",
  opensshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const sshd = await lab.start("jump1");
    await using openssh = await OpensshLab.create(lab, [hostLines(lab, sshd)]);
    const host = openssh.to("jump1");
    await request(host, echo.port);
    for (let round = 0; round < 10; round++) {
      await sshd.signalSessions("KILL");
      for (let at = 0; at < 3; at++) {
        const startedAt = performance.now();
        (await host.dial({ host: "127.0.0.1", port: echo.port }, { signal })).abort();
        assert.ok(performance.now() - startedAt < 3000);
      }
    }
    assert.ok(host.status().reconnects >= 8, `${host.status().reconnects} reconnects`);
    assert.match(host.status().lastError ?? "", /^Cannot keep the session with ssh jump1: /);
  },
);

peerTest(
  "Openssh opens another session next to a frozen one, and drops the frozen one",
  opensshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const sshd = await lab.start("jump1");
    await using openssh = await OpensshLab.create(lab, [hostLines(lab, sshd)]);
    const host = openssh.to("jump1");
    await request(host, echo.port);
    await sshd.signalSessions("STOP");
    const startedAt = performance.now();
    await request(host, echo.port);
    assert.ok(performance.now() - startedAt < 3000);
    assert.equal(sshd.signIns, 2);
    await eventually("the frozen session is dropped", () => host.status().sessions === 1);
  },
);

/** The processes whose command line contains a text. */
async function processesWith(sh: string, text: string): Promise<string[]> {
  const script = 'for at in /proc/[0-9]*; do case "$(tr "\\0" " " <$at/cmdline 2>/dev/null)" in ' +
    '*"$1"*) [ $at = /proc/$$ ] || echo ${at#/proc/};; esac; done';
  const { stdout } = await runPeer(sh, ["-c", script, "sh", text]);
  return stdout.split("\n").filter((pid) => pid !== "");
}

/** The number of TCP sockets on which a process listens. */
async function portsOf(sh: string, pid: string): Promise<number> {
  const script = 'for at in $(readlink /proc/$1/fd/* | sed -n "s/^socket:.\\([0-9]*\\).$/\\1/p"); do ' +
    "cat /proc/net/tcp /proc/net/tcp6 | awk -v inode=$at '$4 == \"0A\" && $10 == inode'; done";
  const { stdout, stderr } = await runPeer(sh, ["-c", script, "sh", pid]);
  assert.equal(stderr, "");
  return stdout.split("\n").filter((line) => line !== "").length;
}

/** The dependencies of the engine. */
const grants = [
  ...["--allow-net", "--allow-read", "--allow-write", "--allow-env=POSTERN_HOPS", "--allow-sys=uid"],
  "--allow-run=ssh,/bin/sh",
];
const onLinux = { platforms: ["linux"] } as const;

peerTest("Openssh opens no port, and leaves no process and no file", opensshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump1");
  const openssh = await OpensshLab.create(lab, [hostLines(lab, sshd)]);
  const host = openssh.to("jump1");
  await request(host, echo.port);
  const [pid = "", ...others] = await processesWith(paths.sh, openssh.parent);
  // ssh and its guard.
  assert.equal(others.length, 1);
  for (const found of [pid, ...others]) assert.equal(await portsOf(paths.sh, found), 0);
  const [name = ""] = (await openssh.files.list(openssh.parent)).filter((name) => !name.endsWith(".lock"));
  const { mode = 0 } = await openssh.files.info(`${openssh.parent}/${name}`) ?? {};
  assert.equal(mode.toString(8), "700");
  await using open = await host.dial({ host: "127.0.0.1", port: echo.port }, { signal });
  const reading = assert.rejects(open.read(new Uint8Array(1)));
  await openssh[Symbol.asyncDispose]();
  await reading;
  await eventually(
    "no process runs",
    async () => (await processesWith(paths.sh, openssh.parent)).length === 0,
  );
  assert.deepEqual(await openssh.files.list(openssh.parent), []);
  await assert.rejects(host.dial({ host: "127.0.0.1", port: echo.port }, { signal }), { code: "cancelled" });
}, onLinux);

peerTest(
  "Openssh ends the ssh program when postern is killed, and removes its files",
  opensshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const sshd = await lab.start("jump1");
    await using openssh = await OpensshLab.create(lab, [hostLines(lab, sshd)]);
    const holder = new URL("../support/openssh_holder.ts", import.meta.url).pathname;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", ...grants, "--no-check", holder, openssh.parent, openssh.config, "jump1"],
      stdin: "null",
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "ready\n");
    const socket = `${openssh.parent}/`;
    assert.equal((await processesWith(paths.sh, socket)).length, 2);
    child.kill("SIGKILL");
    await child.status;
    await reader.cancel();
    await eventually("ssh ends", async () => (await processesWith(paths.sh, socket)).length === 0);
    assert.equal((await openssh.files.list(openssh.parent)).length, 2);
    // A master whose guard was killed too: only its socket identifies it.
    const lost = `${openssh.parent}/ssh-00000000`;
    await openssh.files.privateDirectory(lost);
    await Deno.writeTextFile(`${lost}.lock`, "", { mode: 0o600 });
    const orphan = new Deno.Command(paths.ssh, {
      args: ["-F", openssh.config, "-M", "-N", "-S", `${lost}/1`, "-o", "ControlPersist=no", "jump1"],
      stdin: "null",
      stderr: "null",
    }).spawn();
    await eventually("the master exists", async () => await openssh.files.info(`${lost}/1`) !== undefined);
    await request(openssh.to("jump1"), echo.port);
    await orphan.status;
    assert.equal((await openssh.files.list(openssh.parent)).length, 2);
    assert.equal(openssh.log.lines.filter(({ event }) => event === "ssh.leftover").length, 2);
  },
  onLinux,
);

peerTest("Openssh opens another session after many refusals in one", opensshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump1");
  await using openssh = await OpensshLab.create(lab, [hostLines(lab, sshd)]);
  const host = openssh.to("jump1");
  const closed = { host: "127.0.0.1", port: freePort() };
  await using kept = await host.dial({ host: "127.0.0.1", port: echo.port }, { signal });
  for (let round = 0; round < 11; round++) {
    const codes = await Promise.all(Array.from({ length: 100 }, () => failure(host, closed)));
    assert.ok(codes.every(({ code }) => code === "refused"));
  }
  await request(host, echo.port);
  assert.equal(sshd.signIns, 2);
  assert.equal((await echoed(kept, patternBytes(1000))).length, 1000);
});
