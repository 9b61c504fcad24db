import assert from "node:assert/strict";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createProcess } from "../../src/runtime/programs/process.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import type { PosternError } from "../../src/words/mod.ts";
import type { Process } from "../../src/world/mod.ts";
import { runProxyCommand } from "../../src/ssh/hops/proxy_command.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { SshTransports } from "../support/ssh_transports.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { echoServer } from "../support/target_server.ts";

const signal = new AbortController().signal;
const clock = systemClock;

/** A replacement for `nc HOST PORT` in an available language. */
const netcat = `import os, socket, sys, threading
far = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def up():
    while data := os.read(0, 65536): far.sendall(data)
    far.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while data := far.recv(65536):
    while data: data = data[os.write(1, data):]
`;

function services(shell: string) {
  const real = createProcess({ clock, files: createFiles(clock), main: "", flags: [] });
  const commands: Promise<unknown>[] = [];
  const pipe: Process["pipe"] = async (command, options) => {
    const program = await real.pipe(command, options);
    commands.push(program.ended);
    return program;
  };
  const process = { pipe, env: (name: string) => name === "SHELL" ? shell : undefined };
  return {
    runCommand: (command: string, options: { signal: AbortSignal; alias: string }) =>
      runProxyCommand(command, { process, clock }, options),
    /** Waits for the commands, which end slightly after their connections. */
    ended: () => Promise.all(commands),
  };
}

peerTest(
  "Ssh runs a ProxyCommand whose stdio is the connection",
  [...sshPeers, "python"],
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const sshd = await lab.start("jump1");
    await Deno.writeTextFile(`${lab.directory}/nc.py`, netcat);
    const command = `${paths.python} ${lab.directory}/nc.py 127.0.0.1 ${sshd.port}`;
    await using ssh = new SshTransports([
      // Only the command has the server's address.
      lab.host(sshd, {
        hostName: "jump1.invalid",
        hostKeyAlias: `[127.0.0.1]:${sshd.port}`,
        proxyCommand: command,
      }),
    ], { runCommand: services(paths.sh).runCommand });
    await using conn = await ssh.to("jump1").dial({ host: "127.0.0.1", port: echo.port }, { signal });
    const bytes = patternBytes(3_000_000);
    const [seen] = await Promise.all([readAll(conn), conn.write(bytes).then(() => conn.closeWrite())]);
    assert.deepEqual(seen, bytes);
    assert.equal(sshd.signIns, 1);
  },
);

peerTest("Ssh reports why a ProxyCommand failed", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const { runCommand, ended } = services(paths.sh);
  const to = (name: string, proxyCommand: string) => lab.host({ name, port: 22 }, { proxyCommand });
  await using ssh = new SshTransports([
    to("failing", "sh -c 'echo no route >&2; echo to that host >&2; exit 4'"),
    to("missing", "no-such-command-here"),
    to("silent", "sleep 60"),
    to("garbled", "echo hello"),
  ], { runCommand, connectTimeout: 1500 });
  const failure = (alias: string): Promise<PosternError> =>
    ssh.to(alias).dial({ host: "127.0.0.1", port: 1 }, { signal }).then(
      () => assert.fail(),
      (error) => error,
    );
  const failing = await failure("failing");
  assert.equal(failing.code, "unreachable");
  assert.match(failing.message, /^Cannot reach ssh failing .*with code 4 before .* data: to that host$/);
  assert.match((await failure("missing")).message, /with code 127 .*not found/);
  assert.match((await failure("garbled")).message, /^Cannot keep the session with ssh garbled/);
  assert.equal((await failure("silent")).code, "timeout");
  await ended();
});

peerTest(
  "runProxyCommand() ends the command with the dial, and with the connection",
  ["sh"],
  async ({ sh }) => {
    const directory = await Deno.makeTempDir();
    const { runCommand } = services(sh);
    const waiting = (name: string) =>
      `sh -c 'trap "echo > ${directory}/${name}_end; exit" TERM; echo > ${directory}/${name}; ` +
      `while :; do sleep 0.05; done'`;
    const there = (name: string) =>
      eventually(name, () => Deno.stat(`${directory}/${name}`).then(() => true, () => false));
    const stop = new AbortController();
    const dialing = assert.rejects(
      runCommand(waiting("dial"), { signal: stop.signal, alias: "jump1" }),
      /enough/,
    );
    await there("dial");
    stop.abort(new Error("enough"));
    await dialing;
    await there("dial_end");
    // A server may wait for its client to speak first.
    const conn = await runCommand(waiting("connection"), { signal, alias: "jump1" });
    const reading = assert.rejects(conn.read(new Uint8Array(1)), /dropped/);
    await there("connection");
    conn.abort(new Error("dropped"));
    await reading;
    await conn[Symbol.asyncDispose]();
    await there("connection_end");
    await Deno.remove(directory, { recursive: true });
  },
);
