import { TLSSocket } from "node:tls";
import type { Conn } from "../../../src/core/mod.ts";
import { createNetwork } from "../../../src/runtime/network/network.ts";
import { BelowTls } from "../../../src/runtime/tls/below_tls.ts";
import { TlsConn } from "../../../src/runtime/tls/tls_conn.ts";
import { memoryPair } from "../../support/memory_conn.ts";
import { type ConnKind, type Pair, swapped } from "../conn_contract.ts";
import { socketPair } from "./sockets.ts";

const { signal } = new AbortController();

/** The certificates need a read permission, which the memory suites do not have. */
const hasFiles = Deno.permissions.querySync({ name: "read", path: "." }).state === "granted";

const oldTls = "a TLS 1.2 peer may discard unsent data (RFC 5246, section 7.2.1)";

export function tlsConns(): readonly ConnKind[] {
  const skipped = hasFiles ? undefined : "needs --allow-read";
  const client = { of: "TlsConn", madeBy: ["src/runtime/tls/tls.ts"], skipped };
  const server = { of: "TlsConn", madeBy: ["src/runtime/tls/tls_server.ts"], skipped };
  // Small buffers, so that TLS ends while lower layers still hold bytes.
  const narrow = () => memoryPair({ capacity: 1000 });
  return [
    { ...client, name: "TLS, as the client", open: () => tlsPair(narrow()) },
    { ...server, name: "TLS, as the server", open: () => swapped(tlsPair(narrow())) },
    {
      ...client,
      name: "TLS over a TCP socket",
      open: async () => {
        const { near, far } = await socketPair({ host: "127.0.0.1", port: 0 });
        return await tlsPair([near, far]);
      },
    },
    { ...client, name: "TLS 1.2, as the client", open: oldTlsPair, deniesHalfClose: oldTls },
    {
      ...server,
      name: "TLS 1.2, as the server",
      open: () => swapped(oldTlsPair()),
      deniesHalfClose: oldTls,
    },
  ];
}

async function tlsPair([a, b]: readonly [Conn, Conn]): Promise<Pair> {
  const { testTls } = await import("../../support/tls_files.ts");
  const network = createNetwork();
  const [near, far] = await Promise.all([
    network.secure(a, { serverName: "site.example.net", ca: testTls.ca, signal }),
    network.secureAsServer(b, { ...testTls.server, signal }),
  ]);
  return { near, far };
}

async function oldTlsPair(): Promise<Pair> {
  const { testTls } = await import("../../support/tls_files.ts");
  const [a, b] = memoryPair();
  const below = new BelowTls(b);
  const socket = new TLSSocket(below.stream, { isServer: true, maxVersion: "TLSv1.2", ...testTls.server });
  const near = await createNetwork().secure(a, { serverName: "site.example.net", ca: testTls.ca, signal });
  return { near, far: new TlsConn({ socket, below, conn: b, failure: (error) => error }) };
}
