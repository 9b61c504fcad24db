import assert from "node:assert/strict";
import { type Conn, Messages, Tasks } from "../../../src/core/mod.ts";
import { type ErrorCode, PosternError } from "../../../src/words/mod.ts";
import { decodeRequestHead, decodeSocks5Greeting, decodeSocks5Request } from "../../../src/wire/mod.ts";
import { Direct } from "../../../src/transports/mod.ts";
import { type ProxySettings, UpstreamProxy } from "../../../src/http/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { readAll } from "../../support/memory_conn.ts";
import { MemoryFiles } from "../../support/memory_files.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { patternBytes, randomNumbers } from "../../support/pattern_bytes.ts";
import { ProxyServer } from "../../support/proxy_server.ts";

const address = { host: "192.0.2.1", port: 3128 };
const target = { host: "web.example", port: 443 };
const signal = new AbortController().signal;
const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const text = (data: Uint8Array): string => new TextDecoder().decode(data);

function proxyOver(
  network: MemoryNetwork,
  settings: Partial<ProxySettings> = {},
  files = new MemoryFiles(),
): UpstreamProxy {
  const parts = { network, clock: new FakeClock(), files };
  const direct = new Direct(parts);
  return new UpstreamProxy({ scheme: "http", ...address, ...settings }, {
    ...parts,
    name: "corp",
    dialer: (target, options) => direct.dial(target, options),
  });
}

/** A server with a scripted response to its first client. */
function scripted(
  network: MemoryNetwork,
  script: (conn: Conn, messages: Messages) => Promise<void>,
): AsyncDisposable {
  const tasks = new Tasks(undefined, () => {});
  const listening = network.listen(address);
  tasks.spawn(async () => {
    const conn = await listening.accept();
    if (!conn) return;
    await using _conn = conn;
    await script(conn, new Messages(conn));
  });
  return {
    [Symbol.asyncDispose]: async () => {
      listening.close();
      await tasks[Symbol.asyncDispose]();
    },
  };
}

/** An HTTP proxy with one response. */
function answering(network: MemoryNetwork, answer: string): AsyncDisposable {
  return scripted(network, async (conn, messages) => {
    await messages.read(decodeRequestHead);
    await conn.write(bytes(answer));
  });
}

/** A SOCKS5 proxy without authentication and with one response. */
function replying(network: MemoryNetwork, reply: readonly number[]): AsyncDisposable {
  return scripted(network, async (conn, messages) => {
    await messages.read(decodeSocks5Greeting);
    await conn.write(Uint8Array.of(5, 0));
    await messages.read(decodeSocks5Request);
    await conn.write(new Uint8Array(reply));
  });
}

Deno.test("UpstreamProxy.dial() sends an HTTP proxy the CONNECT request of the RFC", async () => {
  const network = new MemoryNetwork();
  let seen = "";
  await using _server = scripted(network, async (conn) => {
    const into = new Uint8Array(1000);
    seen = text(into.subarray(0, await conn.read(into) ?? 0));
    await conn.write(bytes("HTTP/1.0 200 Connection established\r\n\r\n"));
  });
  const proxy = proxyOver(network, { user: "me", password: "p:ä" });
  await using _conn = await proxy.dial({ host: "2001:db8::1", port: 443 }, { signal });
  assert.equal(
    seen,
    "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n" +
      "Proxy-Authorization: Basic bWU6cDrDpA==\r\n\r\n",
  );
});

