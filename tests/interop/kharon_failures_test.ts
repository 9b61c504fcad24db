import assert from "node:assert/strict";
import { eventually, freePort } from "../support/peer_program.ts";
import { type PeerPaths, peerTest } from "../support/peers.ts";
import type { Household, Instance } from "../support/postern_process.ts";
import {
  RawClient,
  socks5Asking,
  socks5Request,
  type SocksTarget,
  throughSocks5,
} from "../support/raw_client.ts";
import { openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";
import { echoServer, TargetServer } from "../support/target_server.ts";

interface Parts {
  readonly lab: SshLab;
  readonly good: Sshd;
  readonly home: Household;
  readonly instance: Instance;
  readonly address: string;
}

/** A row: an instance with a working jump host, and `name.bad.example` through the host of that name. */
function row(
  name: string,
  hosts: (lab: SshLab) => Promise<Readonly<Record<string, number>>>,
  run: (parts: Parts) => Promise<void>,
): void {
  peerTest(name, sshPeers, async (paths: PeerPaths<typeof sshPeers[number]>) => {
    await using lab = await SshLab.create(paths);
    const good = await lab.start("good");
    const bad = Object.entries(await hosts(lab));
    await using home = await openSshHousehold(lab, {
      ssh: [
        ...sshHostLines("good", good),
        ...bad.flatMap(([host, port]) => sshHostLines(host, { port }, "ConnectTimeout 1")),
      ],
      postern: [
        `transports: { good: { ssh: good }, ${bad.map(([host]) => `${host}: { ssh: ${host} }`).join(", ")} }`,
        "default: good",
        "routes:",
        ...bad.map(([host]) => `  - { to: ${host}.bad.example, via: ${host} }`),
      ],
    });
    await using instance = await home.instance();
    await run({ lab, good, home, instance, address: await instance.address() });
  });
}

const none = () => Promise.resolve({});
const loopback = (port: number): SocksTarget => ({ host: "127.0.0.1", port });

/** The code of a SOCKS5 reply. */
async function reply(instance: string, target: SocksTarget): Promise<number | undefined> {
  using client = await RawClient.connect(instance);
  await client.send(socks5Asking(target));
  return (await client.take(12))[3];
}

/** A transport in the output of `status`. */
async function state(home: Household, name: string): Promise<{ state: string; lastError?: string }> {
  const [instance] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
  return instance.transports.find((transport: { name: string }) => transport.name === name);
}

row("a refused port at a jump host is reply 5", none, async ({ address, instance, good }) => {
  const port = freePort();
  assert.equal(await reply(address, loopback(port)), 5);
  await instance.says(new RegExp(`target=127\\.0\\.0\\.1:${port} .*refused`));
  assert.equal(good.signIns, 1);
});

row("an unknown name at a jump host is reply 4", none, async ({ address, instance, good }) => {
  assert.equal(await reply(address, { host: "missing.invalid", port: 80 }), 4);
  await instance.says(
    /target=missing\.invalid:80 .*outcome=name_not_found reason="Cannot reach missing\.invalid:80 /,
  );
  assert.equal(good.signIns, 1);
});

row(
  "a dead jump host is reply 4, with the reason in status",
  () => Promise.resolve({ dead: freePort() }),
  async ({ address, home }) => {
    assert.equal(await reply(address, { host: "dead.bad.example", port: 80 }), 4);
    const { state: is, lastError } = await state(home, "dead");
    assert.equal(is, "failing");
    assert.match(lastError ?? "", /^Cannot reach ssh dead \(127\.0\.0\.1:\d+\): .*refused/i);
    assert.match((await home.run(["status"])).stdout, /Cannot reach ssh dead .*refused/i);
  },
);

row("a wrong host key is reply 2 with the reason", async (lab) => {
  const { port } = await lab.start("changed");
  const lines = (await Deno.readTextFile(lab.knownHosts)).split("\n");
  const [, ...key] = (await Deno.readTextFile(`${await lab.makeKey("other")}.pub`)).split(" ");
  const own = `[127.0.0.1]:${port}`;
  const changed = lines.map((line) => line.startsWith(`${own} `) ? `${own} ssh-ed25519 ${key[0]}` : line);
  await Deno.writeTextFile(lab.knownHosts, changed.join("\n"));
  return { changed: port };
}, async ({ address, instance, home, lab }) => {
  assert.equal(await reply(address, { host: "changed.bad.example", port: 80 }), 2);
  const { lastError } = await state(home, "changed");
  assert.match(lastError ?? "", /host key.*SHA256:.*known_hosts:2.*SHA256:/);
  await instance.says(new RegExp(`target=changed\\.bad\\.example:80 .*SHA256:.*${lab.knownHosts}:2 `));
});

/** Listens but never sends anything. */
const silence = () =>
  new TargetServer(async (client) => {
    while (await client.some());
  });

peerTest(
  "a silent jump host fails within ConnectTimeout for all its clients; other hosts work",
  sshPeers,
  async (paths) => {
    await using silent = silence();
    await using lab = await SshLab.create(paths);
    const good = await lab.start("good");
    await using echo = echoServer();
    await using home = await openSshHousehold(lab, {
      ssh: [
        ...sshHostLines("good", good),
        ...sshHostLines("silent", silent, "ConnectTimeout 2"),
        ...sshHostLines("quiet", silent),
      ],
      postern: [
        "transports: { good: { ssh: good }, silent: { ssh: silent }, quiet: { ssh: quiet } }",
        "routes: [{ to: silent.example, via: silent }, { to: quiet.example, via: quiet }]",
        "default: good",
      ],
      section: ["connectTimeout: 1500ms"],
    });
    await using instance = await home.instance();
    const address = await instance.address();
    const startedAt = performance.now();
    const first = reply(address, { host: "silent.example", port: 80 });
    await eventually("the first client waits", () => silent.count === 1);
    const second = reply(address, { host: "www.silent.example", port: 80 });
    using _other = await throughSocks5(address, loopback(echo.port));
    assert.ok(performance.now() - startedAt < 1500, "other hosts are not delayed");
    assert.deepEqual(await Promise.all([first, second]), [6, 6]);
    const took = performance.now() - startedAt;
    assert.ok(took > 1500 && took < 3500, `${took} ms`);
    assert.equal(silent.count, 1);
    await instance.says(/ssh silent: no session within 2 s/);
    assert.notEqual(await reply(address, { host: "quiet.example", port: 80 }), 0);
    await instance.says(/ssh quiet: no session within 1\.5 s/);
    assert.match((await state(home, "silent")).lastError ?? "", /no session within 2 s/);
  },
);

row("a client that shuts down writing gets the whole response", none, async ({ address }) => {
  await using counter = new TargetServer(async (client) => {
    const { length } = await client.rest();
    await client.send(`got ${length} bytes`);
  });
  using client = await throughSocks5(address, loopback(counter.port));
  await client.send(new Uint8Array(1000));
  await client.end();
  assert.equal(await client.restText(), "got 1000 bytes");
});

row("BIND is reply 7, and so is UDP ASSOCIATE", none, async ({ address, good }) => {
  for (const command of [2, 3]) {
    using client = await RawClient.connect(address);
    await client.send(Uint8Array.of(5, 1, 0, ...socks5Request(loopback(80), command)));
    assert.deepEqual([...(await client.rest()).subarray(0, 4)], [5, 0, 5, 7]);
  }
  assert.equal(good.signIns, 0);
});

row("a client that offers only passwords gets FF if none is configured", none, async ({ address }) => {
  using client = await RawClient.connect(address);
  await client.send(Uint8Array.of(5, 1, 2));
  assert.deepEqual([...await client.rest()], [5, 0xff]);
});
