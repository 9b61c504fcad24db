import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Conn } from "../../../../src/core/mod.ts";
import type { SecureOptions, ServeSecureOptions } from "../../../../src/world/mod.ts";
import { secure } from "../../../../src/runtime/tls/tls.ts";
import { secureAsServer } from "../../../../src/runtime/tls/tls_server.ts";
import { memoryPair, readAll } from "../../../support/memory_conn.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";
import { testTls } from "../../../support/tls_files.ts";

const { signal } = new AbortController();
const site = { serverName: "site.example.net", ca: testTls.ca };
const mutual = { ...testTls.server, clientCa: testTls.ca };

/** Returns the result for each side: a connection or an error. */
async function handshake(
  client: SecureOptions,
  server: ServeSecureOptions,
): Promise<[near: Conn | Error, far: Conn | Error]> {
  const [near, far] = memoryPair();
  const caught = (error: unknown) => error as Error;
  return await Promise.all([
    secure(near, { ...client, signal }).catch(caught),
    secureAsServer(far, { ...server, signal }).catch(caught),
  ]);
}

for (
  const { name, client, server } of [
    { name: "a client with a certificate", client: { ...site, ...testTls.client }, server: mutual },
    { name: "a client without a certificate when none is required", client: site, server: testTls.server },
    {
      name: "HTTP/2",
      client: { ...site, ...testTls.client, alpn: ["h2"] },
      server: { ...mutual, alpn: ["h2"] },
    },
  ]
) {
  Deno.test(`secureAsServer() transfers bytes and half-closes of ${name}`, async () => {
    const [near, far] = await handshake(client, server);
    assert.ok(!(near instanceof Error) && !(far instanceof Error), String([near, far]));
    const sent = patternBytes(500_000);
    const sending = near.write(sent).then(() => near.closeWrite());
    assert.ok(Buffer.from(await readAll(far)).equals(sent));
    await sending;
    const answering = far.write(sent).then(() => far.closeWrite());
    assert.ok(Buffer.from(await readAll(near)).equals(sent));
    await answering;
    await near[Symbol.asyncDispose]();
    await far[Symbol.asyncDispose]();
  });
}

for (
  const { name, client } of [
    { name: "no certificate", client: site },
    { name: "a server certificate", client: { ...site, ...testTls.server } },
  ]
) {
  Deno.test(`secureAsServer() rejects a client with ${name}`, async () => {
    const [near, far] = await handshake(client, mutual);
    assert.ok(far instanceof Error);
    assert.equal((far as { code?: unknown }).code, "auth", String(far));
    // In TLS 1.3, the client finishes its handshake before the server rejects it.
    if (!(near instanceof Error)) {
      await assert.rejects(async () => {
        if (await near.read(new Uint8Array(1)) === null) throw new Error("ended");
      });
      near.abort();
    }
  });
}

Deno.test("secureAsServer() ends with a client that disconnects, or does not use TLS", async () => {
  for (const says of [undefined, "GET / HTTP/1.1\r\n\r\n"]) {
    const [near, far] = memoryPair();
    const serving = secureAsServer(far, { ...mutual, signal });
    if (says !== undefined) await near.write(new TextEncoder().encode(says));
    await near.closeWrite();
    await assert.rejects(serving);
    await near[Symbol.asyncDispose]();
  }
});

Deno.test("secureAsServer() ends with its signal", async () => {
  const stop = new AbortController();
  const [near, far] = memoryPair();
  const serving = secureAsServer(far, { ...mutual, signal: stop.signal });
  stop.abort(new Error("too late"));
  await assert.rejects(serving, /too late/);
  await near[Symbol.asyncDispose]();
});
