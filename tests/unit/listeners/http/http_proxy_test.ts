import assert from "node:assert/strict";
import type { Conn } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { Authenticator, serveMixed } from "../../../../src/listeners/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import {
  bytesOf,
  FakeDial,
  type FakeDialed,
  readExactly,
  readUntil,
  serveClient,
  type ServedClient,
} from "../../../support/fake_dial.ts";
import { type MemoryConn, readAll } from "../../../support/memory_conn.ts";

const date = "Thu, 01 Jan 2026 00:00:00 GMT";

async function send(conn: MemoryConn, text: string): Promise<void> {
  await conn.write(bytesOf(text));
}

async function textOf(conn: MemoryConn): Promise<string> {
  return new TextDecoder().decode(await readAll(conn));
}

/** The request head that the target received. */
function headOf({ target }: FakeDialed): Promise<string> {
  return readUntil(target, "\r\n\r\n");
}

async function leave({ client, served }: ServedClient): Promise<void> {
  client.abort();
  await served;
}

Deno.test("CONNECT relays, and loses no early byte in either direction", async () => {
  const world = serveClient(serveMixed);
  const { client, dials } = world;
  await send(client, `CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n${"e".repeat(200)}`);
  const dial = await dials.nth(0);
  assert.deepEqual(dial.request, {
    target: { host: "a.example", port: 443 },
    client: "memory:b",
    protocol: "connect",
  });
  assert.equal(await readUntil(client, "\r\n\r\n"), "HTTP/1.1 200 Connection established\r\n\r\n");
  assert.deepEqual(await readExactly(dial.target, 200), bytesOf("e".repeat(200)));
  await client.closeWrite();
  assert.equal((await readAll(dial.target)).length, 0);
  await send(dial.target, "still here");
  await dial.target.closeWrite();
  assert.equal(await textOf(client), "still here");
  await world.served;
  assert.deepEqual([dial.outcome, dial.tally], ["done", { up: 200, down: 10 }]);
});

Deno.test("a failed CONNECT leaves later bytes unread: they are for the target", async () => {
  for (const auth of [undefined, new Authenticator([{ name: "me", password: "x" }], new FakeClock())]) {
    const world = serveClient(serveMixed, auth && { auth });
    world.dials.failure = new PosternError("refused", "Cannot connect to a:1: connection refused");
    await send(world.client, "CONNECT a:1 HTTP/1.1\r\n\r\nGET http://b/ HTTP/1.1\r\nHost: b\r\n\r\n");
    await world.client.closeWrite();
    assert.equal((await textOf(world.client)).split("HTTP/1.1 ").length, 2);
    await world.served;
  }
});

Deno.test("CONNECT reaches an IPv6 address, one byte at a time", async () => {
  const world = serveClient(serveMixed);
  for (const byte of bytesOf("CONNECT [2001:db8::1]:22 HTTP/1.0\r\n\r\nhello")) {
    await world.client.write(Uint8Array.of(byte));
    await settle();
  }
  const { request, target } = await world.dials.nth(0);
  assert.deepEqual(request.target, { host: "2001:db8::1", port: 22 });
  assert.deepEqual(await readExactly(target, 5), bytesOf("hello"));
  await leave(world);
});

const refusals = [
  {
    name: "CONNECT without a port",
    request: "CONNECT a.example HTTP/1.1\r\n\r\n",
    status: 400,
    text: "no port",
  },
  {
    name: "CONNECT with port 0",
    request: "CONNECT a.example:0 HTTP/1.1\r\n\r\n",
    status: 400,
    text: "Cannot",
  },
  {
    name: "CONNECT with a body",
    request: "CONNECT a:1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
    status: 400,
    text: "body",
  },
  {
    name: "an https URL",
    request: "GET https://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n",
    status: 501,
    text: "CONNECT",
  },
  {
    name: "an ftp URL",
    request: "GET ftp://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n",
    status: 501,
    text: "ftp",
  },
  {
    name: "a request in origin form",
    request: "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    status: 400,
    text: "proxy",
  },
  {
    name: "CONNECT with a password",
    request: "CONNECT u:p@a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    status: 400,
    text: "Cannot",
  },
  { name: "HTTP/2.0", request: "GET http://a/ HTTP/2.0\r\nHost: a\r\n\r\n", status: 505, text: "HTTP/1.1" },
  { name: "an invalid head", request: "hello\r\n\r\n", status: 400, text: "Cannot" },
  {
    name: "both framings",
    request:
      "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    status: 400,
    text: "both",
  },
  {
    name: "an unknown transfer coding",
    request: "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    status: 501,
    text: "gzip",
  },
  {
    name: "a line without end",
    request: `GET http://a/ HTTP/1.1\r\nX: ${"x".repeat(70_000)}`,
    status: 431,
    text: "raise listen.limits.head",
  },
  {
    name: "a head without end",
    request: `GET http://a/ HTTP/1.1\r\n${`X: ${"x".repeat(60_000)}\r\n`.repeat(5)}`,
    status: 431,
    text: "a head of more than 262144 bytes",
  },
];