const httpAnswers: { answer: string; code: ErrorCode; says: RegExp }[] = [
  {
    answer: "403 Forbidden\r\n",
    code: "not_allowed",
    says: /web\.example:443 through the proxy "corp" \(192\.0\.2\.1:3128\): it answered 403 Forbidden/,
  },
  { answer: "405 Method Not Allowed\r\n", code: "not_allowed", says: /405/ },
  {
    answer: "407 Proxy Authentication Required\r\n",
    code: "auth",
    says: /^Cannot sign in at the proxy "corp".*requires a user name/,
  },
  {
    answer: "407 Who\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n",
    code: "auth",
    says: /requires Negotiate or NTLM, not Basic/,
  },
  { answer: "401 Unauthorized\r\n", code: "auth", says: /^Cannot sign in at the proxy/ },
  { answer: "502 Bad Gateway\r\n", code: "unreachable", says: /502 Bad Gateway/ },
  {
    answer: "503 Service Unavailable\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\n",
    code: "unreachable",
    says: /503 Service Unavailable \(ERR_DNS_FAIL 0\)/,
  },
  { answer: "504 Gateway Timeout\r\n", code: "timeout", says: /504 Gateway Timeout/ },
  { answer: "302 Found\r\nLocation: http://login.example/\r\n", code: "protocol", says: /302 Found/ },
  { answer: "101 Switching Protocols\r\n", code: "protocol", says: /101/ },
  { answer: "502\r\n", code: "unreachable", says: /it answered 502$/ },
  { answer: "502 a\x1b[31mred\r\n", code: "protocol", says: /status line/ },
  {
    answer: "502 Bad Gateway\r\nPostern-Error: refused; Cannot reach it: connection refused\r\n",
    code: "refused",
    says: /\): cannot reach it: connection refused$/,
  },
  {
    answer: "502 No\r\nPostern-Error: refused; Cannot reach web.example:443: connection refused\r\n",
    code: "refused",
    says: /^Cannot reach web\.example:443 through the proxy "corp" \([^)]*\): connection refused$/,
  },
  {
    answer: "502 Bad Gateway\r\nPostern-Error: internal; oops\r\n",
    code: "unreachable",
    says: /502 Bad Gateway/,
  },
];
for (const { answer, code, says } of httpAnswers) {
  Deno.test(`UpstreamProxy.dial() maps ${JSON.stringify(answer.trim())} to ${code}`, async () => {
    const network = new MemoryNetwork();
    await using _server = answering(network, `HTTP/1.1 ${answer}\r\n`);
    const proxy = proxyOver(network);
    await assert.rejects(proxy.dial(target, { signal }), { name: "PosternError", code, message: says });
    assert.equal(network.open, 0);
  });
}

const replies: { reply: number[]; code: ErrorCode; detail?: string }[] = [
  { reply: [5, 1, 0, 1, 0, 0, 0, 0, 0, 0], code: "unreachable" },
  { reply: [5, 2, 0, 1, 0, 0, 0, 0, 0, 0], code: "not_allowed" },
  { reply: [5, 3, 0, 1, 0, 0, 0, 0, 0, 0], code: "unreachable", detail: "network" },
  { reply: [5, 4, 0, 1, 0, 0, 0, 0, 0, 0], code: "unreachable", detail: "host" },
  { reply: [5, 5, 0, 1, 0, 0, 0, 0, 0, 0], code: "refused" },
  { reply: [5, 6, 0, 1, 0, 0, 0, 0, 0, 0], code: "timeout" },
  { reply: [5, 7, 0, 1, 0, 0, 0, 0, 0, 0], code: "protocol", detail: "command" },
  { reply: [5, 8, 0, 1, 0, 0, 0, 0, 0, 0], code: "protocol", detail: "address_type" },
  { reply: [5, 9, 0, 1, 0, 0, 0, 0, 0, 0], code: "protocol" },
  // The data after the code are invalid.
  { reply: [5, 5], code: "refused" },
  { reply: [5, 5, 0, 0, 0, 0], code: "refused" },
  { reply: [4, 0], code: "protocol" },
  { reply: [5, 0, 0, 1, 0, 0], code: "protocol" },
  { reply: [], code: "unreachable", detail: "reset" },
];
for (const { reply, code, detail } of replies) {
  Deno.test(`UpstreamProxy.dial() maps the SOCKS5 reply ${reply.join(" ") || "(none)"} to ${code}`, async () => {
    const network = new MemoryNetwork();
    await using _server = replying(network, reply);
    const proxy = proxyOver(network, { scheme: "socks5" });
    await assert.rejects(proxy.dial(target, { signal }), {
      name: "PosternError",
      code,
      detail,
      message: /the proxy "corp"/,
    });
    assert.equal(network.open, 0);
  });
}

Deno.test("UpstreamProxy.dial() skips interim responses", async () => {
  const network = new MemoryNetwork();
  await using _server = answering(
    network,
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nearly",
  );
  await using conn = await proxyOver(network).dial(target, { signal });
  assert.equal(text(await readAll(conn)), "early");
});

Deno.test("UpstreamProxy.dial() limits interim responses", async () => {
  const network = new MemoryNetwork();
  await using _server = answering(network, "HTTP/1.1 100 Continue\r\n\r\n".repeat(100));
  await assert.rejects(proxyOver(network).dial(target, { signal }), {
    code: "protocol",
    message: /^Cannot use the proxy .*: too many 1xx responses$/,
  });
});

Deno.test("UpstreamProxy.dial() limits the size of the response head", async () => {
  const network = new MemoryNetwork();
  await using _server = scripted(network, async (conn, messages) => {
    await messages.read(decodeRequestHead);
    await conn.write(bytes("HTTP/1.1 200 OK\r\nX: "));
    const filler = bytes("x".repeat(1000));
    while (true) await conn.write(filler);
  });
  await assert.rejects(proxyOver(network).dial(target, { signal }), {
    code: "protocol",
    message: /65536 bytes/,
  });
  assert.equal(network.open, 0);
});

