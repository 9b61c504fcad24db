import assert from "node:assert/strict";
import { Tasks } from "../../src/core/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { Http2Connection, type Http2Exchange } from "../../src/mux/mod.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

async function answer(exchange: Http2Exchange): Promise<void> {
  const buffer = new Uint8Array(64 * 1024);
  while (await exchange.read(buffer) !== null);
  exchange.respond([[":status", "200"], ["content-type", "text/plain"]]);
  await exchange.write(new TextEncoder().encode("hello"), { isEnd: true });
}

peerTest(
  "our HTTP/2 passes every case of h2spec: generic, http2 and hpack",
  ["h2spec"],
  async ({ h2spec }) => {
    await using listening = createNetwork().listen({ host: "127.0.0.1", port: 0 });
    assert.ok("port" in listening.endpoint);
    await using tasks = new Tasks(undefined, () => {});
    tasks.spawn(async () => {
      for (let conn; (conn = await listening.accept());) {
        // h2spec checks how faults end a stream.
        const onRequest = (exchange: Http2Exchange) => void answer(exchange).catch(() => {});
        const connection = new Http2Connection(conn, { role: "server", clock: systemClock, onRequest });
        tasks.spawn(async (signal) => {
          signal.addEventListener("abort", () => connection.abort(), { once: true });
          await connection.ended;
          await connection[Symbol.asyncDispose]();
        });
      }
    });
    const { stdout, stderr } = await runPeer(h2spec, [
      ...["generic", "http2", "hpack", "--timeout", "10"],
      ...["-h", "127.0.0.1", "-p", String(listening.endpoint.port)],
    ]);
    listening.close();
    assert.match(stdout, /145 tests, 145 passed, 0 skipped, 0 failed/, stdout.slice(-4000) + stderr);
  },
);