for (const { name, request, status, text } of refusals) {
  Deno.test(`serveMixed() answers ${name} with ${status} and a message, without a dial`, async () => {
    const world = serveClient(serveMixed, { capacity: 400_000 });
    await send(world.client, request);
    await world.client.closeWrite();
    const answer = await textOf(world.client);
    assert.equal(answer.slice(0, 13), `HTTP/1.1 ${status} `);
    assert.match(answer, /\r\nPostern-Error: protocol; Cannot /);
    assert(answer.slice(answer.indexOf("\r\n\r\n")).includes(text), answer);
    await world.served;
    assert.deepEqual(world.dials.made, []);
  });
}

const errors = [
  {
    error: new PosternError("refused", "Cannot connect to a:1: connection refused", { hint: "start it" }),
    status: 502,
  },
  { error: new PosternError("timeout", "Cannot connect to a:1 in time"), status: 504 },
  { error: new PosternError("not_allowed", "Cannot reach a:1: not from this machine"), status: 403 },
  { error: new PosternError("name_not_found", "Cannot find a"), status: 502 },
  { error: new PosternError("auth", "Cannot sign in at the upstream proxy: wrong password"), status: 403 },
];

for (const { error, status } of errors) {
  for (
    const request of [
      "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
      "GET http://a:1/ HTTP/1.1\r\nHost: a:1\r\n\r\n",
    ]
  ) {
    Deno.test(`${request.slice(0, 3)} answers a dial error ${error.code} with ${status}, never 407`, async () => {
      const world = serveClient(serveMixed);
      world.dials.failure = error;
      await send(world.client, request);
      const head = await readUntil(world.client, "\r\n\r\n");
      assert(head.startsWith(`HTTP/1.1 ${status} ${error.message.replace(/^Cannot/, "cannot")}\r\n`), head);
      assert(head.includes(`\r\nPostern-Error: ${error.code}; ${error.message}\r\n`), head);
      assert(!head.toLowerCase().includes("proxy-authenticate"));
      assert.equal(await readUntil(world.client, "\n"), `${error.message}\n`);
      if (error.hint !== undefined) assert.equal(await readUntil(world.client, "\n"), `${error.hint}\n`);
      // Bytes after a CONNECT may be for the target, so no request may follow.
      const isLast = request.startsWith("CONNECT");
      assert.equal(/^Connection: (.*)\r$/m.exec(head)?.[1], isLast ? "close" : "keep-alive");
      if (!isLast) {
        world.dials.failure = undefined;
        await send(world.client, "CONNECT b:2 HTTP/1.1\r\nHost: b:2\r\n\r\n");
        assert.deepEqual((await world.dials.nth(0)).request.target, { host: "b", port: 2 });
      }
      await leave(world);
    });
  }
}

Deno.test("a request in absolute form is forwarded with Host from its URL and without hop-by-hop fields", async () => {
  const world = serveClient(serveMixed);
  await send(
    world.client,
    "GET http://svc.ns:8080/a/b?c=d HTTP/1.1\r\nHost: other\r\nUser-Agent: x\r\nProxy-Connection: keep-alive\r\n" +
      "Connection: close-please, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: gzip\r\nUpgrade: websocket\r\n" +
      "Proxy-Authorization: Basic eDp5\r\nAccept: */*\r\ncookie: k=v\r\n\r\n",
  );
  const dial = await world.dials.nth(0);
  assert.deepEqual(dial.request, {
    target: { host: "svc.ns", port: 8080 },
    client: "memory:b",
    protocol: "http",
  });
  assert.equal(
    await headOf(dial),
    "GET /a/b?c=d HTTP/1.1\r\nHost: svc.ns:8080\r\nUser-Agent: x\r\nAccept: */*\r\ncookie: k=v\r\n\r\n",
  );
  await send(
    dial.target,
    "HTTP/1.1 200 Fine\r\nServer: s\r\nConnection: X-Gone\r\nX-Gone: 1\r\nKeep-Alive: timeout=5\r\n" +
      "Proxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nok",
  );
  assert.equal(
    await readUntil(world.client, "ok"),
    "HTTP/1.1 200 Fine\r\nServer: s\r\nContent-Length: 2\r\n\r\nok",
  );
  await world.client[Symbol.asyncDispose]();
  await world.served;
  assert.equal(dial.outcome, "done");
});

