import assert from "node:assert/strict";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { throughSocks5 } from "../support/raw_client.ts";
import { SshAgent, sshAgentPeers } from "../support/ssh_agent.ts";
import { type Instance, openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";
import { TargetServer } from "../support/target_server.ts";

/** One host with three keys, and one that is reached through it. */
interface Servers {
  readonly lab: SshLab;
  readonly a: Sshd;
  readonly b: Sshd;
}

interface Row {
  readonly row: string;
  readonly lines: (servers: Servers) => readonly string[] | Promise<readonly string[]>;
  readonly signIns?: readonly number[];
}

/** Possible ssh configurations; the transport is always `{ ssh: b }`. */
const rows: readonly Row[] = [
  {
    row: "known_hosts with ed25519 alone, where the server has more",
    lines: async ({ lab, b }) => {
      await keepLines(lab, (line) => !line.includes(`:${b.port} `) || line.includes(" ssh-ed25519 "));
      return sshHostLines("b", b);
    },
    signIns: [0, 1],
  },
  {
    row: "HostKeyAlias with a port that is not 22, and the alias alone in known_hosts",
    lines: async ({ lab, b }) => {
      await keepLines(lab, (line) => !line.includes(`:${b.port} `));
      await lab.know("plain-alias", `${b.keys[0]}.pub`);
      return sshHostLines("b", b, "HostKeyAlias plain-alias");
    },
    signIns: [0, 1],
  },
  {
    row: "ProxyJump a,c",
    lines: ({ a, b }) => [
      ...sshHostLines("a", a),
      ...sshHostLines("c", a, "ProxyJump ignored-for-the-list"),
      ...sshHostLines("b", b, "ProxyJump a,c"),
    ],
    signIns: [2, 1],
  },
  {
    row: "ProxyJump user@127.0.0.1:PORT",
    lines: ({ lab, a, b }) => sshHostLines("b", b, `ProxyJump ${lab.user}@127.0.0.1:${a.port}`),
  },
  {
    row: "ProxyCommand ssh -W %h:%p -- jump",
    lines: ({ a, b }) => [...sshHostLines("a", a), ...sshHostLines("b", b, "ProxyCommand ssh -W %h:%p -- a")],
  },
  {
    row: "ProxyCommand ssh -q -W host:port jump",
    lines: ({ a, b }) => [
      ...sshHostLines("a", a),
      ...sshHostLines("b", b, `ProxyCommand ssh -q -W 127.0.0.1:${b.port} a`),
    ],
  },
  {
    row: "Include, Match host and Host *.wild",
    lines: async ({ lab, a, b }) => {
      const included = `${lab.directory}/included.conf`;
      await Deno.writeTextFile(included, `${sshHostLines("*.wild", a).join("\n")}\n`);
      return [
        `Include ${included}`,
        "Match host b",
        "  HostName 127.0.0.1",
        `  Port ${b.port}`,
        "  ProxyJump a.wild",
      ];
    },
  },
];

for (const { row, lines, signIns = [1, 1] } of rows) {
  peerTest(row, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    const a = await lab.start("a");
    const b = await lab.start("b", { hostKeys: ["ed25519", "ecdsa", "rsa"] });
    const ssh = await lines({ lab, a, b });
    await using home = await openSshHousehold(lab, { ssh, postern: only("b") });
    await using instance = await home.instance();
    await greeted(instance);
    assert.deepEqual([a.signIns, b.signIns], signIns);
  });
}

peerTest("ProxyCommand runs another program", [...sshPeers, "bash"], async (paths) => {
  await using lab = await SshLab.create(paths);
  const b = await lab.start("b");
  const script = `exec 3<>/dev/tcp/%h/%p; cat <&3 & cat >&3; wait`;
  await using home = await openSshHousehold(lab, {
    ssh: sshHostLines("b", b, `ProxyCommand ${paths.bash} -c "${script}"`),
    postern: only("b"),
  });
  await using instance = await home.instance();
  await greeted(instance);
  assert.equal(b.signIns, 1);
});