for (const scheme of ["http", "socks5"] as const) {
  Deno.test(`UpstreamProxy.dial() reports that a ${scheme} proxy closed the connection`, async () => {
    const network = new MemoryNetwork();
    await using _server = scripted(network, async (conn) => {
      await conn.read(new Uint8Array(1000));
    });
    await assert.rejects(proxyOver(network, { scheme }).dial(target, { signal }), {
      code: "unreachable",
      message: /^Cannot use the proxy "corp" \(192\.0\.2\.1:3128\): .* closed/,
    });
  });

  Deno.test(`UpstreamProxy.dial() reports invalid data from a ${scheme} proxy`, async () => {
    const network = new MemoryNetwork();
    await using _server = scripted(network, async (conn) => {
      await conn.read(new Uint8Array(1000));
      await conn.write(bytes("SSH-2.0-OpenSSH_9.2\r\n\r\n"));
    });
    const proxy = proxyOver(network, { scheme });
    await assert.rejects(proxy.dial(target, { signal }), {
      code: "protocol",
      message: /^Cannot use the proxy "corp"/,
    });
    assert.equal(proxy.status().state, "failing");
  });

  Deno.test(`UpstreamProxy.dial() distinguishes an unreachable ${scheme} proxy from a refusing target`, async () => {
    const proxy = proxyOver(new MemoryNetwork(), { scheme });
    await assert.rejects(proxy.dial(target, { signal }), {
      code: "unreachable",
      message: 'Cannot reach the proxy "corp" (192.0.2.1:3128): connection refused',
    });
    assert.equal(proxy.status().state, "failing");
  });

  Deno.test(`UpstreamProxy.dial() signs in at a ${scheme} proxy with a password file, and rereads a changed one`, async () => {
    const network = new MemoryNetwork();
    const files = new MemoryFiles({ "/p": "old\n" });
    await using _server = new ProxyServer(network, address, {
      protocol: scheme,
      credentials: { user: "me", password: "new" },
    });
    await using _target = network.listen(target);
    const proxy = proxyOver(network, { scheme, user: "me", passwordFile: "/p" }, files);
    assert.deepEqual(files.reads, []);
    await assert.rejects(proxy.dial(target, { signal }), {
      code: "auth",
      message: /^Cannot sign in at the proxy "corp".*rejected the user name or password/,
    });
    // After a rejection the file is read again even if unchanged.
    await assert.rejects(proxy.dial(target, { signal }), { code: "auth" });
    assert.deepEqual(files.reads, ["/p", "/p"]);
    files.put("/p", "new\r\n");
    await using _first = await proxy.dial(target, { signal });
    await using _second = await proxy.dial(target, { signal });
    assert.deepEqual(files.reads, ["/p", "/p", "/p"]);
    assert.equal(proxy.status().state, "ready");
  });

  Deno.test(`UpstreamProxy.dial() reports that a ${scheme} proxy requires a missing password`, async () => {
    const network = new MemoryNetwork();
    await using _server = new ProxyServer(network, address, {
      protocol: scheme,
      credentials: { user: "me", password: "secret" },
    });
    await assert.rejects(proxyOver(network, { scheme }).dial(target, { signal }), { code: "auth" });
  });

  Deno.test(`UpstreamProxy.dial() closes everything when the signal aborts before a ${scheme} proxy responds`, async () => {
    const network = new MemoryNetwork();
    const asked = Promise.withResolvers<void>();
    await using _server = scripted(network, async (conn) => {
      await conn.read(new Uint8Array(1000));
      asked.resolve();
      await conn.read(new Uint8Array(1));
    });
    const stop = new AbortController();
    const reason = new PosternError("timeout", "Too slow");
    const failed = assert.rejects(
      proxyOver(network, { scheme }).dial(target, { signal: stop.signal }),
      reason,
    );
    await asked.promise;
    stop.abort(reason);
    await failed;
    assert.equal(network.open, 0);
  });
}

Deno.test("UpstreamProxy.dial() accepts only a one-line password file", async () => {
  for (const content of ["", "\n", "a\nb\n"]) {
    const proxy = proxyOver(
      new MemoryNetwork(),
      { user: "me", passwordFile: "/p" },
      new MemoryFiles({ "/p": content }),
    );
    await assert.rejects(proxy.dial(target, { signal }), {
      code: "config",
      message: /\/p as a password file: it must contain exactly one line/,
    });
  }
});

