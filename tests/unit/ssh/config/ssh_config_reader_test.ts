import assert from "node:assert/strict";
import { isPosternError, PosternError } from "../../../../src/words/mod.ts";
import { readSshHost } from "../../../../src/ssh/config/ssh_config_reader.ts";
import { filesWith, problemLines, SshConfigWorld } from "../../../support/ssh_config_world.ts";

const config = "/home/me/.ssh/config";

Deno.test("readSshHost() returns ssh's defaults without a configuration", async () => {
  const world = new SshConfigWorld({});
  world.env.set("SSH_AUTH_SOCK", "/run/agent");
  const ssh = "/home/me/.ssh";
  assert.deepEqual(await readSshHost("Host", {}, world.deps()), {
    alias: "Host",
    hostName: "host",
    port: 22,
    user: "me",
    jumps: [],
    identityFiles: ["rsa", "ecdsa", "ecdsa_sk", "ed25519", "ed25519_sk", "xmss", "dsa"].map((n) =>
      `${ssh}/id_${n}`
    ),
    certificateFiles: [],
    identitiesOnly: false,
    identityAgent: "/run/agent",
    userKnownHostsFiles: [`${ssh}/known_hosts`, `${ssh}/known_hosts2`],
    globalKnownHostsFiles: ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"],
    strictHostKeyChecking: "yes",
    hashKnownHosts: false,
    addressFamily: "any",
    kbdInteractive: true,
    password: true,
    pubkey: true,
    problems: [],
  });
});

Deno.test("readSshHost() returns no property for absent options, and no agent if none is set", async () => {
  const host = await new SshConfigWorld("ConnectTimeout 0\nIdentityAgent $NOT_SET\n").read();
  for (const name of ["identityAgent", "connectTimeout", "ciphers", "proxyCommand", "hostKeyAlias"]) {
    assert.equal(name in host, false, name);
  }
});

Deno.test("readSshHost() includes files of a home on a Windows drive", async () => {
  const home = "C:/Users/me";
  const world = new SshConfigWorld({
    [`${home}/.ssh/config`]: `Include conf.d/*.conf ~/more ${home}/other\nPort 1\n`,
    [`${home}/.ssh/conf.d/a.conf`]: "User a\n",
    [`${home}/more`]: "HostName more\n",
    [`${home}/other`]: "BindAddress 127.0.0.2\n",
  });
  const { user, hostName, bindAddress, port, problems } = await world.read("host", { home });
  assert.deepEqual([user, hostName, bindAddress, port, problems], ["a", "more", "127.0.0.2", 1, []]);
});

Deno.test("readSshHost() reads the user's file, then the system's, each with its relative includes", async () => {
  const world = new SshConfigWorld({
    [config]: "Include conf.d/*.conf ~/more ~me/other\nPort 1\n",
    "/home/me/.ssh/conf.d/a.conf": "User a\n",
    "/home/me/more": "HostName more\n",
    "/home/me/other": "BindAddress 127.0.0.2\n",
    "/etc/ssh/ssh_config": "Include ssh_config.d/*.conf\nUser system\nHashKnownHosts yes\n",
    "/etc/ssh/ssh_config.d/b.conf": "AddressFamily inet\nPort 2\n",
  });
  const reader = world.reader();
  const host = await reader.read("host");
  assert.deepEqual(problemLines(host), []);
  assert.deepEqual(reader.directories, ["/home/me/.ssh/conf.d", "/etc/ssh/ssh_config.d"]);
  const { user, hostName, bindAddress, hashKnownHosts, addressFamily, port } = host;
  assert.deepEqual([user, hostName, bindAddress, hashKnownHosts, addressFamily, port], [
    "a",
    "more",
    "127.0.0.2",
    true,
    "inet",
    1,
  ]);
});

Deno.test("readSshHost() expands tokens and variables in the arguments of Include", async () => {
  const world = new SshConfigWorld({
    [config]: "Include ${WORK}/%n\n",
    "/work/host": "Port 3\n",
  });
  world.env.set("WORK", "/work");
  assert.equal((await world.read()).port, 3);
});