const urls = [
  { sent: "", passed: "Authorization: Basic bWU6c2VjcmV0\r\n" },
  { sent: "Authorization: Bearer t\r\n", passed: "Authorization: Bearer t\r\n" },
];
for (const { sent, passed } of urls) {
  Deno.test(`a URL with a password is forwarded with ${passed.slice(0, 20)}, and nothing else gets it`, async () => {
    const world = serveClient(serveMixed);
    await send(world.client, `GET http://me:secret@a/x HTTP/1.1\r\nHost: me:secret@a\r\n${sent}\r\n`);
    const dial = await world.dials.nth(0);
    assert.deepEqual(dial.request, { target: { host: "a", port: 80 }, client: "memory:b", protocol: "http" });
    assert.equal(await headOf(dial), `GET /x HTTP/1.1\r\nHost: a\r\n${passed}\r\n`);
    await dial.target.closeWrite();
    const answer = await readUntil(world.client, "\r\n\r\n");
    assert.match(answer, /^HTTP\/1.1 502 /);
    await leave(world);
    assert.doesNotMatch(answer + JSON.stringify(world.log.lines), /secret|bWU6c2VjcmV0/);
  });
}

Deno.test("a head of 250 KiB passes in both directions, a larger response is answered with 502", async () => {
  const fields = (count: number) => `X: ${"x".repeat(50_000)}\r\n`.repeat(count);
  for (const count of [5, 6]) {
    const world = serveClient(serveMixed, { capacity: 400_000 });
    await send(world.client, `GET http://a/ HTTP/1.1\r\n${fields(5)}\r\n`);
    const dial = await world.dials.nth(0);
    const head = bytesOf(`GET / HTTP/1.1\r\nHost: a\r\n${fields(5)}\r\n`);
    assert.deepEqual(await readExactly(dial.target, head.length), head);
    const sent = send(dial.target, `HTTP/1.1 200 OK\r\n${fields(count)}\r\n`).catch(() => {});
    const answer = bytesOf(
      count === 5
        ? `HTTP/1.1 200 OK\r\n${fields(5)}`
        : "HTTP/1.1 502 cannot read a head of more than 262144 bytes\r\n",
    );
    assert.deepEqual(await readExactly(world.client, answer.length), answer);
    await leave(world);
    await sent;
  }
});

Deno.test("a request may follow an empty line, and a lowercase connect is the last request", async () => {
  const world = serveClient(serveMixed);
  await send(world.client, "\r\nconnect a:1 HTTP/1.1\r\n\r\nGET http://b/ HTTP/1.1\r\nHost: b\r\n\r\n");
  await world.client.closeWrite();
  assert.match(await textOf(world.client), /^HTTP\/1.1 400 (?![^]*HTTP\/1.1 )/);
  await world.served;
  assert.deepEqual(world.dials.made, []);
});

