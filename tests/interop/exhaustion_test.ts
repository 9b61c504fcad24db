import assert from "node:assert/strict";
import { eventually, runPeer } from "../support/peer_program.ts";
import { namespaceTest } from "../support/namespaces.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { latin1, RawClient, throughSocks5 } from "../support/raw_client.ts";
import { echoServer, type TargetServer } from "../support/target_server.ts";

async function assertServes(instance: Instance, target: TargetServer): Promise<void> {
  using client = await throughSocks5(await instance.address(), { host: "127.0.0.1", port: target.port });
  await client.send("hello");
  assert.deepEqual(await client.take(5), latin1("hello"));
}

/** The processor time over one second, in percent. */
async function busy(loadgen: string, { pid }: Instance): Promise<number> {
  const { code, stdout, stderr } = await runPeer(loadgen, ["wait", "-pid", `${pid}`, "-rest", "1s"]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout).cpu_percent;
}

peerTest("out of descriptors: the instance logs it once a second, does not spin, and recovers", [
  "bash",
  "loadgen",
], async (
  { bash, loadgen },
) => {
  await using home = await Household.open();
  await home.configure("listen: { limits: { handshake: 1m } }\ndefault: direct\n");
  await using target = echoServer();
  await using instance = await home.instance([], { under: [bash, "-c", 'ulimit -n 64; exec "$@"', "bash"] });
  const address = await instance.address();
  const clients = await Promise.all(Array.from({ length: 120 }, () => RawClient.connect(address)));
  try {
    await instance.says(/ ERROR instance\.accept_failed /);
    const before = complaints(instance);
    assert.ok(await busy(loadgen, instance) < 30);
    assert.ok(complaints(instance) - before <= 2, instance.stderr);
  } finally {
    for (const client of clients) client.close();
  }
  await assertServes(instance, target);
  instance.kill("SIGTERM");
  assert.equal((await instance.ended).code, 0);
}, { platforms: ["linux"] });

function complaints(instance: Instance): number {
  return instance.stderr.match(/instance\.accept_failed/g)?.length ?? 0;
}