Deno.test("readSshHost() reads only the file that the caller names, as ssh -F does", async () => {
  const world = new SshConfigWorld({
    [config]: "User no\n",
    "/mine": "Port 4\n",
    "/etc/ssh/ssh_config": "BindAddress 127.0.0.3\n",
  });
  const mine = await world.read("host", { userConfig: "/mine" });
  assert.deepEqual([mine.port, mine.user, mine.bindAddress], [4, "me", undefined]);
  const usual = await world.read("host", { userConfig: config });
  assert.deepEqual([usual.user, usual.bindAddress], ["no", "127.0.0.3"]);
  assert.deepEqual(problemLines(await world.read("host", { userConfig: "/none" })), [
    "blocking /none:0 : the file does not exist",
  ]);
});

const elsewhere =
  'the option changes where ssh connects or what it trusts, and the built-in engine does not support it: use "engine: openssh" for this host';
const problems = [
  {
    name: "a misspelled option",
    text: "Host host\n  Hostnam x\n",
    lines: [`blocking ${config}:2 Hostnam: unknown option "Hostnam", did you mean "HostName"?`],
  },
  {
    name: "a misspelled option of another host",
    text: "Host other\n  Hostnam x\n",
    lines: [`note ${config}:2 Hostnam: unknown option "Hostnam", did you mean "HostName"?`],
  },
  {
    name: "a misspelled Host after another host",
    text: "Host other\n  Port 1\nHots host\n  Port 2\n",
    lines: [`blocking ${config}:3 Hots: unknown option "Hots", did you mean "Host"?`],
  },
  {
    name: "a blocking option",
    text: "\nKnownHostsCommand /bin/keys %H\n",
    lines: [`blocking ${config}:2 KnownHostsCommand: ${elsewhere}`],
  },
  {
    name: "a blocking option of another host",
    text: "Host other\n  KnownHostsCommand /bin/keys\n",
    lines: [],
  },
  { name: "a blocking option that is off", text: "VerifyHostKeyDNS no\nKnownHostsCommand none\n", lines: [] },
  {
    name: "a blocking option after it was off",
    text: "VerifyHostKeyDNS no\nVerifyHostKeyDNS yes\n",
    lines: [],
  },
  {
    name: "RevokedHostKeys",
    text: "RevokedHostKeys /k\n",
    lines: [`blocking ${config}:1 RevokedHostKeys: ${elsewhere}`],
  },
  {
    name: "CanonicalizeHostname",
    text: "CanonicalizeHostname yes\nCanonicalDomains a.b\n",
    lines: [
      `blocking ${config}:1 CanonicalizeHostname: ${elsewhere}`,
      `harmless ${config}:2 CanonicalDomains: ignored`,
    ],
  },
  {
    name: "CheckHostIP",
    text: "CheckHostIP yes\n",
    lines: [`blocking ${config}:1 CheckHostIP: ${elsewhere}`],
  },
  {
    name: "CheckHostIP through a jump host",
    text: "ProxyJump gate\nCheckHostIP yes\n",
    lines: [`harmless ${config}:2 CheckHostIP: the option has no effect through a proxy`],
  },
  {
    name: "Debian's defaults",
    text: "Host *\n  SendEnv LANG LC_*\n  HashKnownHosts yes\n  GSSAPIAuthentication yes\n",
    lines: [
      `harmless ${config}:2 SendEnv: ignored`,
      `harmless ${config}:4 GSSAPIAuthentication: ignored`,
    ],
  },
  {
    name: "a smart card",
    text: "PKCS11Provider /lib/x.so\n",
    lines: [`note ${config}:1 PKCS11Provider: the built-in engine does not use keys on a smart card`],
  },
  {
    name: "StrictHostKeyChecking no",
    text: "StrictHostKeyChecking no\n",
    lines: [
      `note ${config}:1 StrictHostKeyChecking: "no" is treated as "accept-new": postern accepts new keys and rejects changed ones`,
    ],
  },
  {
    name: "RefuseConnection",
    text: "RefuseConnection moved to new.example\n",
    lines: [
      `blocking ${config}:1 RefuseConnection: the configuration rejects this host: moved to new.example`,
    ],
  },
  {
    name: "a passed descriptor",
    text: "ProxyCommand nc -F %h %p\nProxyUseFdpass yes\n",
    lines: [
      `blocking ${config}:2 ProxyUseFdpass: the built-in engine cannot receive a passed file descriptor: use "engine: openssh" for this host`,
    ],
  },
  {
    name: "an ignored word",
    text: "IgnoreUnknown Foo*\nFooBar yes\n",
    lines: [`harmless ${config}:2 FooBar: ignored because of IgnoreUnknown`],
  },
  {
    name: "a bad value",
    text: "Port 99999\n",
    lines: [`blocking ${config}:1 Port: the value must be a port from 1 to 65535: current value is "99999"`],
  },
  { name: "a bad value of another host", text: "Host other\n  Port 99999\n", lines: [] },
  {
    name: "a bad harmless value",
    text: "SendEnv\n",
    lines: [`note ${config}:1 SendEnv: the option has no argument`],
  },
  {
    name: "another user's home",
    text: "IdentityFile ~you/key\n",
    lines: [`blocking ${config}:1 IdentityFile: the home directory of "you" is not known`],
  },
  {
    name: "a missing variable",
    text: "UserKnownHostsFile ${NOWHERE}/kh\n",
    lines: [`blocking ${config}:1 UserKnownHostsFile: the environment has no variable "NOWHERE"`],
  },
  {
    name: "an unknown token in a command",
    text: "ProxyCommand x %z\n",
    lines: [`blocking ${config}:1 ProxyCommand: the token "%z" is not available here`],
  },
  {
    name: "an unknown token in a jump",
    text: "ProxyJump %z,a\n",
    lines: [`blocking ${config}:1 ProxyJump: the token "%z" is not available here`],
  },
  {
    name: "an unknown token in HostName, once",
    text: "HostName %z\nMatch host a\nMatch host b\n",
    lines: [`blocking ${config}:1 HostName: the token "%z" is not available here`],
  },
  {
    name: "an agent with an empty variable name",
    text: "IdentityAgent $\n",
    lines: [`blocking ${config}:1 IdentityAgent: "$" is not a variable name`],
  },
  {
    name: "a condition that cannot be evaluated",
    text: "Match localnetwork 10.0.0.0/8\n  Port 1\n",
    lines: [`blocking ${config}:1 Match: the built-in engine cannot evaluate the condition "localnetwork"`],
  },
  {
    name: "such a condition for another host",
    text: "Match localnetwork 10.0.0.0/8 host other\n",
    lines: [],
  },
  {
    name: "an unknown condition",
    text: "Match hots a\n",
    lines: [`blocking ${config}:1 Match: unknown condition "hots"`],
  },
  {
    name: "an empty pattern",
    text: 'Host ""\n',
    lines: [`blocking ${config}:1 Host: a pattern is empty`],
  },
  {
    name: "an empty argument of Include",
    text: 'Include ""\n',
    lines: [`blocking ${config}:1 Include: an argument is empty`],
  },
];
for (const { name, text, lines } of problems) {
  Deno.test(`readSshHost() reports ${lines.length === 0 ? "nothing" : "problem and line"} for ${name}`, async () => {
    assert.deepEqual(problemLines(await new SshConfigWorld(text).read()), lines);
  });
}

