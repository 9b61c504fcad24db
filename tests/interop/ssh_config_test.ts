import assert from "node:assert/strict";
import type { SshConfigDeps } from "../../src/ssh/config/ssh_config_deps.ts";
import { SshConfigReader } from "../../src/ssh/config/ssh_config_reader.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { sshAlgorithms } from "../../src/ssh/config/language/ssh_config_algorithms.ts";
import { runPeer } from "../support/peer_program.ts";
import { namespaceTest } from "../support/namespaces.ts";
import { findPeer, peerTest, skippedTest } from "../support/peers.ts";
import { SshConfigWorld } from "../support/ssh_config_world.ts";
import { randomSshConfig, seededRandom } from "../support/random_ssh_config.ts";
import { type SshConfigCase, sshConfigCases } from "../support/ssh_config_cases.ts";
import { comparableHost, expectedHost, parseSshDump, type SshDumpContext } from "../support/ssh_dump.ts";

interface Machine extends SshDumpContext {
  readonly ssh: string;
  readonly hostname: string;
  readonly uid: number;
  /** Algorithm lists whose start differs between this version of ssh and ours. */
  readonly otherLists: readonly string[];
}

const lists = {
  ciphers: "ciphers",
  macs: "macs",
  kexAlgorithms: "kexalgorithms",
  hostKeyAlgorithms: "hostkeyalgorithms",
  pubkeyAcceptedAlgorithms: "pubkeyacceptedalgorithms",
  caSignatureAlgorithms: "casignaturealgorithms",
} as const;

peerTest(
  `SshConfigReader reads ${sshConfigCases.length} configurations as ssh -G does`,
  ["ssh", "sh"],
  async ({ ssh, sh }, context) => {
    const machine = await lookAround(ssh, sh);
    for (const name of machine.otherLists) {
      console.log(`skipped: ${name}: this ssh has another default list`);
    }
    for (const each of sshConfigCases) {
      await context.step(each.name, () => compare(each, machine));
    }
  },
);

peerTest(
  "SshConfigReader reads generated configurations as ssh -G does",
  ["ssh", "sh"],
  async ({ ssh, sh }) => {
    const machine = await lookAround(ssh, sh);
    for (let round = 0; round < 250; round++) {
      const config = randomSshConfig(seededRandom(round));
      try {
        await compare({ name: "random", config }, machine);
      } catch (error) {
        throw new Error(`Cannot read as ssh does:\n${config}`, { cause: error });
      }
    }
  },
);

/** The user's and the system's files; only a separate namespace can place them where ssh looks. */
const userFiles = {
  config: "Include work.d/*.conf rel\nHost far\n  ProxyJump gate\nInclude ~/more\nPort 70\n",
  "work.d/20.conf": "Host host\n  User late\n  HostName late.net\n",
  "work.d/10.conf": "Host host\n  User early\nMatch final host late.net\n  ServerAliveInterval 9\n",
  rel: "Host gate\n  Include deeper/rel\n",
  "deeper/rel": "User porter\nIdentityFile ~/.ssh/gate\n",
};
const systemFiles = {
  ssh_config: "Include ssh_config.d/*.conf\nHost *\n  SendEnv LANG\n  HashKnownHosts yes\n  Port 71\n",
  "ssh_config.d/a.conf": "Host gate\n  Port 72\n  StrictHostKeyChecking accept-new\nIdentityFile ~/last\n",
};

const [ssh, sh] = [findPeer("ssh"), findPeer("sh")];
const namespaceName = "SshConfigReader reads the user's and the system's files as ssh does";
if ("missing" in ssh) skippedTest(namespaceName, ssh.missing);
else if ("missing" in sh) skippedTest(namespaceName, sh.missing);
else namespaceTest(namespaceName, "--mount", (wrap) => compareWhole(wrap, ssh.path, sh.path));

