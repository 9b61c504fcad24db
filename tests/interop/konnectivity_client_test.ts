import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Conn } from "../../src/core/mod.ts";
import { createNetwork } from "../../src/runtime/network.ts";
import { createFiles } from "../../src/runtime/files.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { Konnectivity } from "../../src/transports/konnectivity.ts";
import {
  type Frontend,
  frontends,
  KonnectivityLab,
  konnectivityPeers,
  type RunningServer,
  untilReady,
} from "../support/konnectivity_lab.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { freePort } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

const { signal } = new AbortController();

function client(lab: KonnectivityLab, frontend: Frontend, { front }: RunningServer): Konnectivity {
  const network = createNetwork();
  const server = "path" in front ? front : { target: { host: "127.0.0.1", port: front.port } };
  const tls = "path" in front ? {} : { ca: lab.ca("frontend"), ...lab.pair("frontend", "client") };
  return new Konnectivity({ mode: frontend.mode, server, ...tls }, {
    name: "far",
    network,
    dialer: (target, options) => network.connect(target, options),
    files: createFiles(systemClock),
    clock: systemClock,
  });
}

async function get(conn: Conn, path: string): Promise<string> {
  await conn.write(new TextEncoder().encode(`GET ${path} HTTP/1.0\r\nHost: a\r\n\r\n`));
  return new TextDecoder().decode(await readAll(conn));
}

for (const frontend of frontends) {
  peerTest(
    `the transport goes through a Go server and a Go agent: ${frontend.name}`,
    konnectivityPeers,
    async (paths) => {
      await using lab = await KonnectivityLab.create(paths);
      const page = await lab.page();
      const server = await lab.goServer(frontend);
      await lab.goAgent(server);
      await untilReady(server.health);
      await using transport = client(lab, frontend, server);

      const dial = (port: number) => transport.dial({ host: "127.0.0.1", port }, { signal });
      const pages = await Promise.all(Array.from({ length: 10 }, async () => {
        await using conn = await dial(page);
        return await get(conn, "/success");
      }));
      for (const text of pages) assert.match(text, /success test page/);
      await assert.rejects(dial(freePort()), { code: "refused" });

      // Bytes both ways, more than any window.
      using echo = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const echoing = echo.accept().then((conn) => conn.readable.pipeTo(conn.writable)).catch(() => {});
      const conn = await dial((echo.addr as Deno.NetAddr).port);
      const sent = patternBytes(5_000_000);
      const sending = conn.write(sent);
      const received = new Uint8Array(sent.length);
      for (let at = 0; at < received.length;) {
        at += await conn.read(received.subarray(at)) ?? assert.fail("ended");
      }
      await sending;
      assert.ok(Buffer.from(received).equals(sent));
      await conn[Symbol.asyncDispose]();
      await echoing;
    },
  );
}