Deno.test("readSshHost() defaults to the local user", async () => {
  const world = new SshConfigWorld("Match user me localuser me\n  Port 5\nMatch user you\n  HostName no\n");
  const { port, hostName } = await world.read();
  assert.deepEqual([port, hostName], [5, "host"]);
});

Deno.test("readSshHost() reads included files in order, regardless of the listing's order", async () => {
  const files = {
    [config]: "Include d/*\n",
    "/home/me/.ssh/d/b": "Port 2\n",
    "/home/me/.ssh/d/a": "Port 1\n",
  };
  const world = new SshConfigWorld(files);
  const list = () => Promise.resolve(["b", "a"]);
  const host = await world.read("host", { files: filesWith(world.files, "/home/me/.ssh/d", { list }) });
  assert.equal(host.port, 1);
});

Deno.test("readSshHost() accepts a file owned by root", async () => {
  const world = new SshConfigWorld("Port 7\n");
  const info = () => Promise.resolve({ kind: "file", size: 1, modified: 0, mode: 0o644, owner: 0 } as const);
  const host = await world.read("host", { files: filesWith(world.files, config, { info }) });
  assert.deepEqual([host.port, host.problems], [7, []]);
});

Deno.test("readSshHost() matches Match tagged against Tag", async () => {
  const world = new SshConfigWorld(
    "Host host\n  Tag office\nMatch tagged office\n  Port 5\nMatch tagged home\n  User no\n",
  );
  const { port, user, problems } = await world.read();
  assert.deepEqual([port, user, problems], [5, "me", []]);
});