async function compareWhole(wrap: (script: string) => readonly string[], ssh: string, sh: string) {
  const machine = await lookAround(ssh, sh);
  const directory = await Deno.realPath(await Deno.makeTempDir());
  try {
    for (const [name, text] of Object.entries(userFiles)) await putFile(`${directory}/user/${name}`, text);
    for (const [name, text] of Object.entries(systemFiles)) {
      await putFile(
        `${directory}/system/${name}`,
        text,
      );
    }
    const { home, localUser } = machine;
    // For "~" in Include, ssh uses this variable and not the user database.
    const env: Readonly<Record<string, string>> = { ...machine.env, HOME: home };
    const [bash = "", ...under] = wrap(
      `mount -t tmpfs none ${home} && cp -r ${directory}/user ${home}/.ssh && ` +
        `mount --bind ${directory}/system /etc/ssh && chmod -R go-w ${home}/.ssh`,
    );
    const world = new SshConfigWorld({
      ...moved(userFiles, `${home}/.ssh`),
      ...moved(systemFiles, "/etc/ssh"),
    });
    for (const host of ["host", "far", "gate", "other"]) {
      const theirs = await runPeer(bash, [...under, ssh, "-G", host], { env });
      assert.equal(theirs.code, 0, theirs.stderr);
      const ours = await world.read(host, { home, localUser, env: (name) => env[name] });
      assert.deepEqual(ours.problems.filter(({ severity }) => severity !== "harmless"), []);
      assert.deepEqual(
        comparableHost(ours, machine),
        expectedHost(parseSshDump(theirs.stdout), { ...machine, env }),
      );
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function moved(files: Readonly<Record<string, string>>, to: string): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`${to}/${name}`, text]));
}

async function putFile(path: string, text: string): Promise<void> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, text, { mode: 0o600 });
}

async function compare(each: SshConfigCase, machine: Machine): Promise<void> {
  const directory = await Deno.realPath(await Deno.makeTempDir());
  try {
    const put = (name: string, text: string) =>
      putFile(`${directory}/${name}`, text.replaceAll("DIR", directory));
    await put("config", each.config);
    for (const [name, text] of Object.entries(each.files ?? {})) await put(name, text);
    const host = await readOurs(each, directory, machine);
    const { code, stdout, stderr } = await readTheirs(each, directory, machine);
    const blocking = host.problems.filter(({ severity }) => severity === "blocking");
    if (code !== 0) {
      assert.notDeepEqual(blocking, [], `ssh rejects this and postern does not: ${stderr}`);
      return;
    }
    assert.deepEqual(blocking, []);
    const expected = expectedHost(parseSshDump(stdout), machine);
    const hopped = each.hop === undefined ? {} : { jumps: each.hop, proxyCommand: "" };
    const known = (host: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(host).filter(([name]) => !machine.otherLists.includes(name)));
    assert.deepEqual(known(comparableHost(host, machine)), known({ ...expected, ...hopped }));
    assert.equal(await createFiles(systemClock).info(`${directory}/ran`), undefined);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function readOurs({ host = "host", user, port }: SshConfigCase, directory: string, machine: Machine) {
  const { home, localUser, hostname, uid, env } = machine;
  const deps: SshConfigDeps = {
    files: createFiles(systemClock),
    run: ([program = "", ...args]) => runPeer(program, args, { env }),
    clock: systemClock,
    signal: new AbortController().signal,
    env: (name) => env[name],
    home,
    localUser,
    uid,
    hostname: () => hostname,
    userConfig: `${directory}/config`,
  };
  return new SshConfigReader(deps).read(host, {
    ...(user !== undefined && { user }),
    ...(port !== undefined && { port }),
  });
}

function readTheirs({ host = "host", user, port }: SshConfigCase, directory: string, { ssh, env }: Machine) {
  const args = [
    ...["-G", "-F", `${directory}/config`],
    ...(user === undefined ? [] : ["-l", user]),
    ...(port === undefined ? [] : ["-p", String(port)]),
  ];
  return runPeer(ssh, [...args, host], { env });
}

/** Facts about the machine, as ssh itself prints them. */
async function lookAround(ssh: string, sh: string): Promise<Machine> {
  const env = {
    HOME: "/no-home",
    SHELL: sh,
    SSH_AUTH_SOCK: "/agents/usual",
    OTHER_AGENT: "/agents/other",
  };
  const dump = async (...args: string[]) => {
    const { code, stdout, stderr } = await runPeer(ssh, ["-G", "-F", "none", ...args, "host"], { env });
    assert.equal(code, 0, stderr);
    return parseSshDump(stdout);
  };
  const defaults = await dump();
  const known = defaults.get("userknownhostsfile")?.[0]?.split(" ")[0] ?? "";
  const told = (await dump("-o", "UserKnownHostsFile=/%i/%l")).get("userknownhostsfile")?.[0]?.split("/") ??
    [];
  return {
    ssh,
    env,
    defaults,
    home: known.replace(/\/\.ssh\/known_hosts$/, ""),
    localUser: defaults.get("user")?.[0] ?? "",
    uid: Number(told[1]),
    hostname: told[2] ?? "",
    otherLists: Object.entries(lists)
      .filter(([, option]) => defaults.get(option)?.[0] !== sshAlgorithms(option, "+").join(","))
      .map(([name]) => name),
  };
}
