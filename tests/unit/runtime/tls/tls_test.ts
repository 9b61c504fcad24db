import assert from "node:assert/strict";
import { createServer, type TlsOptions, TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import type { Conn } from "../../../../src/core/mod.ts";
import type { ErrorCode, PosternError } from "../../../../src/words/mod.ts";
import type { SecureOptions } from "../../../../src/world/mod.ts";
import { BelowTls } from "../../../../src/runtime/tls/below_tls.ts";
import { createNetwork } from "../../../../src/runtime/network/network.ts";
import { secure, trust } from "../../../../src/runtime/tls/tls.ts";
import { TlsConn } from "../../../../src/runtime/tls/tls_conn.ts";
import { memoryPair, readAll } from "../../../support/memory_conn.ts";
import { testTls } from "../../../support/tls_files.ts";

const { signal } = new AbortController();
const site = { serverName: "site.example.net", ca: testTls.ca };

/** Connects to a TLS server that `serve` handles while `body` runs. */
async function withServer(
  { serve, ...options }: TlsOptions & { serve?: (socket: TLSSocket) => void },
  body: (conn: Conn) => Promise<void>,
): Promise<void> {
  const server = createServer({ ...testTls.server, ...options }, (socket) => {
    socket.on("error", () => socket.destroy());
    serve?.(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  try {
    await using conn = await createNetwork().connect({ host: "127.0.0.1", port: address.port }, { signal });
    await body(conn);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

const accepted: readonly { name: string; options: SecureOptions }[] = [
  { name: "a name", options: site },
  { name: "a name in capitals", options: { ...site, serverName: "SITE.example.net" } },
  { name: "a name under a wildcard", options: { ...site, serverName: "one.apps.example.net" } },
  { name: "an IPv4 address", options: { ...site, serverName: "127.0.0.1" } },
  { name: "an IPv6 address", options: { ...site, serverName: "::1" } },
];
for (const { name, options } of accepted) {
  Deno.test(`secure() accepts a certificate for ${name}`, () =>
    withServer({ serve: (socket) => socket.end("hello") }, async (conn) => {
      await using secured = await secure(conn, { ...options, signal });
      assert.equal(new TextDecoder().decode(await readAll(secured)), "hello");
    }));
}

const refused: readonly { name: string; options: SecureOptions; message: RegExp }[] = [
  { name: "another name", options: { ...site, serverName: "other.example.net" }, message: /other names$/ },
  {
    name: "two labels for a wildcard",
    options: { ...site, serverName: "a.b.apps.example.net" },
    message: /other names$/,
  },
  { name: "another IP address", options: { ...site, serverName: "127.0.0.2" }, message: /other names$/ },
  {
    name: "an untrusted CA",
    options: { serverName: "site.example.net" },
    message: /not signed by a trusted/,
  },
];
for (const { name, options, message } of refused) {
  Deno.test(`secure() rejects ${name}`, () =>
    withServer({}, async (conn) => {
      await assert.rejects(secure(conn, { ...options, signal }), failing("auth", message));
      await assert.rejects(conn.write(new Uint8Array(1)));
    }));
}

for (
  const { serverName, isSent } of [
    { serverName: "site.example.net", isSent: true },
    { serverName: "127.0.0.1", isSent: false },
  ]
) {
  Deno.test(`secure() ${isSent ? "sends" : "does not send"} "${serverName}" as the server's name`, async () => {
    const [near, far] = memoryPair();
    const controller = new AbortController();
    const securing = secure(near, { ...site, serverName, signal: controller.signal });
    const hello = new Uint8Array(4096);
    const count = await far.read(hello);
    const text = new TextDecoder("latin1").decode(hello.subarray(0, count ?? 0));
    controller.abort();
    await assert.rejects(securing);
    assert.equal(text.includes(serverName), isSent);
    assert.equal(text.includes("localhost"), false);
  });
}

Deno.test("secure() transfers a half-close: the answer still arrives", () =>
  withServer({
    allowHalfOpen: true,
    serve: (socket) => {
      let asked = "";
      socket.on("data", (chunk) => asked += chunk);
      socket.on("end", () => socket.end(`answer to ${asked}`));
    },
  }, async (conn) => {
    await using secured = await secure(conn, { ...site, signal });
    assert.equal(secured.carriesHalfClose, true);
    await secured.write(new TextEncoder().encode("question"));
    await secured.closeWrite();
    assert.equal(new TextDecoder().decode(await readAll(secured)), "answer to question");
  }));

Deno.test("secure() reports that TLS 1.2 has no half-close", () =>
  withServer({ maxVersion: "TLSv1.2", serve: (socket) => socket.end() }, async (conn) => {
    await using secured = await secure(conn, { ...site, signal });
    assert.equal(secured.carriesHalfClose, false);
    await readAll(secured);
  }));

Deno.test("secure() transfers a megabyte each way unchanged", () =>
  withServer({
    allowHalfOpen: true,
    // Not `pipe`: Deno's loses the end of a paused TLS socket.
    serve: (socket) => {
      socket.on("data", (chunk) => socket.write(chunk));
      socket.on("end", () => socket.end());
    },
  }, async (conn) => {
    await using secured = await secure(conn, { ...site, signal });
    const bytes = new Uint8Array(1024 * 1024).map((_, index) => index * 7 + (index >> 8));
    const back = readAll(secured);
    await secured.write(bytes);
    await secured.closeWrite();
    assert.deepEqual(await back, bytes);
  }));

Deno.test("a TlsConn writes pending data after both sides have ended", async () => {
  const [a, b] = memoryPair({ capacity: 1000 });
  const below = new BelowTls(b);
  const socket = new TLSSocket(below.stream, { isServer: true, ...testTls.server });
  await using server = new TlsConn({ socket, below, conn: b, failure: (error) => error });
  await using client = await secure(a, { ...site, signal });
  await client.closeWrite();
  const answering = server.write(new Uint8Array(29_000)).then(() => server.closeWrite());
  await new Promise<void>((resolve) => socket.once("end", resolve));
  assert.equal((await readAll(client)).length, 29_000);
  await answering;
});

Deno.test("secure() sends a client certificate", () =>
  withServer({
    requestCert: true,
    rejectUnauthorized: true,
    ca: testTls.ca,
    serve: (socket) => socket.end("welcome"),
  }, async (conn) => {
    await using secured = await secure(conn, { ...site, ...testTls.client, signal });
    assert.equal(new TextDecoder().decode(await readAll(secured)), "welcome");
  }));

Deno.test("secure() offers protocols (ALPN)", () =>
  withServer(
    { ALPNProtocols: ["h2"], serve: (socket) => socket.end(String(socket.alpnProtocol)) },
    async (conn) => {
      await using secured = await secure(conn, { ...site, alpn: ["h2", "http/1.1"], signal });
      assert.equal(new TextDecoder().decode(await readAll(secured)), "h2");
    },
  ));

Deno.test("secure() reports a peer that does not use TLS", async () => {
  const [near, far] = memoryPair();
  const securing = secure(near, { ...site, signal });
  await far.write(new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await assert.rejects(securing, failing("protocol", /^Cannot start TLS with "site.example.net"/));
});

Deno.test("secure() reports a peer that closes the connection", async () => {
  const [near, far] = memoryPair();
  const securing = secure(near, { ...site, signal });
  await far.closeWrite();
  await assert.rejects(securing, failing("protocol", /^Cannot start TLS/));
});

Deno.test("secure() ends with the signal's reason and drops the connection", async () => {
  const [near, far] = memoryPair();
  const controller = new AbortController();
  const securing = secure(near, { ...site, signal: controller.signal });
  await far.read(new Uint8Array(1000));
  const reason = new Error("enough");
  controller.abort(reason);
  await assert.rejects(securing, (error) => error === reason);
  assert.equal(near.isClosed, true);
});

Deno.test("secure() trusts the certificates of SSL_CERT_FILE", () =>
  withServer({ serve: (socket) => socket.end("hello") }, async (conn) => {
    using _variable = setSslCertFile(fileURLToPath(new URL("../../../support/tls/ca.crt", import.meta.url)));
    await using secured = await secure(conn, { serverName: site.serverName, signal });
    assert.equal(new TextDecoder().decode(await readAll(secured)), "hello");
  }));

Deno.test("secure() trusts only `ca` with trust: ca", () =>
  withServer({}, async (conn) => {
    using _variable = setSslCertFile(fileURLToPath(new URL("../../../support/tls/ca.crt", import.meta.url)));
    await assert.rejects(
      secure(conn, { serverName: site.serverName, trust: "ca", signal }),
      failing("auth", /not signed by a trusted/),
    );
  }));

Deno.test("secure() trusts `ca` alone", () =>
  withServer({ serve: (socket) => socket.end("hello") }, async (conn) => {
    await using secured = await secure(conn, { ...site, trust: "ca", signal });
    assert.equal(new TextDecoder().decode(await readAll(secured)), "hello");
  }));

Deno.test("secure() trusts every peer and name only with trust: any", () =>
  withServer({ serve: (socket) => socket.end("hello") }, async (conn) => {
    const options = { serverName: "other.example.net", trust: "any" } as const;
    await using secured = await secure(conn, { ...options, signal });
    assert.equal(new TextDecoder().decode(await readAll(secured)), "hello");
  }));

Deno.test("secure() reports a missing SSL_CERT_FILE", () =>
  withServer({}, async (conn) => {
    using _variable = setSslCertFile("missing.pem");
    await assert.rejects(
      secure(conn, { ...site, signal }),
      failing("config", /SSL_CERT_FILE "missing.pem"/),
    );
  }));

for (const part of ["ca", "cert", "key"] as const) {
  Deno.test(`secure() reports that ${part} is not PEM`, () =>
    withServer({}, async (conn) => {
      const options = { ...site, ...testTls.client, [part]: "not PEM", signal };
      await assert.rejects(
        secure(conn, options),
        failing("config", new RegExp(`^Cannot use ${part} for TLS`)),
      );
    }));
}

function setSslCertFile(path: string): Disposable {
  const former = Deno.env.get("SSL_CERT_FILE");
  Deno.env.set("SSL_CERT_FILE", path);
  return {
    [Symbol.dispose]() {
      if (former === undefined) Deno.env.delete("SSL_CERT_FILE");
      else Deno.env.set("SSL_CERT_FILE", former);
    },
  };
}

function failing(code: ErrorCode, message: RegExp) {
  return (error: PosternError) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  };
}

Deno.test("trust() reports an old runtime, and how to fix it", () => {
  assert.throws(() => trust({}, []), (error: PosternError) => {
    assert.equal(error.code, "config");
    assert.match(error.message, /the runtime of this build/);
    assert.match(error.hint ?? "", /2\.9/);
    return true;
  });
});

Deno.test("secure() reports the peer's certificates", async () => {
  const cert = `${testTls.server.cert}\n${testTls.ca}`;
  const plain = (pem: string) => pem.replaceAll(/\s/g, "");
  await withServer({ cert }, async (conn) => {
    const shown: { pem: string; isAuthority: boolean }[] = [];
    const onChain: NonNullable<SecureOptions["onChain"]> = (chain) => shown.push(...chain);
    await using _secured = await secure(conn, { ...site, trust: "any", onChain, signal });
    assert.deepEqual(shown.map(({ isAuthority }) => isAuthority), [false, true]);
    assert.deepEqual(shown.map(({ pem }) => plain(pem)), [testTls.server.cert, testTls.ca].map(plain));
  });
});