Deno.test("clients over the limit get an answer in their own protocol, and one log line per second", async () => {
  await using home = await Household.open();
  await home.configure("listen: { limits: { connections: 4 } }\ndefault: direct\n");
  await using target = echoServer();
  await using instance = await home.instance();
  const address = await instance.address();
  const host = { host: "127.0.0.1", port: target.port };
  const held = await Promise.all(Array.from({ length: 4 }, () => throughSocks5(address, host)));
  try {
    for (let more = 0; more < 5; more++) {
      await assert.rejects(throughSocks5(address, host), /SOCKS5 reply 1$/);
    }
    using http = await RawClient.connect(address);
    await http.send(`CONNECT ${target.address} HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.match(await http.restText(), /^HTTP\/1\.1 503 [^]*limits\.connections/);
  } finally {
    for (const client of held) client.close();
  }
  await eventually("there is room again", () => assertServes(instance, target).then(() => true, () => false));
  await instance.says(/ WARN +instance\.full/);
  assert.equal(instance.stderr.match(/ WARN +instance\.full/g)?.length, 1);
});

const crowds = [
  { limit: "descriptors", tunnels: 0, says: "", who: "silent clients" },
  { limit: "descriptors", tunnels: 0, says: "GET /heal", who: "clients with half a request" },
  { limit: "descriptors", tunnels: 40, says: "", who: "silent clients when tunnels hold all descriptors" },
  { limit: "connections", tunnels: 0, says: "", who: "silent clients" },
  { limit: "connections", tunnels: 20, says: "\x05", who: "clients with half a request, and tunnels" },
];
for (const { limit, tunnels, says, who } of crowds) {
  peerTest(`out of ${limit}: the pages answer promptly despite 300 ${who}`, ["bash"], async ({ bash }) => {
    await using home = await Household.open();
    const most = limit === "connections" ? ", connections: 20" : "";
    await home.configure(
      `listen: { admin: "127.0.0.1:0", limits: { handshake: 1m${most} } }\ndefault: direct\n`,
    );
    await using target = echoServer();
    const under = limit === "descriptors" ? [bash, "-c", 'ulimit -n 64; exec "$@"', "bash"] : [];
    await using instance = await home.instance([], { under });
    const address = await instance.address();
    const [, admin = ""] = await instance.says(/kind=admin address=(\S+)/);
    const clients: RawClient[] = [];
    try {
      for (let count = 0; count < tunnels; count++) {
        const made = throughSocks5(address, { host: "127.0.0.1", port: target.port });
        await made.then((client) => clients.push(client), () => {});
      }
      // The instance rejects the last clients when tunnels hold all descriptors.
      assert.equal(clients.length < tunnels, limit === "descriptors" && tunnels > 0);
      for (let count = 0; count < 300; count++) {
        const client = await RawClient.connect(address);
        clients.push(client);
        // The instance may have rejected this client already.
        if (says !== "") await client.send(says).catch(() => {});
        if (count % 100 !== 99) continue;
        for (const place of [address, admin]) await assertHealthy(place);
      }
    } finally {
      for (const client of clients) client.close();
    }
    await eventually(
      "there is room again",
      () => assertServes(instance, target).then(() => true, () => false),
    );
    assert.doesNotMatch(instance.stderr, /client\.failed/);
  }, { platforms: ["linux"] });
}

/** Checks that the page answers within a second, as a probe requires. */
async function assertHealthy(address: string): Promise<void> {
  const began = performance.now();
  using client = await RawClient.connect(address);
  await client.send(`GET /healthz HTTP/1.1\r\nHost: ${address}\r\nConnection: close\r\n\r\n`);
  assert.match(await client.restText(), /^HTTP\/1\.1 200 /);
  assert.ok(performance.now() - began < 1000, `${performance.now() - began} ms`);
}

/** CI opens 2,000; `POSTERN_IDLE_CONNECTIONS=5000` opens as many as the issue requires. */
const idle = Number(environment("POSTERN_IDLE_CONNECTIONS") ?? 2000);

peerTest(`${idle} idle connections stay open with little memory each`, ["bash", "loadgen"], async (
  { bash, loadgen },
) => {
  await using home = await Household.open();
  await home.configure("listen: { limits: { connections: 20000 } }\ndefault: direct\n");
  await using instance = await home.instance([], {
    under: [bash, "-c", 'ulimit -n "$(ulimit -H -n)"; exec "$@"', "bash"],
  });
  const { code, stdout, stderr } = await runPeer(loadgen, [
    ...[
      "idle",
      "-proxy",
      await instance.address(),
      "-pid",
      `${instance.pid}`,
      "-n",
      `${idle}`,
      "-rest",
      "500ms",
    ],
  ]);
  assert.equal(code, 0, stderr);
  const { open, refused, kB_per_conn: each } = JSON.parse(stdout);
  assert.deepEqual([open, refused], [idle, 0]);
  // An upper bound that includes garbage from the burst of clients; `deno task bench` measures exactly.
  assert.ok(each < 60, `${each} kB each`);
}, { platforms: ["linux"] });

/** An optional variable; undefined without permission to read it. */
function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

namespaceTest(
  "a full disk for logs: the instance keeps working, and reports lost lines when there is room",
  "--mount",
  async (
    wrap,
    bash,
  ) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using target = echoServer();
    const disk = `${home.directory}/disk`;
    await Deno.mkdir(disk);
    const mount = `mount -t tmpfs -o size=64k tmpfs ${disk} && head -c 60000 /dev/zero >${disk}/filler`;
    await using instance = await home.instance(["--log-file", `${disk}/postern.log`], { under: wrap(mount) });
    const inside = async (script: string) => {
      const { code, stdout, stderr } = await runPeer(bash, [
        "-c",
        `nsenter --mount --target ${instance.pid} ${script}`,
      ]);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    for (let count = 0; count < 100; count++) await assertServes(instance, target);
    const full = await inside(`tail -n 3 ${disk}/postern.log`);
    assert.doesNotMatch(full, /lines lost/);
    await inside(`rm ${disk}/filler`);
    await assertServes(instance, target);
    await eventually(
      "the log reports the loss",
      async () => /\d+ lines lost/.test(await inside(`tail -n 3 ${disk}/postern.log`)),
    );
    instance.kill("SIGTERM");
    assert.equal((await instance.ended).code, 0);
  },
);