Deno.test("UpstreamProxy.dial() reports a name too long for SOCKS5", async () => {
  const network = new MemoryNetwork();
  await using _server = replying(network, [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const proxy = proxyOver(network, { scheme: "socks5" });
  await assert.rejects(proxy.dial({ host: "a".repeat(256), port: 1 }, { signal }), { code: "usage" });
  assert.equal(network.open, 0);
});

Deno.test("UpstreamProxy.dial() uses TLS to an https proxy and verifies the proxy's name", async () => {
  const network = new MemoryNetwork();
  network.names.set("proxy.example", ["192.0.2.1"]);
  network.tls = (conn) => Promise.resolve(conn);
  await using server = new ProxyServer(network, address, { protocol: "http" });
  await using _target = network.listen(target);
  const proxy = proxyOver(
    network,
    { scheme: "https", host: "proxy.example", ca: "/ca.crt" },
    new MemoryFiles({ "/ca.crt": "PEM" }),
  );
  const steps: string[] = [];
  await using _conn = await proxy.dial(target, { signal, onStep: (step) => steps.push(step) });
  assert.deepEqual(network.secured, [{ serverName: "proxy.example", ca: "PEM" }]);
  assert.deepEqual(server.asked, ["web.example:443"]);
  assert.deepEqual(steps, [
    "found proxy.example: 192.0.2.1",
    'reached the proxy "corp" (proxy.example:3128)',
  ]);
});

Deno.test("UpstreamProxy.dial() closes everything when TLS fails", async () => {
  const network = new MemoryNetwork();
  await using _server = new ProxyServer(network, address, { protocol: "http" });
  const proxy = proxyOver(network, { scheme: "https" });
  await assert.rejects(proxy.dial(target, { signal }), {
    code: "protocol",
    message: /^Cannot use the proxy "corp".*TLS/,
  });
  assert.equal(network.open, 0);
});

Deno.test("UpstreamProxy.status() is not failing after an error about a target", async () => {
  const network = new MemoryNetwork();
  await using _server = new ProxyServer(network, address, { protocol: "socks5" });
  const proxy = proxyOver(network, { scheme: "socks5", user: "me", password: "secret" });
  assert.deepEqual(proxy.status(), { state: "idle", proxy: "192.0.2.1:3128" });
  await assert.rejects(proxy.dial(target, { signal }), { code: "refused" });
  assert.equal(proxy.status().state, "ready");
});

for (const scheme of ["http", "socks5"] as const) {
  Deno.test(`UpstreamProxy.dial() returns a connection or a PosternError for random data of a ${scheme} proxy`, async () => {
    const starts = [
      bytes("HTTP/1.1 200 OK\r\n\r\n"),
      bytes("HTTP/1.1 407 No\r\nProxy-Authenticate: \x01\r\n\r\n"),
      bytes("HTTP/1.1 502 \r\nPostern-Error: ;;\r\nX-Squid-Error: \x7f\r\n\r\n"),
      Uint8Array.of(5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0),
      Uint8Array.of(5, 0, 5, 0, 0, 3, 255),
      new Uint8Array(0),
    ];
    const random = randomNumbers(7);
    for (let round = 0; round < 300; round++) {
      const start = starts[Math.floor(random() * starts.length)] ?? assert.fail("no start");
      const junk = patternBytes(Math.floor(random() * 40), round);
      const said = new Uint8Array([...start.subarray(0, Math.ceil(random() * start.length * 1.5)), ...junk]);
      const network = new MemoryNetwork();
      await using _server = scripted(network, async (conn) => {
        await conn.read(new Uint8Array(1000));
        // Sometimes one byte at a time: chunk boundaries must not matter.
        const step = round % 3 === 0 ? 1 : said.length;
        for (let at = 0; at < said.length; at += step) await conn.write(said.subarray(at, at + step));
        await conn.closeWrite();
        while (await conn.read(new Uint8Array(1000)) !== null);
      });
      const outcome = await proxyOver(network, { scheme }).dial(target, { signal }).catch((error: unknown) =>
        error
      );
      if (outcome instanceof PosternError) {
        assert.notEqual(outcome.code, "internal");
        assert.doesNotMatch(outcome.message, /[^\x20-\x7e]/);
      } else {
        assert.ok(
          typeof outcome === "object" && outcome !== null && Symbol.asyncDispose in outcome,
          String(outcome),
        );
        for (const conn of network.conns) await conn[Symbol.asyncDispose]();
      }
      assert.equal(network.open, 0);
    }
  });
}