Deno.test("readSshHost() turns ssh -W into hops, and expands any other command", async () => {
  const world = new SshConfigWorld(
    "Host a\n  HostName real\n  ProxyCommand ssh -q -W %h:%p -l you gate\n" +
      "Host b\n  HostKeyAlias K\n  ProxyCommand nc %h %p %r %n %k %%\n",
  );
  const reader = world.reader();
  assert.deepEqual((await reader.read("a")).jumps, [{ user: "you", host: "gate" }]);
  assert.equal((await reader.read("b")).proxyCommand, "nc b 22 me b k %");
});

Deno.test("readSshHost() runs Match exec with the user's shell, and once per line", async () => {
  const world = new SshConfigWorld('Match exec "test %h = %n"\n  Port 6\nMatch host other exec "never"\n');
  world.env.set("SHELL", "/bin/zsh");
  assert.equal((await world.read()).port, 6);
  assert.deepEqual(world.commands, [["/bin/zsh", "-c", "test host = host"]]);
});

Deno.test("readSshHost() blocks the host when Match exec does not end", async () => {
  const world = new SshConfigWorld("Match exec slow\n  Port 6\n");
  const asked = Promise.withResolvers<void>();
  world.answer = (_, { signal }) => {
    asked.resolve();
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const reading = world.read();
  await asked.promise;
  await world.clock.advance(10_000);
  const host = await reading;
  assert.deepEqual(problemLines(host), [
    `blocking ${config}:1 Match: the command did not end within 10 s`,
  ]);
  assert.equal(host.port, 22);
  assert.equal(world.clock.waiting, 0);
});

Deno.test("readSshHost() fails with the signal's reason while Match exec runs", async () => {
  const world = new SshConfigWorld("Match exec slow\n  Port 6\n");
  const asked = Promise.withResolvers<void>();
  world.answer = (_, { signal }) => {
    asked.resolve();
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const reading = world.read();
  await asked.promise;
  world.ending.abort(new PosternError("cancelled", "Stopped"));
  await assert.rejects(reading, { code: "cancelled", message: "Stopped" });
});

Deno.test("readSshHost() blocks the host when the shell of Match exec cannot run", async () => {
  const world = new SshConfigWorld("Match exec x\n");
  world.answer = () => Promise.reject(new PosternError("config", 'Cannot run "/bin/sh": no such file'));
  assert.deepEqual(problemLines(await world.read()), [
    `blocking ${config}:1 Match: Cannot run "/bin/sh": no such file`,
  ]);
});

const badFiles = [
  {
    name: "a directory",
    info: { kind: "directory", size: 0, modified: 0, mode: 0o755, owner: 1000 },
    line: `blocking ${config}:0 : the path is a directory`,
  },
  {
    name: "a file that others can write",
    info: { kind: "file", size: 1, modified: 0, mode: 0o666, owner: 1000 },
    line:
      `blocking ${config}:0 : other users can write to the file, and ssh rejects such files; run chmod go-w on it`,
  },
  {
    name: "a pipe",
    info: { kind: "other", size: 0, modified: 0, mode: 0o600, owner: 1000 },
    line: `blocking ${config}:0 : the path is not a regular file`,
  },
  {
    name: "a file of another user",
    info: { kind: "file", size: 1, modified: 0, mode: 0o644, owner: 1001 },
    line:
      `blocking ${config}:0 : other users can write to the file, and ssh rejects such files; run chmod go-w on it`,
  },
] as const;
for (const { name, info, line } of badFiles) {
  Deno.test(`readSshHost() blocks the host for ${name}`, async () => {
    const world = new SshConfigWorld("Port 7\n");
    const files = filesWith(world.files, config, { info: () => Promise.resolve(info) });
    assert.deepEqual(problemLines(await world.read("host", { files })), [line]);
  });
}

Deno.test("readSshHost() notes a group-writable file, but not the system's", async () => {
  const info = () =>
    Promise.resolve({ kind: "file", size: 1, modified: 0, mode: 0o664, owner: 1000 } as const);
  const world = new SshConfigWorld({ [config]: "Port 7\n", "/etc/ssh/ssh_config": "User a\n" });
  const host = await world.read("host", { files: filesWith(world.files, config, { info }) });
  assert.deepEqual([host.port, problemLines(host)], [7, [
    `note ${config}:0 : the file's group can write to it; run chmod g-w on it`,
  ]]);
  const files = filesWith(world.files, "/etc/ssh/ssh_config", { info });
  assert.deepEqual((await world.read("host", { files })).problems, []);
});

Deno.test("readSshHost() notes a directory among the included files", async () => {
  const world = new SshConfigWorld({ [config]: "Include d/*\nPort 7\n", "/home/me/.ssh/d/e/f": "" });
  const info = () =>
    Promise.resolve({ kind: "directory", size: 0, modified: 0, mode: 0o755, owner: 0 } as const);
  const host = await world.read("host", { files: filesWith(world.files, "/home/me/.ssh/d/e", { info }) });
  assert.deepEqual([host.port, problemLines(host)], [7, [
    "note /home/me/.ssh/d/e:0 : the path is a directory",
  ]]);
});

Deno.test("readSshHost() skips an included root like any directory", async () => {
  const world = new SshConfigWorld({ [config]: "Include /\nPort 7\n" });
  const root = filesWith(world.files, "/", {
    info: () => Promise.resolve({ kind: "directory", size: 0, modified: 0, mode: 0o755, owner: 0 }),
  });
  const { port, problems } = await world.read("host", { files: root });
  assert.equal(port, 7);
  assert.deepEqual(problems.map(({ severity, file }) => `${severity} ${file}`), ["note /"]);
});

Deno.test("readSshHost() treats /dev/null as an empty file", async () => {
  const world = new SshConfigWorld({ [config]: "Include /dev/null\nPort 7\n", "/dev/null": "" });
  const info = () => Promise.resolve({ kind: "other", size: 0, modified: 0, mode: 0o666, owner: 0 } as const);
  const host = await world.read("host", { files: filesWith(world.files, "/dev/null", { info }) });
  assert.deepEqual([host.port, host.problems], [7, []]);
});

Deno.test("readSshHost() blocks the host for an unreadable file, and reads the others", async () => {
  const world = new SshConfigWorld({ [config]: "", "/etc/ssh/ssh_config": "Port 8\n" });
  const read = () =>
    Promise.reject(new PosternError("not_allowed", `Cannot read "${config}": permission denied`));
  const host = await world.read("host", { files: filesWith(world.files, config, { read }) });
  assert.deepEqual(problemLines(host), [`blocking ${config}:0 : Cannot read "${config}": permission denied`]);
  assert.equal(host.port, 8);
});

Deno.test("readSshHost() blocks the host for an include directory that cannot be listed", async () => {
  const world = new SshConfigWorld({ [config]: "Include conf.d/*\n" });
  const list = () => Promise.reject(new PosternError("not_allowed", "Cannot list: permission denied"));
  const info = () => Promise.resolve({ kind: "directory", size: 0, modified: 0, mode: 0, owner: 0 } as const);
  const files = filesWith(world.files, "/home/me/.ssh/conf.d", { list, info });
  assert.deepEqual(problemLines(await world.read("host", { files })), [
    `blocking ${config}:1 Include: Cannot list: permission denied`,
  ]);
});

Deno.test("readSshHost() rejects a file over 4 MiB, and reads one of 1 MB with long lines", async () => {
  const big = await new SshConfigWorld(`${"# x\n".repeat(1024 * 1024 + 1)}Port 9\n`).read();
  assert.match(problemLines(big)[0] ?? "", /^blocking .*config:0 : .*more than 4194304 bytes$/);
  const lines = await new SshConfigWorld(`${"Host other\nPort 1\n".repeat(60_000)}Host host\nPort 9\n`)
    .read();
  assert.equal(lines.port, 9);
  const many = "a".repeat(1024 * 1024);
  const long = [`Host ${many}*`, `Match host ${many}`, `User ${many}`, `Match ${"user x ".repeat(150_000)}`];
  for (
    const text of [
      ...long,
      `ProxyCommand ${many}`,
      `ProxyJump ${"a,".repeat(500_000)}a`,
      `Include ${many}`,
      many,
    ]
  ) {
    const host = await new SshConfigWorld(`${text}\nMatch all\nPort 9\n`).read();
    assert.equal(host.port, 9, text.slice(0, 20));
  }
});

Deno.test("readSshHost() ends when files include themselves or each other", async () => {
  const itself = await new SshConfigWorld("Include config\n").read();
  assert.deepEqual(problemLines(itself), [
    `blocking ${config}:1 Include: includes are nested more than 16 deep`,
  ]);
  const wide: Record<string, string> = { [config]: "Include l0 l0\n" };
  for (let level = 0; level < 14; level++) {
    wide[`/home/me/.ssh/l${level}`] = `Include l${level + 1} l${level + 1}\n`;
  }
  wide["/home/me/.ssh/l14"] = "Port 1\n";
  assert.match(
    problemLines(await new SshConfigWorld(wide).read()).join(),
    /^blocking .* too many included files$/,
  );
});

Deno.test("readSshHost() limits nested includes to 16, as ssh does", async () => {
  const files: Record<string, string> = { [config]: "Include l1\n" };
  for (let level = 1; level < 16; level++) files[`/home/me/.ssh/l${level}`] = `Include l${level + 1}\n`;
  files["/home/me/.ssh/l16"] = "Port 10\n";
  const host = await new SshConfigWorld(files).read();
  assert.deepEqual([host.port, host.problems], [10, []]);
});

Deno.test("readSshHost() rejects a home in the system's file", async () => {
  const host = await new SshConfigWorld({ "/etc/ssh/ssh_config": "Include ~/x\n" }).read();
  assert.deepEqual(problemLines(host), [
    'blocking /etc/ssh/ssh_config:1 Include: the system\'s file cannot use "~"',
  ]);
});

Deno.test("readSshHost() reads a file in an old encoding", async () => {
  const world = new SshConfigWorld({});
  world.files.put(config, Uint8Array.from([...new TextEncoder().encode("# f\nPort 11 # "), 0xfc, 0x0a]));
  const { port, problems } = await world.read();
  assert.deepEqual([port, problems], [11, []]);
});

for (const alias of ["", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a\nb", "a`b", "a'b", "a\\b"]) {
  Deno.test(`readSshHost() rejects the name ${JSON.stringify(alias)}`, async () => {
    await assert.rejects(new SshConfigWorld("").read(alias), (error) => isPosternError(error, "config"));
  });
}

for (const user of ["", "-x", "a;b", "a'b", "a -b", "a\\", "a\n"]) {
  Deno.test(`readSshHost() rejects the user ${JSON.stringify(user)}`, async () => {
    const reading = new SshConfigWorld("").reader().read("host", { user });
    await assert.rejects(reading, (error) => isPosternError(error, "config"));
  });
}

Deno.test("SshConfigReader reads every file and every host once, and lists its files", async () => {
  const world = new SshConfigWorld({
    [config]: "Include a b\nMatch exec x\nPort 12\n",
    "/home/me/.ssh/a": "User a\n",
  });
  const reader = world.reader();
  const [first, again, other] = [reader.read("host"), reader.read("host"), reader.read("host", { port: 13 })];
  assert.equal(first, again);
  assert.deepEqual([(await first).port, (await other).port, (await reader.read("third")).user], [
    12,
    13,
    "a",
  ]);
  assert.equal(world.commands.length, 3);
  assert.deepEqual(world.files.reads.toSorted(), ["/home/me/.ssh/a", config]);
  assert.deepEqual(reader.files.toSorted(), [
    "/etc/ssh/ssh_config",
    "/home/me/.ssh/a",
    "/home/me/.ssh/b",
    config,
  ]);
  assert.deepEqual(reader.directories, []);
  world.files.put(config, "Port 14\n");
  assert.equal((await reader.read("host")).port, 12);
  assert.equal((await world.read("host")).port, 14);
});

const jumpTokens: readonly { jump: string; token: string }[] = [
  { jump: "office", token: "office" },
  { jump: "office # through the gate", token: "office" },
  { jump: "me@one:2222,you@two:33", token: "two" },
  { jump: "ssh://me@office:2222", token: "office" },
  { jump: "[2001:db8::1]:2222", token: "2001:db8::1" },
  { jump: "none", token: "" },
];
for (const { jump, token } of jumpTokens) {
  Deno.test(`readSshHost() expands %j of "ProxyJump ${jump}" to the last host only, as ssh does`, async () => {
    const text = `ProxyJump ${jump}\nUserKnownHostsFile /known/%j.\nMatch exec "is -%j-"\n`;
    const world = new SshConfigWorld(text);
    const host = await world.read();
    assert.deepEqual(host.userKnownHostsFiles, [`/known/${token}.`]);
    assert.equal(world.commands[0]?.at(-1), `is -${token}-`);
  });
}

const ownCommands = [
  "postern nc %h %p",
  "/usr/local/bin/postern nc --id lab %h %p",
  "'/opt/my programs/postern' nc %h %p",
  '"C:\\Programs\\postern.exe" nc %h %p',
  "exec postern nc %h %p",
  "exec env HOME=/home/me postern --config my.yaml nc %h %p 2>/dev/null",
  "postern connect [%h]:%p",
  "deno run --no-prompt --allow-net file:///src/postern/main.ts nc %h %p",
];
for (const command of ownCommands) {
  Deno.test(`readSshHost() ignores ${command}, and reads a later ProxyJump`, async () => {
    const own = await new SshConfigWorld(`ProxyCommand ${command}\nProxyJump gate\n`).read();
    assert.deepEqual([own.jumps, own.proxyCommand], [[{ host: "gate" }], undefined]);
  });
}

for (
  const command of [
    ...["nc %h %p", "ssh gate postern nc db 22", "not-postern nc %h %p", "postern nc gate 22"],
    ...["ssh postern nc %h %p", "ssh gate postern nc %h %p", "deno run relay.ts postern nc %h %p"],
  ]
) {
  Deno.test(`readSshHost() keeps the ProxyCommand ${command}`, async () => {
    const host = await new SshConfigWorld(`ProxyCommand ${command}\nProxyJump gate\n`).read();
    assert.equal(host.jumps.length, 0);
    assert.notEqual(host.proxyCommand, undefined);
  });
}
