import assert from "node:assert/strict";
import { farSide } from "../support/far_side.ts";
import { isLongRun } from "../support/long_runs.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { eventually, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import type { Household } from "../support/postern_process.ts";
import { type RawClient, throughSocks5 } from "../support/raw_client.ts";
import { type Instance, openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";
import { echoServer } from "../support/target_server.ts";

const loopback = "127.0.0.1";

/** Sends bytes to an echo and reads them back. */
async function exchange(client: RawClient, count = 100): Promise<void> {
  const bytes = patternBytes(count);
  const [seen] = await Promise.all([client.take(count), client.send(bytes)]);
  assert.deepEqual(seen, bytes);
}

/** One exchange over a separate connection. */
async function ask(
  instance: Instance,
  { host = loopback, port }: { readonly host?: string; readonly port: number },
): Promise<void> {
  using client = await throughSocks5(await instance.address(), { host, port });
  await exchange(client);
}

interface Hop {
  readonly host: string;
  readonly state: string;
  readonly channels: number;
  readonly sessions: number;
}

/** Returns the hops of a transport from `status`. */
async function hops(home: Household, name: string): Promise<readonly Hop[]> {
  const [instance] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  return instance.transports.find((transport: { name: string }) => transport.name === name).hops;
}

const three = (a: Sshd, b: Sshd, c: Sshd) => [
  ...sshHostLines("a", a),
  ...sshHostLines("b", b, "ProxyJump a"),
  ...sshHostLines("c", c, "ProxyJump b"),
];

peerTest(
  "ten concurrent clients sign in once to each hop, and other targets share the hops",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const [a, b, c] = [await lab.start("a"), await lab.start("b"), await lab.start("c")];
    await using home = await openSshHousehold(lab, {
      ssh: three(a, b, c),
      postern: [
        "transports: { a: { ssh: a }, b: { ssh: b }, c: { ssh: c }, same: { ssh: c } }",
        "routes: [{ to: 127.0.0.2, via: b }, { to: 127.0.0.3, via: a }, { to: 127.0.0.4, via: same }]",
        "default: c",
      ],
    });
    await using instance = await home.instance();
    await Promise.all(Array.from({ length: 10 }, () => ask(instance, echo)));
    assert.deepEqual([a.signIns, b.signIns, c.signIns], [1, 1, 1]);
    // The echo listens on 127.0.0.1 only: an answer proves which host dialed.
    for (const host of ["127.0.0.2", "127.0.0.3", "127.0.0.4"]) {
      await assert.rejects(ask(instance, { host, port: echo.port }), /SOCKS5 reply 5/);
    }
    assert.deepEqual([a.signIns, b.signIns, c.signIns], [1, 1, 1]);
    assert.deepEqual(
      (await hops(home, "c")).map(({ host, state, sessions }) => [host, state, sessions]),
      ["a", "b", "c"].map((host) => [host, "ready", 1]),
    );
  },
);

peerTest(
  "a chain starts after a proxy, and a proxy or another chain after a chain",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const [near, far] = [await lab.start("near"), await lab.start("far")];
    await using corp = farSide({ "near.corp.example:22": `${loopback}:${near.port}` });
    await using lost = farSide({ "lost.example:80": `${loopback}:${echo.port}` });
    await lab.know("near.corp.example", `${near.keys[0]}.pub`);
    await using home = await openSshHousehold(lab, {
      ssh: ["Host near", "  HostName near.corp.example", ...sshHostLines("far", far)],
      postern: [
        "transports:",
        `  corp: { proxy: { url: "socks5h://${corp.address}" } }`,
        "  near: { ssh: near, via: corp }",
        `  lost: { proxy: { url: "socks5h://${lost.address}" }, via: near }`,
        "  far: { ssh: far, via: near }",
        "  straight: { ssh: far, via: direct }",
        "routes:",
        "  - { to: lost.example, via: lost }",
        "  - { to: 127.0.0.2, via: far }",
        "  - { to: 127.0.0.3, via: straight }",
        "default: near",
      ],
    });
    await using instance = await home.instance();
    await ask(instance, echo);
    assert.deepEqual(corp.asked, ["near.corp.example:22"]);
    await ask(instance, { host: "lost.example", port: 80 });
    assert.deepEqual([near.signIns, far.signIns, lost.asked], [1, 0, ["lost.example:80"]]);
    await assert.rejects(ask(instance, { host: "127.0.0.2", port: echo.port }), /reply 5/);
    assert.deepEqual([near.signIns, far.signIns], [1, 1]);
    // The same host over another path has a separate session.
    await assert.rejects(ask(instance, { host: "127.0.0.3", port: echo.port }), /reply 5/);
    assert.deepEqual([near.signIns, far.signIns, corp.asked.length], [1, 2, 1]);
  },
);

