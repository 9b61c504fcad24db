import assert from "node:assert/strict";
import { KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { OurAgent, OurServer } from "../support/konnectivity_programs.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { TargetServer } from "../support/target_server.ts";

const greeting = "220 mail.example ESMTP ready\r\n";

/** Everything that a CONNECT frontend sends, up to the end of the greeting. */
async function greeted(path: string, port: number): Promise<string> {
  using conn = await Deno.connect({ transport: "unix", path });
  await conn.write(new TextEncoder().encode(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\n\r\n`));
  const buffer = new Uint8Array(1024);
  let said = "";
  while (!said.endsWith(greeting)) {
    const count = await conn.read(buffer);
    if (count === null) break;
    said += new TextDecoder().decode(buffer.subarray(0, count));
  }
  return said;
}

for (const whose of ["Go", "postern"] as const) {
  peerTest(
    `a target that speaks first arrives after the 200 of postern's server, 400 times: ${whose} agent`,
    konnectivityPeers,
    async (paths) => {
      await using lab = await KonnectivityLab.create(paths);
      await using held = new AsyncDisposableStack();
      await using target = new TargetServer(async (client) => {
        await client.send(greeting);
        await client.rest();
      });
      const server = held.use(new OurServer(lab, { mode: "http-connect", isSocket: true }));
      if (whose === "Go") await lab.goAgent(server);
      else held.use(new OurAgent(lab, server));
      await eventually("an agent has joined", () => server.known.isReady);
      assert.ok("path" in server.front);
      const { path } = server.front;
      for (let round = 0; round < 20; round++) {
        const all = await Promise.all(Array.from({ length: 20 }, () => greeted(path, target.port)));
        for (const said of all) {
          assert.match(
            said,
            /^HTTP\/1\.1 200 [^\r]*\r\n(?:[^\r]+\r\n)*\r\n220 mail\.example ESMTP ready\r\n$/,
          );
        }
      }
    },
  );
}
