import assert from "node:assert/strict";
import { frontends, KonnectivityLab, konnectivityPeers, untilReady } from "../support/konnectivity_lab.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { RawClient, socks5Asking } from "../support/raw_client.ts";

/** When run from source, an instance may use sockets in its own runtime directory. */
async function socketsOf(home: Household): Promise<string> {
  const directory = `${home.directory}/run/postern`;
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  await Deno.chmod(`${home.directory}/run`, 0o700);
  return directory;
}

for (const frontend of frontends) {
  peerTest(
    `an instance connects through a Go server and a Go agent: ${frontend.name}`,
    [...konnectivityPeers, "curl"],
    async (paths) => {
      await using lab = await KonnectivityLab.create(paths);
      const page = await lab.page();
      await using home = await Household.open();
      const server = await lab.goServer(frontend, { sockets: await socketsOf(home) });
      await lab.goAgent(server);
      await untilReady(server.health);
      const { cert, key } = lab.pair("frontend", "client");
      const where = "path" in server.front
        ? `uds: ${server.front.path}`
        : `server: 127.0.0.1:${server.front.port}, ca: ${lab.ca("frontend")}, cert: ${cert}, key: ${key}`;
      await home.configure(
        `transports:\n  hosted: { konnectivity: { ${where}, mode: ${frontend.mode} } }\ndefault: hosted\n`,
      );
      await using instance = await home.instance();
      const url = `http://127.0.0.1:${page}/success`;
      const args = [
        "-sS",
        "--noproxy",
        "",
        "--header",
        "Connection: close",
        "--socks5-hostname",
        await instance.address(),
        url,
      ];
      const { stdout, stderr } = await runPeer(paths.curl, args);
      assert.match(stdout, /success test page/, stderr);
      await instance.says(/transport=hosted/);
    },
  );
}

peerTest(
  "bytes that precede the 200 of a Go server keep their order (a target that speaks first, many times)",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    const frontend = { mode: "http-connect", isSocket: true } as const;
    await using home = await Household.open();
    const server = await lab.goServer(frontend, { sockets: await socketsOf(home) });
    await lab.goAgent(server);
    await untilReady(server.health);
    using greeter = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const greeting = "220 mail.example ESMTP ready\r\n";
    const held: Promise<void>[] = [];
    const greeted = (async () => {
      for await (const conn of greeter) {
        // Sends first, then listens until its client disconnects.
        await conn.write(new TextEncoder().encode(greeting)).catch(() => {});
        held.push(conn.readable.pipeTo(new WritableStream()).catch(() => {}));
      }
    })().catch(() => {});
    assert.ok("path" in server.front);
    await home.configure(
      `transports:\n  hosted: { konnectivity: { uds: ${server.front.path}, mode: http-connect } }\ndefault: hosted\n`,
    );
    await using instance = await home.instance();
    const address = await instance.address();
    const { port } = greeter.addr as Deno.NetAddr;
    for (let round = 0; round < 100; round++) {
      using client = await RawClient.connect(address);
      await client.send(socks5Asking({ host: "127.0.0.1", port }));
      const reply = await client.take(12);
      assert.equal(reply[3], 0, `round ${round}: reply ${reply[3]}: ${instance.stderr.slice(-500)}`);
      assert.equal(new TextDecoder().decode(await client.take(greeting.length)), greeting);
    }
    greeter.close();
    await greeted;
    await Promise.all(held);
  },
);