peerTest("accept-new records an unknown key, and rejects another one later", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const sshd = await lab.start("jump");
  const known = await Deno.readTextFile(lab.knownHosts);
  await using home = await openSshHousehold(lab, {
    ssh: [],
    postern: ["transports: { jump: { ssh: jump } }", "default: jump"],
  });
  const own = `${home.directory}/.ssh/known_hosts`;
  await Deno.writeTextFile(
    `${lab.directory}/ssh_config`,
    [
      ...sshHostLines("jump", sshd, "StrictHostKeyChecking accept-new", `UserKnownHostsFile ${own}`),
      `IdentityFile ${lab.key}`,
    ].join("\n"),
  );
  {
    await using instance = await home.instance();
    await ask(instance, echo);
    assert.equal(await Deno.readTextFile(own), known);
    const other = (await Deno.readTextFile(`${lab.key}.pub`)).split(" ").slice(0, 2).join(" ");
    await Deno.writeTextFile(own, `[${loopback}]:${sshd.port} ${other}\n`);
  }
  await using instance = await home.instance();
  await assert.rejects(ask(instance, echo), /reply 2/);
  assert.equal((await Deno.readTextFile(own)).trim().split("\n").length, 1);
});

peerTest("a chain carries 500 concurrent connections, and releases them", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  await using echo = echoServer();
  const [a, b] = [await lab.start("a"), await lab.start("b")];
  await using home = await openSshHousehold(lab, {
    ssh: [...sshHostLines("a", a), ...sshHostLines("b", b, "ProxyJump a")],
    postern: ["transports: { b: { ssh: b } }", "default: b"],
  });
  await using instance = await home.instance();
  const address = await instance.address();
  const target = { host: loopback, port: echo.port };
  const clients = await Promise.all(Array.from({ length: 500 }, () => throughSocks5(address, target)));
  try {
    assert.deepEqual((await hops(home, "b")).map(({ channels }) => channels), [1, 500]);
    await Promise.all(clients.map((client, at) => exchange(client, 1 + at * 10)));
  } finally {
    for (const client of clients) client.close();
  }
  await eventually("no channel is left", async () => (await hops(home, "b"))[1]?.channels === 0);
  assert.deepEqual([a.signIns, b.signIns], [1, 1]);
});

const inTurn = isLongRun() ? 10_000 : 500;

peerTest(`${inTurn} sequential connections leave nothing behind`, [...sshPeers, "loadgen"], async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump");
  await using home = await openSshHousehold(lab, {
    ssh: sshHostLines("jump", sshd),
    postern: ["transports: { jump: { ssh: jump } }", "default: jump"],
  });
  await using instance = await home.instance(["--log-level", "warn"]);
  const address = await instance.address();
  const grown: number[] = [];
  // A heap settles once; a leak grows in each round.
  for (let round = 0; round < 3; round++) {
    const args = [
      "rate",
      "-proxy",
      address,
      "-pid",
      `${instance.pid}`,
      "-grown",
      "-c",
      "1",
      "-n",
      `${inTurn}`,
    ];
    const { code, stdout, stderr } = await runPeer(paths.loadgen, args);
    assert.equal(code, 0, stderr);
    const { failed, grown_kB: memory, grown_files: files } = JSON.parse(stdout);
    // The first request opens the session.
    assert.deepEqual({ failed, files }, { failed: 0, files: round === 0 ? 1 : 0 });
    grown.push(memory);
  }
  assert.ok(Math.min(...grown) < 5000, `${grown} kB more`);
  assert.deepEqual((await hops(home, "jump")).map(({ channels }) => channels), [0]);
  assert.equal(sshd.signIns, 1);
}, { platforms: ["linux"] });

