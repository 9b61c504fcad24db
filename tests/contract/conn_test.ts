import assert from "node:assert/strict";
import { TLSSocket } from "node:tls";
import { ContinuedConn } from "../../src/core/streams/continued_conn.ts";
import { duplex, DuplexConn, Messages } from "../../src/core/mod.ts";
import type { Endpoint } from "../../src/words/mod.ts";
import { BelowTls } from "../../src/runtime/tls/below_tls.ts";
import { inheritListening } from "../../src/runtime/network/inherited_listening.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { TlsConn } from "../../src/runtime/tls/tls_conn.ts";
import { memoryPair } from "../support/memory_conn.ts";
import { connContract, type Pair } from "./conn_contract.ts";

connContract("MemoryConn", () => {
  const [near, far] = memoryPair();
  return Promise.resolve({ near, far });
});

connContract("duplex() and DuplexConn", async () => {
  const [inner, far] = memoryPair();
  const stream = await duplex(inner);
  return { near: new DuplexConn(stream, { peer: inner.peer }), far };
});

connContract("a DuplexConn at both ends", async () => {
  const [a, b] = memoryPair();
  return {
    near: new DuplexConn(await duplex(a), { peer: a.peer }),
    far: new DuplexConn(await duplex(b), { peer: b.peer }),
  };
});

connContract("ContinuedConn", () => {
  const [near, far] = memoryPair();
  return Promise.resolve({ near: new ContinuedConn(near, new Messages(near)), far });
});

connContract("a TCP socket", () => socketPair({ host: "127.0.0.1", port: 0 }));

connContract("a client of an inherited socket", async () => {
  await using listening = await inheritListening({ host: "127.0.0.1", port: 0 });
  const { signal } = new AbortController();
  const [far, near] = await Promise.all([
    createNetwork().connect(listening.endpoint, { signal }),
    listening.accept(),
  ]);
  return { near: near ?? assert.fail("closed"), far };
});

/** Deno grants unix sockets with the whole network only. */
const hasUnix = Deno.build.os !== "windows" &&
  Deno.permissions.querySync({ name: "net" }).state === "granted";
connContract("a unix socket", async () => {
  const directory = await Deno.makeTempDir();
  const pair = await socketPair({ path: `${directory}/s` });
  return { ...pair, close: () => Deno.remove(directory, { recursive: true }) };
}, { skipped: hasUnix ? undefined : "needs --allow-net without a list" });

/** Reading the certificates needs a permission that the memory suites do without. */
const hasFiles = Deno.permissions.querySync({ name: "read", path: "." }).state === "granted";
connContract("TLS", async () => {
  // Narrow, so that the end of TLS comes while bytes are still on their way below.
  const [a, b] = memoryPair({ capacity: 1000 });
  const { testTls } = await import("../support/tls_files.ts");
  const below = new BelowTls(b);
  const server = new TLSSocket(below.stream, { isServer: true, ...testTls.server });
  const near = new TlsConn({ socket: server, below, conn: b, failure: (error) => error });
  const far = await createNetwork().secure(a, {
    serverName: "site.example.net",
    ca: testTls.ca,
    signal: new AbortController().signal,
  });
  return { near, far };
}, { skipped: hasFiles ? undefined : "needs --allow-read" });

connContract(
  "a TCP socket from an address of ours",
  () => socketPair({ host: "127.0.0.1", port: 0 }, "127.0.0.1"),
);

async function socketPair(endpoint: Endpoint, from?: string): Promise<Pair> {
  const network = createNetwork();
  await using listening = network.listen(endpoint);
  const [near, far] = await Promise.all([
    network.connect(listening.endpoint, {
      signal: new AbortController().signal,
      ...(from !== undefined && { from }),
    }),
    listening.accept(),
  ]);
  return { near, far: far ?? assert.fail("closed") };
}
