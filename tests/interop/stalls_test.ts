import assert from "node:assert/strict";
import { agentCommand, serverCommand } from "../support/konnectivity_commands.ts";
import { KonnectivityLab, konnectivityPeers, untilReady } from "../support/konnectivity_lab.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { latin1, RawClient, socks5Asking, socks5Request, throughSocks5 } from "../support/raw_client.ts";
import { RoughLine } from "../support/rough_line.ts";
import { sshHostLines, writeSshConfig } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { echoServer, TargetServer } from "../support/target_server.ts";

// A program that was suspended, by its machine or a signal, has not read the data that arrived meanwhile. Its
// clients and peers are not at fault, so no timeout may close their connections for that.

/** In ms: long enough for a client on a busy machine and for opening a path; shorter than a suspension. */
const limit = { handshake: 2000, dial: 5000, sleep: 7000 };
const limits = `listen: { limits: { handshake: ${limit.handshake}ms, dial: ${limit.dial}ms } }`;

/** Suspends a program for longer than every limit while `work` runs. */
async function asleep(
  program: { kill(signal: Deno.Signal): void },
  work: () => void | Promise<void>,
  ms = limit.sleep,
): Promise<void> {
  program.kill("SIGSTOP");
  try {
    await work();
    // The suspension itself; there is no event to wait for.
    await new Promise((resolve) => setTimeout(resolve, ms));
  } finally {
    program.kill("SIGCONT");
  }
}

async function opened(lines: readonly string[]): Promise<Household> {
  const home = await Household.open();
  await home.configure([limits, ...lines].join("\n") + "\n");
  return home;
}

/** A client whose connection the instance has accepted, and that has sent nothing yet. */
async function silentClient(instance: Instance, echo: { readonly port: number }): Promise<RawClient> {
  const client = await RawClient.connect(await instance.address());
  // The instance accepts clients in their order.
  (await throughSocks5(await instance.address(), { host: "127.0.0.1", port: echo.port })).close();
  return client;
}

async function echoes(client: RawClient): Promise<void> {
  await client.send("hello");
  assert.equal(new TextDecoder().decode(await client.take(5)), "hello");
}

