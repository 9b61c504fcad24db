import assert from "node:assert/strict";
import { createFiles } from "../../src/runtime/files/files.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { SshConfigReader } from "../../src/ssh/config/ssh_config_reader.ts";
import type { ReadSshHost } from "../../src/ssh/hops/ssh_chain.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { peerTest } from "../support/peers.ts";
import { SshTransports } from "../support/ssh_transports.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";
import { echoServer } from "../support/target_server.ts";

const signal = new AbortController().signal;

/** Reads a configuration as a user would write it. */
async function reader(lab: SshLab, lines: readonly string[]): Promise<ReadSshHost> {
  const userConfig = `${lab.directory}/config`;
  const usual = [
    "Host *",
    `  User ${lab.user}`,
    `  IdentityFile ${lab.key}`,
    `  UserKnownHostsFile ${lab.knownHosts}`,
  ];
  await Deno.writeTextFile(userConfig, `${[...lines, ...usual].join("\n")}\n`);
  const config = new SshConfigReader({
    files: createFiles(systemClock),
    run: () => Promise.reject(new Error("no command expected")),
    clock: systemClock,
    signal,
    env: () => undefined,
    home: lab.directory,
    localUser: lab.user,
    uid: undefined,
    hostname: () => "here",
    userConfig,
  });
  return (alias, asked) => config.read(alias, asked);
}

const host = (name: string, { port }: Sshd, ...more: readonly string[]) => [
  `Host ${name}`,
  "  HostName 127.0.0.1",
  `  Port ${port}`,
  ...more.map((line) => `  ${line}`),
];

const cases: readonly { name: string; lines: (a: Sshd, b: Sshd, lab: SshLab) => readonly string[] }[] = [
  { name: "ProxyJump", lines: (a, b) => [...host("a", a), ...host("b", b, "ProxyJump a")] },
  {
    name: "ProxyJump user@host:port",
    lines: (a, b, lab) => [...host("b", b, `ProxyJump ${lab.user}@127.0.0.1:${a.port}`)],
  },
  {
    name: "ProxyCommand ssh -W %h:%p -- jump",
    lines: (a, b) => [...host("a", a), ...host("b", b, "ProxyCommand ssh -W %h:%p -- a")],
  },
  {
    name: "ProxyCommand ssh -q -W h:p jump",
    lines: (a, b) => [...host("a", a), ...host("b", b, `ProxyCommand ssh -q -W 127.0.0.1:${b.port} a`)],
  },
  {
    name: "Include, Match host and Host *.wild",
    lines: (a, b) => [
      ...host("a*", a),
      "Match host b",
      "  HostName 127.0.0.1",
      `  Port ${b.port}`,
      "  ProxyJump a.wild",
    ],
  },
];
for (const { name, lines } of cases) {
  peerTest(`Ssh understands ${name}`, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const [a, b] = [await lab.start("a"), await lab.start("b")];
    await using ssh = new SshTransports([], { read: await reader(lab, lines(a, b, lab)) });
    await using conn = await ssh.to("b").dial({ host: "127.0.0.1", port: echo.port }, { signal });
    const [seen] = await Promise.all([
      readAll(conn),
      conn.write(patternBytes(500)).then(() => conn.closeWrite()),
    ]);
    assert.deepEqual(seen, patternBytes(500));
    assert.deepEqual([a.signIns, b.signIns], [1, 1]);
  });
}

peerTest("Ssh names file and line of an unsupported option", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const lines = [
    "Host misspelled",
    "  ProxyJmup a",
    "Host command",
    "  HostName 127.0.0.1",
    "  ProxyCommand nc %h %p",
  ];
  await using ssh = new SshTransports([], { read: await reader(lab, lines) });
  const target = { host: "127.0.0.1", port: 1 };
  await assert.rejects(ssh.to("misspelled").dial(target, { signal }), {
    code: "config",
    message: /config:2: .*ProxyJmup/i,
  });
  const notes = await ssh.to("misspelled").prepare();
  assert.deepEqual(notes.map(({ severity }) => severity), ["blocking"]);
  assert.match(notes[0]?.text ?? "", /config:2: .*did you mean "ProxyJump"/);
  await assert.rejects(ssh.to("command").dial(target, { signal }), {
    code: "config",
    hint: "use engine: openssh for this host",
  });
});