const refusals: readonly { row: string; lines: (a: Sshd) => readonly string[]; says: RegExp }[] = [
  {
    row: "a start reports jump hosts that lead back to themselves",
    lines: (a) => [...sshHostLines("b", a, "ProxyJump c"), ...sshHostLines("c", a, "ProxyJump b")],
    says: /b via c via b/,
  },
  {
    row: "a start reports a misspelled option with file and line",
    lines: (a) => sshHostLines("b", a, "ProxyJmup a"),
    says: /ssh_config:4: ProxyJmup/i,
  },
];

for (const { row, lines, says } of refusals) {
  peerTest(row, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    const a = await lab.start("a");
    await using home = await openSshHousehold(lab, {
      ssh: [...lines(a), ...sshHostLines("good", a)],
      postern: [
        "transports: { b: { ssh: b }, good: { ssh: good } }",
        "routes: [{ to: b.example, via: b }]",
        "default: good",
      ],
    });
    const told = new RegExp(`transport\\.unusable transport=b .*${says.source}`, "i");
    await using instance = await home.instance();
    await instance.says(told);
    const check = await home.run(["config", "check"]);
    assert.match(check.stdout + check.stderr, says);
    await assert.rejects(throughSocks5(await instance.address(), { host: "b.example", port: 80 }), /reply 1/);
    await instance.says(new RegExp(`target=b\\.example:80 .*${says.source}`, "i"));
    await greeted(instance);
  });
}

peerTest("without an agent, postern uses key files", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const a = await lab.start("a");
  await using home = await openSshHousehold(lab, { ssh: sshHostLines("b", a), postern: only("b") });
  await using instance = await home.instance();
  await greeted(instance);
  assert.equal(a.signIns, 1);
});

peerTest("without an agent and keys, the error has a hint", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const a = await lab.start("a");
  await hideKey(lab);
  await using home = await openSshHousehold(lab, { ssh: sshHostLines("b", a), postern: only("b") });
  await using instance = await home.instance();
  await assert.rejects(throughSocks5(await instance.address(), { host: "127.0.0.1", port: 1 }), /reply 2/);
  await instance.says(/Cannot sign in to ssh b as .*no key to offer/);
  const { stdout } = await home.run(["status"]);
  assert.match(stdout.replace(/\s+/g, " "), /no key to offer/);
});

peerTest("an agent that restarts on the same socket works", [
  ...sshPeers,
  ...sshAgentPeers,
], async (paths) => {
  await using lab = await SshLab.create(paths);
  const a = await lab.start("a");
  const socket = `${lab.directory}/agent`;
  const key = await hideKey(lab);
  await using home = await openSshHousehold(lab, {
    ssh: sshHostLines("b", a, "IdentitiesOnly no"),
    postern: only("b"),
  });
  await using instance = await home.instance([], { env: { SSH_AUTH_SOCK: socket } });
  {
    await using agent = new SshAgent(socket, paths);
    await agent.add(key);
    await greeted(instance);
  }
  await using agent = new SshAgent(socket, paths);
  await agent.add(key);
  await a.signalSessions("KILL");
  await eventually("a new session is signed in", () => a.signIns === 2);
  await greeted(instance);
});

/** A configuration with one transport for everything. */
function only(host: string): string[] {
  return [`transports: { ${host}: { ssh: ${host} } }`, `default: ${host}`];
}

/** Reaches a target through the instance. */
async function greeted(instance: Instance): Promise<void> {
  await using greeter = new TargetServer((client) => client.send("hello"));
  try {
    using client = await throughSocks5(await instance.address(), { host: "127.0.0.1", port: greeter.port });
    assert.equal(await client.restText(), "hello");
  } catch (error) {
    const [reason] = await instance.says(/conn\.done .*outcome=(?!done).*/);
    throw new Error(reason, { cause: error });
  }
}

/** Moves the user's key out of all configured places; returns the new path. */
async function hideKey({ directory, key }: SshLab): Promise<string> {
  const hidden = `${directory}/hidden`;
  for (const end of ["", ".pub"]) await Deno.rename(`${key}${end}`, `${hidden}${end}`);
  return hidden;
}

/** Removes the known host keys. */
async function keepLines({ knownHosts }: SshLab, isKept: (line: string) => boolean): Promise<void> {
  const lines = (await Deno.readTextFile(knownHosts)).split("\n");
  await Deno.writeTextFile(knownHosts, lines.filter(isKept).join("\n"));
}