Deno.test("sequential and pipelined requests to an origin share one connection", async () => {
  const world = serveClient(serveMixed);
  const get = (path: string) => `GET http://a/${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  await send(world.client, get("1"));
  const dial = await world.dials.nth(0);
  assert.match(await headOf(dial), /^GET \/1 /);
  await send(dial.target, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
  assert.match(await readUntil(world.client, "\r\n\r\n1"), /200 OK/);
  await send(world.client, get("2") + get("3") + "HEAD http://b/ HTTP/1.1\r\nHost: b\r\n\r\n");
  for (const number of ["2", "3"]) {
    assert.match(await headOf(dial), new RegExp(`^GET /${number} `));
    await send(dial.target, `HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${number}`);
    await readUntil(world.client, `\r\n\r\n${number}`);
  }
  const other = await world.dials.nth(1);
  assert.match(await headOf(other), /^HEAD \/ /);
  assert.equal(dial.outcome, "done");
  await send(other.target, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  assert.match(await readUntil(world.client, "\r\n\r\n"), /Content-Length: 1000/);
  await leave(world);
  assert.equal(world.dials.made.length, 2);
});

const swaps = [
  { name: "after a reload", reloadDuringDial: false },
  { name: "after a reload during the dial of the previous request", reloadDuringDial: true },
];
for (const { name, reloadDuringDial } of swaps) {
  Deno.test(`a request ${name} is dialed again despite a kept origin connection`, async () => {
    let generation = 1;
    const dials = new FakeDial();
    const world = serveClient(serveMixed, {
      generation: () => generation,
      dial: (request, options) => {
        if (reloadDuringDial && dials.made.length === 0) generation++;
        return dials.dial(request, options);
      },
    });
    const get = "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n";
    const answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    await send(world.client, get);
    const before = await dials.nth(0);
    await headOf(before);
    await send(before.target, answer);
    await readUntil(world.client, "\r\n\r\n");
    if (!reloadDuringDial) generation++;
    await send(world.client, get);
    const after = await dials.nth(1);
    assert.equal(before.outcome, "done");
    assert.match(await headOf(after), /^GET \/ /);
    await send(after.target, answer);
    await readUntil(world.client, "\r\n\r\n");
    await send(world.client, get);
    assert.match(await headOf(after), /^GET \/ /);
    await send(after.target, answer);
    await readUntil(world.client, "\r\n\r\n");
    await leave(world);
    assert.equal(dials.made.length, 2, "the third request uses the same plan");
  });
}

Deno.test("a request after the origin closed its connection dials again, also a POST", async () => {
  const world = serveClient(serveMixed);
  const post = "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
  for (const index of [0, 1]) {
    await send(world.client, post);
    const dial = await world.dials.nth(index);
    await headOf(dial);
    await readExactly(dial.target, 2);
    await send(dial.target, "HTTP/1.1 204 No Content\r\n\r\n");
    assert.equal(await readUntil(world.client, "\r\n\r\n"), "HTTP/1.1 204 No Content\r\n\r\n");
    await dial.target.closeWrite();
    await settle();
    assert.equal(dial.outcome, "done");
  }
  await leave(world);
});

for (
  const { method, body, repeats } of [
    { method: "GET", body: "", repeats: true },
    { method: "POST", body: "", repeats: false },
    { method: "PUT", body: "hi", repeats: false },
  ]
) {
  Deno.test(`${method} ${body} is ${repeats ? "" : "not "}sent again when the origin closes during the request`, async () => {
    const world = serveClient(serveMixed);
    const length = body === "" ? "" : `Content-Length: ${body.length}\r\n`;
    const request = `${method} http://a/ HTTP/1.1\r\nHost: a\r\n${length}\r\n${body}`;
    await send(world.client, request);
    const first = await world.dials.nth(0);
    await headOf(first);
    await readExactly(first.target, body.length);
    await send(first.target, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    await readUntil(world.client, "\r\n\r\n");
    await send(world.client, request);
    await headOf(first);
    await first.target.closeWrite();
    if (repeats) {
      const second = await world.dials.nth(1);
      await headOf(second);
      await send(second.target, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      assert.match(await readUntil(world.client, "\r\n\r\n"), /^HTTP\/1.1 200 /);
    } else {
      assert.match(await readUntil(world.client, "\r\n\r\n"), /^HTTP\/1.1 502 /);
      assert.equal(world.dials.made.length, 1);
    }
    await leave(world);
  });
}

Deno.test("a request is not sent again after its connection was closed on request", async () => {
  const world = serveClient(serveMixed);
  const conns: Conn[] = [];
  world.deps.dial = async (request, options) => {
    const dialed = await world.dials.dial(request, options);
    conns.push(dialed.conn);
    return dialed;
  };
  const request = "PUT http://a/ HTTP/1.1\r\nHost: a\r\n\r\n";
  await send(world.client, request);
  const first = await world.dials.nth(0);
  await headOf(first);
  await send(first.target, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  await readUntil(world.client, "\r\n\r\n");
  await send(world.client, request);
  await headOf(first);
  conns[0]?.abort(new PosternError("cancelled", "Closed on request"));
  await settle();
  assert.equal(world.dials.made.length, 1);
  await readUntil(world.client, "Closed on request\n");
  await leave(world);
});

const bodies = [
  {
    name: "a body with a length",
    response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ends: false,
    to11: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    to10: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
  },
  {
    name: "a chunked body with trailers",
    response:
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5;x=y\r\nhello\r\n0\r\nX-Sum: 1\r\nHost: b\r\n\r\n",
    ends: false,
    to11:
      "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
    to10: "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nConnection: close\r\n\r\nhello",
  },
  {
    name: "a body that ends with the connection",
    response: "HTTP/1.0 200 OK\r\n\r\nhello",
    ends: true,
    to11: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    to10: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
  },
  {
    name: "no body",
    response: "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\nETag: x\r\n\r\n",
    ends: false,
    to11: "HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 7\r\n\r\n",
    to10: "HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 7\r\nConnection: close\r\n\r\n",
  },
  {
    name: "an empty body",
    response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ends: false,
    to11: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    to10: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
  },
];

for (const { name, response, ends, to11, to10 } of bodies) {
  for (const [version, expected] of [["1.1", to11], ["1.0", to10]] as const) {
    Deno.test(`a response with ${name} reaches a client of HTTP/${version}, for all chunk boundaries`, async () => {
      for (const size of [1000, 1, 7]) {
        const world = serveClient(serveMixed);
        await send(world.client, `GET http://a/ HTTP/${version}\r\nHost: a\r\n\r\n`);
        const dial = await world.dials.nth(0);
        await headOf(dial);
        for (let at = 0; at < response.length; at += size) {
          await send(dial.target, response.slice(at, at + size));
          await settle();
        }
        if (ends) await dial.target.closeWrite();
        await settle();
        await world.client.closeWrite();
        const answer = await textOf(world.client);
        if (size === 1000) assert.equal(answer, expected);
        assert.equal(dechunked(answer), dechunked(expected));
        await world.served;
        assert.equal(dial.outcome, "done");
      }
    });
  }
}

/** Removes everything that depends on the chunks of a body. */
function dechunked(answer: string): string {
  return answer.replace(/\r\n[0-9a-f]+\r\n(?=.)|(?<=[a-z])\r\n(?=[0-9])/g, "");
}

const uploads = [
  {
    name: "a body with a length",
    request: "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello",
    expected: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
  },
  {
    name: "a chunked body with trailers",
    request:
      "PATCH http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\nContent-Length: 3\r\n\r\n",
    expected:
      "PATCH / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
  },
  {
    name: "an empty body",
    request: "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    expected: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
  },
];

for (const { name, request, expected } of uploads) {
  Deno.test(`a request with ${name} arrives complete, and the next request works`, async () => {
    const world = serveClient(serveMixed);
    await send(world.client, request);
    const dial = await world.dials.nth(0);
    assert.equal(new TextDecoder().decode(await readExactly(dial.target, expected.length)), expected);
    await send(dial.target, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert.equal(await readUntil(world.client, "\r\n\r\n"), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    await send(world.client, "GET http://a/next HTTP/1.1\r\nHost: a\r\n\r\n");
    assert.match(await headOf(dial), /^GET \/next /);
    await leave(world);
  });
}

Deno.test("Expect: 100-continue passes through, and the body follows", async () => {
  const world = serveClient(serveMixed);
  await send(
    world.client,
    "PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
  );
  const dial = await world.dials.nth(0);
  assert.match(await headOf(dial), /\r\nExpect: 100-continue\r\n/);
  await send(dial.target, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
  assert.equal(await readUntil(world.client, "\r\n\r\n"), "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
  assert.equal(await readUntil(world.client, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  await send(world.client, "body");
  assert.deepEqual(await readExactly(dial.target, 4), bytesOf("body"));
  await send(dial.target, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
  assert.match(
    await readUntil(world.client, "\r\n\r\n"),
    /^HTTP\/1.1 201 Created\r\nContent-Length: 0\r\n\r\n/,
  );
  await leave(world);
});

for (
  const { version, passed } of [
    { version: "1.1", passed: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(16) },
    { version: "1.0", passed: "" },
  ]
) {
  Deno.test(`a client of HTTP/${version} gets at most 16 interim responses, then 502`, async () => {
    const world = serveClient(serveMixed);
    await send(world.client, `GET http://a/ HTTP/${version}\r\nHost: a\r\n\r\n`);
    const dial = await world.dials.nth(0);
    await headOf(dial);
    await send(dial.target, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(17));
    for (let left = passed; left !== "";) {
      const head = await readUntil(world.client, "\r\n\r\n");
      assert.ok(left.startsWith(head));
      left = left.slice(head.length);
    }
    const answer = await readUntil(world.client, "\r\n\r\n");
    assert.match(answer, /^HTTP\/1\.1 502 /);
    assert.match(answer, /\r\nPostern-Error: protocol; Cannot read the response: too many 1xx responses\r\n/);
    // The origin connection is not reused.
    assert.notEqual(dial.outcome, undefined);
    await leave(world);
  });
}

Deno.test("an early answer arrives complete and closes the connection", async () => {
  const world = serveClient(serveMixed);
  await send(
    world.client,
    "PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
  );
  const dial = await world.dials.nth(0);
  await headOf(dial);
  await send(dial.target, "HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno");
  await dial.target.closeWrite();
  assert.equal(
    await textOf(world.client),
    "HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
  );
  await leave(world);
  assert.equal(dial.outcome, "done");
});

Deno.test("an answer arrives after the origin stopped reading the body", async () => {
  const world = serveClient(serveMixed, { capacity: 1000 });
  const sending = send(
    world.client,
    `PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n${"x".repeat(20_000)}`,
  );
  const dial = await world.dials.nth(0);
  await headOf(dial);
  await send(dial.target, "HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno");
  await dial.target[Symbol.asyncDispose]();
  assert.match(await textOf(world.client), /^HTTP\/1.1 413 .*\r\n\r\nno$/s);
  await sending;
  await leave(world);
});

Deno.test("a WebSocket upgrade starts a relay and keeps early bytes of both sides", async () => {
  const world = serveClient(serveMixed);
  await send(
    world.client,
    "GET ws://a/chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: k\r\n\r\nearly",
  );
  const dial = await world.dials.nth(0);
  assert.deepEqual(dial.request.target, { host: "a", port: 80 });
  assert.equal(
    await headOf(dial),
    "GET /chat HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: k\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
  );
  await send(
    dial.target,
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: a\r\n\r\nfrom the server",
  );
  assert.equal(
    await readUntil(world.client, "from the server"),
    "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfrom the server",
  );
  assert.deepEqual(await readExactly(dial.target, 5), bytesOf("early"));
  await send(world.client, "more");
  assert.deepEqual(await readExactly(dial.target, 4), bytesOf("more"));
  await send(dial.target, "answer");
  assert.equal(await readUntil(world.client, "answer"), "answer");
  await world.client.closeWrite();
  await dial.target.closeWrite();
  await world.served;
  assert.equal(dial.outcome, "done");
});

Deno.test("a declined upgrade is an ordinary answer", async () => {
  const world = serveClient(serveMixed);
  await send(
    world.client,
    "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: h2c, websocket\r\nConnection: Upgrade\r\n\r\n",
  );
  const dial = await world.dials.nth(0);
  assert.match(await headOf(dial), /\r\nUpgrade: websocket\r\n/);
  await send(dial.target, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  await readUntil(world.client, "\r\n\r\n");
  await send(world.client, "GET http://a/2 HTTP/1.1\r\nHost: a\r\n\r\n");
  assert.match(await headOf(dial), /^GET \/2 /);
  await leave(world);
});

for (const { method, status } of [{ method: "OPTIONS", status: 200 }, { method: "TRACE", status: 501 }]) {
  Deno.test(`${method} respects Max-Forwards`, async () => {
    const world = serveClient(serveMixed);
    await send(world.client, `${method} http://a/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n`);
    assert.match(await readUntil(world.client, "\r\n\r\n"), new RegExp(`^HTTP/1.1 ${status} `));
    assert.deepEqual(world.dials.made, []);
    await send(world.client, `${method} http://a/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 3\r\n\r\n`);
    assert.match(await headOf(await world.dials.nth(0)), /\r\nMax-Forwards: 2\r\n/);
    await leave(world);
  });
}

const strangeAnswers = [
  {
    name: "407, which only a proxy may send",
    answer: "HTTP/1.1 407 Sign In\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
  },
  {
    name: "101 without an upgrade request",
    answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
  },
  {
    name: "both framings",
    answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
  },
  {
    name: "an unreadable body",
    answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n",
  },
  { name: "no HTTP at all", answer: "220 smtp.example ESMTP\r\n\r\n" },
  { name: "nothing", answer: "" },
  { name: "half a head", answer: "HTTP/1.1 200 OK\r\nContent-Le" },
];

for (const { name, answer } of strangeAnswers) {
  Deno.test(`an origin that answers ${name} results in 502`, async () => {
    const world = serveClient(serveMixed);
    await send(world.client, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
    const dial = await world.dials.nth(0);
    await headOf(dial);
    await send(dial.target, answer);
    await dial.target.closeWrite();
    const head = await readUntil(world.client, "\r\n\r\n");
    assert.match(head, /^HTTP\/1.1 502 /);
    assert.match(head, /\r\nPostern-Error: /);
    assert(!head.includes("Proxy-Authenticate"));
    await leave(world);
    assert.equal(dial.outcome, "target_gone");
  });
}

const broken = [
  { name: "a body with a length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", end: "end" },
  {
    name: "a body with a length, by a reset",
    answer: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    end: "reset",
  },
  {
    name: "a chunked body",
    answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    end: "end",
  },
  {
    name: "a chunked body by a fault",
    answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf",
    end: "junk",
  },
  { name: "a body without a known end, by a reset", answer: "HTTP/1.1 200 OK\r\n\r\nhalf", end: "reset" },
];

for (const { name, answer, end } of broken) {
  Deno.test(`an origin that truncates ${name} never looks like success`, async () => {
    const world = serveClient(serveMixed);
    await send(world.client, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
    const dial = await world.dials.nth(0);
    await headOf(dial);
    await send(dial.target, answer);
    assert.match(await readUntil(world.client, "half"), /half$/);
    if (end === "end") await dial.target.closeWrite();
    if (end === "reset") dial.target.abort();
    if (end === "junk") await send(dial.target, "!!");
    await assert.rejects(readAll(world.client));
    await world.served;
    assert.equal(dial.outcome, "target_gone");
  });
}

Deno.test("a client that truncates its body never completes a request", async () => {
  for (
    const framing of ["Content-Length: 100\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"]
  ) {
    const world = serveClient(serveMixed);
    await send(world.client, `POST http://a/ HTTP/1.1\r\nHost: a\r\n${framing}`);
    const dial = await world.dials.nth(0);
    await headOf(dial);
    await readUntil(dial.target, "half");
    await world.client.closeWrite();
    assert.match(await textOf(world.client), /^HTTP\/1.1 400 /);
    await world.served;
    assert.equal(dial.outcome, "client_gone");
  }
});

Deno.test("a client that leaves during an answer closes the origin connection", async () => {
  const world = serveClient(serveMixed);
  await send(world.client, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
  const dial = await world.dials.nth(0);
  await headOf(dial);
  await send(dial.target, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  await readUntil(world.client, "\r\n\r\n");
  world.client.abort();
  await send(dial.target, "x");
  await world.served;
  assert.equal(dial.outcome, "client_gone");
});

for (const how of ["abort", "end"] as const) {
  Deno.test(`a client that leaves before the answer, by ${how}, does not keep the origin busy`, async () => {
    const world = serveClient(serveMixed);
    await send(world.client, "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
    const dial = await world.dials.nth(0);
    await headOf(dial);
    if (how === "abort") world.client.abort();
    else await world.client[Symbol.asyncDispose]();
    await world.clock.advance(how === "abort" ? 0 : 34_000);
    await world.clock.advance(how === "abort" ? 0 : 2_000);
    await world.served;
    assert.equal(dial.outcome, "client_gone");
    assert.equal(world.clock.waiting, 0);
  });
}

for (const how of ["abort", "end"] as const) {
  Deno.test(`a client that leaves after pipelining a request, by ${how}, does not keep the origin busy`, async () => {
    const world = serveClient(serveMixed);
    const request = "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n";
    await send(world.client, request + request);
    const dial = await world.dials.nth(0);
    await headOf(dial);
    if (how === "abort") world.client.abort();
    else await world.client[Symbol.asyncDispose]();
    await world.clock.advance(how === "abort" ? 0 : 34_000);
    assert.equal(dial.outcome, "client_gone");
    await world.clock.advance(34_000);
    await world.served;
    assert.equal(world.clock.waiting, 0);
  });
}

Deno.test("a client that half-closes after its request gets the answer", async () => {
  const world = serveClient(serveMixed);
  await send(world.client, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
  await world.client.closeWrite();
  const dial = await world.dials.nth(0);
  await headOf(dial);
  await world.clock.advance(25_000);
  await send(dial.target, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate");
  assert.match(await textOf(world.client), /late$/);
  await world.served;
  assert.equal(dial.outcome, "done");
});

for (const how of ["abort", "end"] as const) {
  Deno.test(`a client that leaves before the answer to its upgrade, by ${how}, does not keep the origin busy`, async () => {
    const world = serveClient(serveMixed);
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    await send(world.client, `GET http://a/chat HTTP/1.1\r\nHost: a\r\n${upgrade}`);
    const dial = await world.dials.nth(0);
    await headOf(dial);
    if (how === "abort") world.client.abort();
    else await world.client[Symbol.asyncDispose]();
    await world.clock.advance(how === "abort" ? 0 : 34_000);
    await world.clock.advance(how === "abort" ? 0 : 2_000);
    assert.equal(dial.outcome, "client_gone");
    await world.served;
    assert.equal(world.clock.waiting, 0);
  });
}

Deno.test("a half-close before the answer to an upgrade is forwarded after it", async () => {
  const world = serveClient(serveMixed);
  const upgrade = "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n";
  await send(world.client, `GET http://a/ HTTP/1.1\r\nHost: a\r\n${upgrade}`);
  const dial = await world.dials.nth(0);
  await headOf(dial);
  await send(world.client, "early");
  await world.client.closeWrite();
  await settle();
  await send(dial.target, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  assert.equal(await textOf(dial.target), "early");
  await send(dial.target, "late");
  await dial.target.closeWrite();
  assert.match(await textOf(world.client), /\r\n\r\nlate$/);
  await world.served;
  assert.equal(dial.outcome, "done");
});

for (const how of ["abort", "end"] as const) {
  Deno.test(`a client that leaves while the answer pauses, by ${how}, does not keep the origin busy`, async () => {
    const world = serveClient(serveMixed);
    await send(world.client, "GET http://a/events HTTP/1.1\r\nHost: a\r\n\r\n");
    const dial = await world.dials.nth(0);
    await headOf(dial);
    await send(dial.target, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
    await readUntil(world.client, "hi\r\n");
    if (how === "abort") world.client.abort();
    else await world.client[Symbol.asyncDispose]();
    await world.clock.advance(how === "abort" ? 0 : 34_000);
    await settle();
    assert.equal(dial.outcome, "client_gone");
    await world.served;
    assert.equal(world.clock.waiting, 0);
  });
}

Deno.test("a half-closed client gets the answer while the target keeps sending", async () => {
  const world = serveClient(serveMixed);
  await send(world.client, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
  await world.client.closeWrite();
  const dial = await world.dials.nth(0);
  await headOf(dial);
  await send(dial.target, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
  await readUntil(world.client, "\r\n\r\n");
  for (const letter of "slow") {
    await world.clock.advance(25_000);
    await send(dial.target, letter);
    assert.equal(await readUntil(world.client, letter), letter);
  }
  assert.equal(await textOf(world.client), "");
  await world.served;
  assert.equal(dial.outcome, "done");
});

Deno.test("a half-closed client may read the answer slowly", async () => {
  const world = serveClient(serveMixed, { capacity: 1000 });
  await send(world.client, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
  await world.client.closeWrite();
  const dial = await world.dials.nth(0);
  await headOf(dial);
  const sending = send(dial.target, `HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n${"x".repeat(20_000)}`);
  await settle();
  await world.clock.advance(90_000);
  assert.match(await textOf(world.client), /\r\n\r\nx{20000}$/);
  await sending;
  await world.served;
  assert.equal(dial.outcome, "done");
});

Deno.test("an answer is read no faster than the client reads it", async () => {
  const world = serveClient(serveMixed, { capacity: 1000 });
  await send(world.client, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
  const dial = await world.dials.nth(0);
  await headOf(dial);
  let sent = 0;
  const sending = (async () => {
    await send(dial.target, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    for (; sent < 1_000_000; sent += 1000) await send(dial.target, "x".repeat(1000));
  })();
  for (let turn = 0; turn < 100; turn++) await settle();
  assert(sent < 200_000, `${sent} bytes were read from the origin`);
  await readUntil(world.client, "\r\n\r\n");
  assert.equal((await readExactly(world.client, 1_000_000)).length, 1_000_000);
  await sending;
  await leave(world);
});

Deno.test("a listener with passwords answers 407 with its realm, then serves the same connection", async () => {
  const auth = new Authenticator([{ name: "me", password: "pass:word" }], new FakeClock());
  const world = serveClient(serveMixed, { auth });
  await send(world.client, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n");
  const head = await readUntil(world.client, "\r\n\r\n");
  assert.match(head, /^HTTP\/1.1 407 Proxy Authentication Required\r\n/);
  assert.match(head, /\r\nProxy-Authenticate: Basic realm="postern", charset="UTF-8"\r\n/);
  await readExactly(world.client, Number(/Content-Length: ([0-9]+)/.exec(head)?.[1]));
  const credentials = btoa("me:pass:word");
  await send(
    world.client,
    `GET http://a:1/ HTTP/1.1\r\nHost: a:1\r\nProxy-Authorization: Basic ${credentials}\r\nAuthorization: Basic eA==\r\n\r\n`,
  );
  const dial = await world.dials.nth(0);
  assert.equal(dial.request.user, "me");
  assert.equal(await headOf(dial), "GET / HTTP/1.1\r\nHost: a:1\r\nAuthorization: Basic eA==\r\n\r\n");
  await leave(world);
});

for (const value of ["Basic bWU6d3Jvbmc=", "Basic !!!", "Basic bm9jb2xvbg==", "Bearer x", "Basic"]) {
  Deno.test(`a listener with passwords refuses Proxy-Authorization: ${value}`, async () => {
    const auth = new Authenticator([{ name: "me", password: "secret" }], new FakeClock());
    const world = serveClient(serveMixed, { auth });
    await send(world.client, `GET http://a/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: ${value}\r\n\r\n`);
    assert.match(await readUntil(world.client, "\r\n\r\n"), /^HTTP\/1.1 407 /);
    await leave(world);
    assert.deepEqual(world.dials.made, []);
  });
}

Deno.test("pages and proxied requests share a connection", async () => {
  const world = serveClient(serveMixed, {
    pages: ({ path }) => Promise.resolve({ status: 200, fields: [], body: `page ${path}` }),
  });
  const own = "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n";
  await send(world.client, `${own}GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n${own}`);
  assert.match(
    await readUntil(world.client, "page /status"),
    new RegExp(`^HTTP/1.1 200 OK\r\n.*Date: ${date}`, "s"),
  );
  const dial = await world.dials.nth(0);
  await headOf(dial);
  await send(dial.target, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\norigin");
  await readUntil(world.client, "origin");
  await readUntil(world.client, "page /status");
  await leave(world);
  assert.equal(world.dials.made.length, 1);
});

Deno.test("a connection without a request is closed after a minute, one with half a request sooner", async () => {
  for (const [sent, ms] of [["", 60_000], ["GET http://a/ HT", 10_000]] as const) {
    const world = serveClient(serveMixed);
    await send(world.client, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
    const dial = await world.dials.nth(0);
    await headOf(dial);
    await world.clock.advance(120_000);
    await send(dial.target, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    await readUntil(world.client, "\r\n\r\n");
    await send(world.client, sent);
    await world.clock.advance(ms * 0.9);
    assert.equal(dial.outcome, undefined);
    await world.clock.advance(ms * 0.3);
    await world.served;
    assert.notEqual(dial.outcome, undefined);
    assert.equal(world.clock.waiting, 0);
  }
});

Deno.test("a request is canceled wherever the client disconnects in it", async () => {
  const request = bytesOf("POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
  const head = request.length - 4;
  for (let cut = 0; cut < request.length; cut++) {
    for (const how of ["end", "abort"] as const) {
      const world = serveClient(serveMixed);
      if (cut > 0) await world.client.write(request.subarray(0, cut));
      await settle();
      if (how === "end") await world.client[Symbol.asyncDispose]();
      else world.client.abort();
      await world.served;
      assert.equal(world.dials.made.length, cut < head ? 0 : 1);
      assert.equal(world.clock.waiting, 0);
      for (const { outcome } of world.dials.made) assert.equal(outcome, "client_gone");
    }
  }
});
