import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Transport } from "../../src/core/mod.ts";
import {
  type Frontend,
  frontends,
  KonnectivityLab,
  konnectivityPeers,
  untilReady,
} from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurAgent, OurServer } from "../support/konnectivity_programs.ts";
import { isLongRun } from "../support/long_runs.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { eventually, freePort } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

const { signal } = new AbortController();
const dials = isLongRun() ? 100 : 10;
const whose = ["postern", "Go"] as const;
type Whose = typeof whose[number];

/** Starts a server and an agent, and returns the frontend once the agent has joined. */
async function bringUp(
  lab: KonnectivityLab,
  frontend: Frontend,
  { server, agent, held }: { server: Whose; agent: Whose; held: AsyncDisposableStack },
): Promise<{ readonly port: number } | { readonly path: string }> {
  const running = server === "Go" ? await lab.goServer(frontend) : held.use(new OurServer(lab, frontend));
  if (agent === "Go") await lab.goAgent(running);
  else held.use(new OurAgent(lab, running));
  if ("health" in running) await untilReady(running.health);
  else await eventually("an agent has joined", () => running.known.isReady);
  return running.front;
}

async function fetchPage(transport: Transport, port: number): Promise<string> {
  await using conn = await transport.dial({ host: "127.0.0.1", port }, { signal });
  await conn.write(new TextEncoder().encode("GET /success HTTP/1.0\r\nHost: a\r\n\r\n"));
  return new TextDecoder().decode(await readAll(conn));
}

/** Sends more bytes than any window in both directions, then closes. */
async function echoMuch(transport: Transport): Promise<void> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const echoing = listener.accept().then((conn) => conn.readable.pipeTo(conn.writable)).catch(() => {});
  const conn = await transport.dial({ host: "127.0.0.1", port: (listener.addr as Deno.NetAddr).port }, {
    signal,
  });
  const sent = patternBytes(5_000_000);
  const sending = conn.write(sent);
  const received = new Uint8Array(sent.length);
  for (let at = 0; at < received.length;) {
    at += await conn.read(received.subarray(at)) ?? assert.fail("the connection ended");
  }
  await sending;
  assert.ok(Buffer.from(received).equals(sent));
  await conn[Symbol.asyncDispose]();
  await echoing;
}

for (const frontend of frontends) {
  for (const server of whose) {
    for (const agent of whose) {
      peerTest(
        `${server} server and ${agent} agent, ${frontend.name}: clients of postern and of Go`,
        konnectivityPeers,
        async (paths) => {
          await using lab = await KonnectivityLab.create(paths);
          await using held = new AsyncDisposableStack();
          const page = await lab.page();
          const front = await bringUp(lab, frontend, { server, agent, held });

          await using transport = konnectivityClient(lab, frontend, front);
          const pages = await Promise.all(Array.from({ length: dials }, () => fetchPage(transport, page)));
          for (const text of pages) assert.match(text, /success test page/);
          await assert.rejects(fetchPage(transport, freePort()), { code: "refused" });
          await echoMuch(transport);

          const more = [`--test-requests=${dials}`];
          const { code, said } = await lab.goClient(frontend, front, { port: page, more });
          assert.equal(code, 0, said);
          assert.equal(said.match(/success test page/g)?.length, dials, said);
          const refused = await lab.goClient(frontend, front, { port: freePort() });
          assert.match(refused.said, /refused|502 Bad Gateway/);
        },
      );
    }
  }
}
