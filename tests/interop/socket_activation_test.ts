import assert from "node:assert/strict";
import { eventually, freePort, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { type CommandOptions, Household, type Instance } from "../support/postern_process.ts";
import { latin1, RawClient, throughSocks5 } from "../support/raw_client.ts";
import { echoServer, TargetServer } from "../support/target_server.ts";

/** A household's `postern proxy`, started by systemd when a client connects. */
async function activated(
  activate: string,
  home: Household,
  { args, names = "postern.socket", under = [] }:
    & { args: readonly string[]; names?: string }
    & CommandOptions,
): Promise<{ readonly instance: Instance; readonly address: string }> {
  const address = `127.0.0.1:${freePort()}`;
  // systemd-socket-activate passes only named environment variables.
  const { env } = home.commandLine([]);
  const kept = Object.keys(env).flatMap((name) => ["-E", name]);
  const wrap = [...under, activate, "-l", address, `--fdname=${names}`, ...kept];
  const instance = home.start(["proxy", ...args], { under: wrap });
  await instance.says(/Listening on/);
  return { instance, address };
}

async function assertServes(address: string, target: TargetServer): Promise<void> {
  using client = await throughSocks5(address, { host: "127.0.0.1", port: target.port });
  await client.send("hello");
  assert.deepEqual(await client.take(5), latin1("hello"));
}

const cases = [
  { name: "by name", args: ["--on-demand", "systemd=postern.socket"] },
  {
    name: "by the name in kharon's unit",
    args: ["--on-demand", "systemd=kharon.socket"],
    names: "kharon.socket",
  },
  { name: "without a flag", args: [] },
];

for (const { name, ...handed } of cases) {
  peerTest(
    `the first client starts an instance on a systemd socket (${name})`,
    ["systemd_socket_activate"],
    async ({ systemd_socket_activate: activate }) => {
      await using home = await Household.open();
      await home.configure("default: direct\nlisten: { mixed: 127.0.0.1:1 }\n");
      await using target = echoServer();
      const { instance, address } = await activated(activate, home, handed);
      await using _instance = instance;
      await assertServes(address, target);
      assert.deepEqual(await instance.ready, [address]);
      await assertServes(address, target);
      instance.kill("SIGTERM");
      assert.equal((await instance.ended).code, 0);
    },
    { platforms: ["linux"] },
  );
}

peerTest(
  "postern does not use a socket with another name",
  ["systemd_socket_activate"],
  async ({ systemd_socket_activate: activate }) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    const { instance, address } = await activated(activate, home, {
      args: ["--on-demand", "systemd=postern.socket"],
      names: "other.socket",
    });
    await using _instance = instance;
    using _client = await RawClient.connect(address);
    const { code, stderr } = await instance.ended;
    assert.equal(code, 1);
    assert.match(stderr, /Cannot start on demand: .*"postern\.socket", only 1 named other\.socket\n/);
  },
  { platforms: ["linux"] },
);

peerTest(
  "an instance on demand stops when idle, but not while a connection is open",
  ["systemd_socket_activate"],
  async ({ systemd_socket_activate: activate }) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using target = echoServer();
    const { instance, address } = await activated(activate, home, {
      args: ["--on-demand", "systemd=postern.socket", "--idle-exit", "300ms"],
    });
    await using _instance = instance;
    {
      using client = await throughSocks5(address, { host: "127.0.0.1", port: target.port });
      // Three times the idle limit.
      await new Promise((resolve) => setTimeout(resolve, 900));
      await client.send("still here");
      assert.deepEqual(await client.take(10), latin1("still here"));
      assert.doesNotMatch(instance.stderr, /instance\.stopping/);
    }
    assert.equal((await instance.ended).code, 0);
    assert.match(instance.stderr, /instance\.stopping why="idle/);
  },
  { platforms: ["linux"] },
);

peerTest(
  "a client of an inherited socket can half-close and still gets the response, 8 MB in each direction",
  ["systemd_socket_activate"],
  async ({ systemd_socket_activate: activate }) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    const size = 8 << 20;
    await using target = new TargetServer(async (client) => {
      const all = await client.rest();
      await client.send(all);
    });
    const { instance, address } = await activated(activate, home, { args: [] });
    await using _instance = instance;
    using client = await throughSocks5(address, { host: "127.0.0.1", port: target.port });
    const sent = new Uint8Array(size).map((_, at) => (at * 31) >> 3);
    await client.send(sent);
    await client.end();
    assert.deepEqual(await client.rest(), sent);
  },
  { platforms: ["linux"] },
);

peerTest(
  "out of descriptors: an instance on an inherited socket logs it, does not spin, serves pages, and recovers",
  ["systemd_socket_activate", "bash", "loadgen"],
  async ({ systemd_socket_activate: activate, bash, loadgen }) => {
    await using home = await Household.open();
    await home.configure("listen: { limits: { handshake: 1m } }\ndefault: direct\n");
    await using target = echoServer();
    const { instance, address } = await activated(activate, home, {
      args: [],
      under: [bash, "-c", 'ulimit -n 64; exec "$@"', "bash"],
    });
    await using _instance = instance;
    const clients = await Promise.all(Array.from({ length: 300 }, () => RawClient.connect(address)));
    try {
      await instance.says(/ ERROR instance\.accept_failed /);
      const { stdout } = await runPeer(loadgen, ["wait", "-pid", `${instance.pid}`, "-rest", "1s"]);
      assert.ok(JSON.parse(stdout).cpu_percent < 30, stdout);
      const began = performance.now();
      using page = await RawClient.connect(address);
      await page.send(`GET /healthz HTTP/1.1\r\nHost: ${address}\r\nConnection: close\r\n\r\n`);
      assert.match(await page.restText(), /^HTTP\/1\.1 200 /);
      assert.ok(performance.now() - began < 5000, `${performance.now() - began} ms`);
    } finally {
      for (const client of clients) client.close();
    }
    await eventually(
      "the instance serves clients again",
      () => assertServes(address, target).then(() => true, () => false),
    );
  },
  { platforms: ["linux"] },
);