/** Hosts on one server with separate sessions: their configurations differ in an irrelevant option. */
function severalHosts(sshd: Sshd, count: number): { ssh: string[]; postern: string[] } {
  const names = Array.from({ length: count }, (_, at) => `h${at}`);
  return {
    ssh: names.flatMap((name, at) => sshHostLines(name, sshd, `ConnectTimeout ${60 + at}`)),
    postern: [
      "transports:",
      ...names.map((name) => `  ${name}: { ssh: ${name} }`),
      "routes:",
      ...names.map((name, at) => `  - { to: 127.0.1.${at}, via: ${name} }`),
    ],
  };
}

const [rest, mostBusy] = isLongRun() ? ["60s", 0.2] : ["5s", 1];

peerTest(`ten idle sessions cost less than ${mostBusy} % of a core over ${rest}`, [
  ...sshPeers,
  "loadgen",
], async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump");
  await using home = await openSshHousehold(lab, severalHosts(sshd, 10));
  await using instance = await home.instance();
  await Promise.all(Array.from({ length: 10 }, (_, at) => refused(instance, at)));
  assert.equal(sshd.signIns, 10);
  const busyFor = async (rest: string): Promise<number> => {
    const args = ["wait", "-pid", `${instance.pid}`, "-rest", rest];
    const { code, stdout, stderr } = await runPeer(paths.loadgen, args);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout).cpu_percent;
  };
  // First wait until V8 has collected the garbage from startup.
  if (isLongRun()) await busyFor("60s");
  const busy = await busyFor(rest);
  assert.ok(busy < mostBusy, `${busy} %`);
  assert.equal(sshd.signIns, 10);
}, { platforms: ["linux"] });

peerTest("a hundred sessions die together, and each serves the next client", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump");
  await using home = await openSshHousehold(lab, severalHosts(sshd, 100));
  await using instance = await home.instance();
  const everyHost = Array.from({ length: 100 }, (_, at) => at);
  await Promise.all(everyHost.map((at) => refused(instance, at)));
  assert.equal(sshd.signIns, 100);
  await sshd.signalSessions("KILL");
  await Promise.all(everyHost.map((at) => refused(instance, at)));
  await eventually("all are signed in again", () => sshd.signIns === 200);
  await Promise.all(everyHost.map((at) => refused(instance, at)));
  assert.equal(sshd.signIns, 200);
  assert.equal(instance.stderr.match(/ssh\.lost /g)?.length, 100);
});

/** Requests a port without a listener: the server's refusal shows that the session works. */
async function refused(instance: Instance, at: number): Promise<void> {
  await assert.rejects(ask(instance, { host: `127.0.1.${at}`, port: 1 }), /reply 5/);
}

for (const isGone of [false, true]) {
  const outcome = isGone ? "detects a dead server" : "keeps a live server";
  peerTest(`an instance that slept for longer than deadAfter ${outcome}`, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    await using echo = echoServer();
    const sshd = await lab.start("jump");
    await using home = await openSshHousehold(lab, {
      ssh: sshHostLines("jump", sshd),
      postern: ["transports: { jump: { ssh: jump } }", "default: jump"],
      section: ["keepalive: 300ms", "deadAfter: 900ms"],
    });
    await using instance = await home.instance();
    using held = await throughSocks5(await instance.address(), { host: loopback, port: echo.port });
    instance.kill("SIGSTOP");
    if (isGone) await sshd.signalSessions("STOP");
    // The sleep itself: there is no event to wait for.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    instance.kill("SIGCONT");
    const startedAt = performance.now();
    await ask(instance, echo);
    assert.ok(performance.now() - startedAt < 3000);
    assert.equal(sshd.signIns, isGone ? 2 : 1);
    if (isGone) await instance.says(/ssh\.lost /);
    else await exchange(held);
  });
}