const asked = {
  "SOCKS5": (port: number) => socks5Asking({ host: "127.0.0.1", port }),
  "SOCKS4": (port: number) => Uint8Array.of(4, 1, port >> 8, port & 255, 127, 0, 0, 1, 0),
  "HTTP": (port: number) => latin1(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`),
};
const answers = {
  "SOCKS5": async (client: RawClient) => assert.equal((await client.take(12))[3], 0),
  "SOCKS4": async (client: RawClient) => assert.equal((await client.take(8))[1], 90),
  "HTTP": async (client: RawClient) => assert.match(await client.takeUntil("\r\n\r\n"), /^HTTP\/1\.1 200 /),
};

for (const protocol of ["SOCKS5", "SOCKS4", "HTTP"] as const) {
  Deno.test(`a ${protocol} client that sends its request to a suspended instance is served`, async () => {
    await using echo = echoServer();
    await using home = await opened(["default: direct"]);
    await using instance = await home.instance();
    using client = await silentClient(instance, echo);
    await asleep(instance, () => client.send(asked[protocol](echo.port)));
    await answers[protocol](client);
    await echoes(client);
  });
}

for (const early of ["nothing", "its greeting"]) {
  Deno.test(`a SOCKS5 client that sends ${early} to a suspended instance can continue afterward`, async () => {
    await using echo = echoServer();
    await using home = await opened(["default: direct"]);
    await using instance = await home.instance();
    using client = await silentClient(instance, echo);
    const greet = () => client.send(Uint8Array.of(5, 1, 0));
    await asleep(instance, async () => early === "nothing" ? undefined : await greet());
    if (early === "nothing") await greet();
    assert.deepEqual([...await client.take(2)], [5, 0]);
    await client.send(socks5Request({ host: "127.0.0.1", port: echo.port }));
    assert.equal((await client.take(10))[1], 0);
    await echoes(client);
  });
}

Deno.test("a silent client is dropped even if the instance was suspended", async () => {
  await using echo = echoServer();
  await using home = await opened(["default: direct"]);
  await using instance = await home.instance();
  using client = await silentClient(instance, echo);
  await asleep(instance, () => {});
  assert.equal((await client.rest()).length, 0);
});

Deno.test("a dial answered while the instance is suspended succeeds", async () => {
  const isAsked = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  await using upstream = new TargetServer(async (client) => {
    await client.takeUntil("\r\n\r\n");
    isAsked.resolve();
    await mayAnswer.promise;
    await client.send("HTTP/1.1 200 OK\r\n\r\n");
    await client.send(await client.take(5));
  });
  await using home = await opened([
    `transports: { corp: { proxy: { url: "http://${upstream.address}" } } }`,
    "default: corp",
  ]);
  await using instance = await home.instance();
  using client = await RawClient.connect(await instance.address());
  await client.send(socks5Asking({ host: "a.example", port: 7 }));
  await isAsked.promise;
  await asleep(instance, () => mayAnswer.resolve());
  assert.equal((await client.take(12))[3], 0);
  await echoes(client);
});

/**
 * Connects through an instance over a blocked line, and unblocks the line while the instance is suspended.
 */
async function throughHeldLine(instance: Instance, line: RoughLine, port: number): Promise<void> {
  line.state = "held";
  using client = await RawClient.connect(await instance.address());
  await client.send(socks5Asking({ host: "127.0.0.1", port }));
  await eventually("the instance connects to the line", () => line.open > 0);
  await asleep(instance, () => {
    line.state = "open";
  });
  assert.equal((await client.take(12))[3], 0, instance.stderr);
  await echoes(client);
}

peerTest("an ssh session opens although the instance is suspended meanwhile", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump");
  await using line = new RoughLine(() => sshd.port);
  await lab.know(`[127.0.0.1]:${line.port}`, `${sshd.keys[0]}.pub`);
  const config = await writeSshConfig(lab, sshHostLines("jump", line, "ConnectTimeout 5"));
  await using echo = echoServer();
  await using home = await opened([
    `ssh: { config: ${JSON.stringify(config)} }`,
    "transports: { jump: { ssh: jump } }",
    "default: jump",
  ]);
  await using instance = await home.instance();
  await throughHeldLine(instance, line, echo.port);
  assert.equal(sshd.signIns, 1);
});

interface KonnectivityParts {
  readonly instance: Instance;
  readonly line: RoughLine;
  readonly server: Instance;
  readonly agent: Instance;
}

/** An instance that connects through our Konnectivity server and agent, over a line. */
function konnectivityTest(
  name: string,
  settings: string,
  run: (parts: KonnectivityParts) => Promise<void>,
): void {
  peerTest(name, konnectivityPeers, async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using home = await Household.open();
    const server = await serverCommand(home, lab);
    const agent = await agentCommand(home, lab, { agents: server.agents });
    await untilReady(server.health);
    await using line = new RoughLine(() => server.front);
    const { cert, key } = lab.pair("frontend", "client");
    const where = `server: "127.0.0.1:${line.port}", mode: grpc`;
    await home.configure(
      [
        settings,
        `transports: { own: { konnectivity: { ${where}, ca: ${
          lab.ca("frontend")
        }, cert: ${cert}, key: ${key} } } }`,
        "default: own\n",
      ].join("\n"),
    );
    await using instance = await home.instance();
    await run({ instance, line, server: server.program, agent: agent.program });
  });
}

konnectivityTest(
  "a path through Konnectivity opens although the instance is suspended meanwhile",
  limits,
  async (parts) => {
    await using echo = echoServer();
    await throughHeldLine(parts.instance, parts.line, echo.port);
  },
);

for (const who of ["server", "agent"] as const) {
  konnectivityTest(
    `connections through Konnectivity survive a suspended ${who}`,
    "",
    async (parts) => {
      await using echo = echoServer();
      const ask = async () =>
        await throughSocks5(await parts.instance.address(), { host: "127.0.0.1", port: echo.port });
      using before = await ask();
      let asking: Promise<RawClient> | undefined;
      await asleep(parts[who], async () => {
        await before.send("hel");
        asking = ask();
        // Peers drop a connection after seven seconds without data.
      }, 3000);
      await before.send("lo");
      assert.equal(new TextDecoder().decode(await before.take(5)), "hello");
      assert.ok(asking);
      using after = await asking;
      await echoes(after);
    },
  );
}
