import assert from "node:assert/strict";
import { Deadlines, Messages } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { type PageResponse, type Pages, serveOnlyPages, textPage } from "../../../../src/listeners/mod.ts";
import { servePages, type ServePagesOptions } from "../../../../src/listeners/http/http_server.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { PageClient } from "../../../support/page_client.ts";
import { recordingLog } from "../../../support/recording_log.ts";

function serving(pages: Pages, options: Partial<ServePagesOptions> = {}) {
  const clock = new FakeClock();
  const log = recordingLog();
  const [near, far] = memoryPair();
  const deps = { clock, log, deadlines: new Deadlines(clock) };
  const served = serveOnlyPages(far, new Messages(far), pages, deps, {
    signal: new AbortController().signal,
    ...options,
  });
  return { client: new PageClient(near), near, far, clock, log, served };
}

const echo: Pages = ({ method, path, query, body }) =>
  Promise.resolve(textPage(`${method} ${path} ${query} ${new TextDecoder().decode(body)}`));

const streaming = (pieces: readonly string[], end?: unknown): Pages => () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield await Promise.resolve(new TextEncoder().encode(piece));
    if (end !== undefined) throw end;
  }
  return Promise.resolve<PageResponse>({ status: 200, fields: [], body: body() });
};

Deno.test("serveOnlyPages() serves requests in order on one connection", async () => {
  const { client, near, served } = serving(echo);
  await client.write(
    "GET /a?x=1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
  );
  const first = await client.answer();
  assert.equal(first?.text, "GET /a x=1 \n");
  assert.equal(first.fields.get("date"), "Thu, 01 Jan 2026 00:00:00 GMT");
  assert.equal(first.fields.get("connection"), "keep-alive");
  assert.equal((await client.answer())?.text, "POST /b  hi\n");
  assert.equal((await client.ask("GET /c HTTP/1.1", "Host: a")).text, "GET /c  \n");
  await near.closeWrite();
  await served;
  assert.equal(await client.answer(), undefined);
});

Deno.test("serveOnlyPages() answers OPTIONS * for the whole server", async () => {
  const { client, near, served } = serving(() => Promise.reject(new Error("unexpected page request")));
  const answer = await client.ask("OPTIONS * HTTP/1.1", "Host: a");
  assert.deepEqual([answer.status, answer.text], [200, ""]);
  assert.equal(answer.fields.get("allow"), "GET, HEAD, POST, OPTIONS");
  assert.equal(answer.fields.get("content-length"), "0");
  assert.equal((await client.ask("OPTIONS * HTTP/1.1", "Host: a")).status, 200);
  await near[Symbol.asyncDispose]();
  await served;
});

Deno.test("serveOnlyPages() reads a chunked body after 100 Continue", async () => {
  const { client, near, served } = serving(echo);
  await client.write(
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
  );
  assert.equal((await client.answer())?.status, 100);
  await client.write("2\r\nhi\r\n3\r\n ho\r\n0\r\n\r\n");
  assert.equal((await client.answer())?.text, "POST /  hi ho\n");
  await near[Symbol.asyncDispose]();
  await served;
});

Deno.test("serveOnlyPages() sends no 100 Continue to HTTP/1.0 clients, which would take it for the answer", async () => {
  const { client, near, served } = serving(echo);
  await client.write("POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi");
  assert.equal((await client.answer())?.text, "POST /  hi\n");
  await near.closeWrite();
  await served;
});

const closings = [
  { name: "Connection: close", lines: ["GET / HTTP/1.1", "Host: a", "Connection: close"], status: 200 },
  { name: "HTTP/1.0", lines: ["GET / HTTP/1.0"], status: 200 },
  { name: "a malformed request", lines: ["GET / HTTP/1.1"], status: 400 },
  { name: "another version", lines: ["GET / HTTP/3.0", "Host: a"], status: 505 },
  {
    name: "two framings",
    lines: ["POST / HTTP/1.1", "Host: a", "Content-Length: 0", "Transfer-Encoding: chunked"],
    status: 400,
  },
  {
    name: "an unknown coding",
    lines: ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: gzip, chunked"],
    status: 501,
  },
  { name: "a large body", lines: ["POST / HTTP/1.1", "Host: a", "Content-Length: 65537"], status: 413 },
  { name: "a request for a proxy", lines: ["GET http://a/ HTTP/1.1", "Host: a"], status: 400 },
  { name: "CONNECT", lines: ["CONNECT a:443 HTTP/1.1", "Host: a"], status: 400 },
];
for (const { name, lines, status } of closings) {
  Deno.test(`serveOnlyPages() answers ${name} with ${status} and closes`, async () => {
    const { client, near, served } = serving(echo);
    const answer = await client.ask(...lines);
    assert.equal(answer.status, status);
    assert.equal(answer.fields.get("connection"), "close");
    assert.equal(await client.answer(), undefined);
    await near.closeWrite();
    await served;
  });
}

Deno.test("serveOnlyPages() accepts long lines, and names listen.limits.head only where it applies", async () => {
  const { client } = serving(echo);
  const answer = await client.ask(`GET /${"x".repeat(60_000)} HTTP/1.1`, "Host: a");
  assert.equal(answer.status, 200);
  const refused = await client.ask("GET / HTTP/1.1", `X: ${"x".repeat(70_000)}`);
  assert.deepEqual([refused.status, refused.text], [431, "Cannot read a head of more than 65536 bytes\n"]);
});

Deno.test("serveOnlyPages() refuses a chunked body that grows too large", async () => {
  const { client, near, served } = serving(echo);
  await client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  const sent = client.write(`10001\r\n${"x".repeat(65537)}\r\n0\r\n\r\n`);
  assert.equal((await client.answer())?.status, 413);
  await sent;
  await near.closeWrite();
  await served;
});

Deno.test("serveOnlyPages() sends a stream in chunks, to HTTP/1.0 until the end", async () => {
  for (
    const { version, coding } of [{ version: "1.1", coding: "chunked" }, {
      version: "1.0",
      coding: undefined,
    }]
  ) {
    const { client, near, served } = serving(streaming(["a", "", "bc"]));
    const answer = await client.ask(`GET / HTTP/${version}`, "Host: a");
    assert.equal(answer.text, "abc");
    assert.equal(answer.fields.get("transfer-encoding"), coding);
    await near.closeWrite();
    await served;
  }
});

Deno.test("serveOnlyPages() breaks the connection when a stream fails", async () => {
  const { client, served, log } = serving(streaming(["a"], new Error("lost")));
  await assert.rejects(client.ask("GET / HTTP/1.1", "Host: a"), /reset/);
  await served;
  assert.deepEqual(log.lines.map(({ event }) => event), ["page.broken", "client.gone"]);
});

Deno.test("serveOnlyPages() answers HEAD with the length and no body", async () => {
  const { client, near, served } = serving(echo);
  const answer = await client.ask("HEAD /x HTTP/1.1", "Host: a");
  assert.equal(answer.fields.get("content-length"), "10");
  assert.equal((await client.ask("GET /x HTTP/1.1", "Host: a")).text, "GET /x  \n");
  await near.closeWrite();
  await served;
});

Deno.test("serveOnlyPages() turns an error into an answer and continues", async () => {
  const { client, near, served, log } = serving(({ path }) => {
    throw path === "/bug"
      ? new TypeError("oops")
      : new PosternError("not_allowed", "Cannot do that", { hint: "ask" });
  });
  const refused = await client.ask("GET / HTTP/1.1", "Host: a");
  assert.equal(refused.status, 403);
  assert.equal(refused.text, "Cannot do that\nask\n");
  assert.equal(refused.fields.get("postern-error"), "not_allowed; Cannot do that");
  assert.equal((await client.ask("GET /bug HTTP/1.1", "Host: a")).status, 500);
  assert.deepEqual(log.lines.map(({ event }) => event), ["page.failed"]);
  await near.closeWrite();
  await served;
});

Deno.test("serveOnlyPages() drops a client with a slow request, a slow body or no further request", async () => {
  const cases = [
    { sent: "GET / HT", ms: 10_000 },
    { sent: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc", ms: 10_000 },
    { sent: "", ms: 60_000 },
  ];
  for (const { sent, ms } of cases) {
    const { client, clock, far, served } = serving(echo);
    await client.write(sent);
    await clock.advance(ms - 1);
    assert.equal(far.isClosed, false, sent);
    await clock.advance(1);
    assert.equal(far.isClosed, true, sent);
    await served;
    assert.equal(clock.waiting, 0);
  }
});

Deno.test("serveOnlyPages() closes an idle client when it drains", async () => {
  const draining = new AbortController();
  const { client, served, clock } = serving(echo, { draining: draining.signal });
  await client.ask("GET / HTTP/1.1", "Host: a");
  draining.abort();
  await served;
  assert.equal(clock.waiting, 0);
});

Deno.test("serveOnlyPages() closes after the pending answer when it drains", async () => {
  const draining = new AbortController();
  const { client, near, served } = serving(() => {
    draining.abort();
    return Promise.resolve(textPage("last"));
  }, { draining: draining.signal });
  const answer = await client.ask("GET / HTTP/1.1", "Host: a");
  assert.deepEqual([answer.text, answer.fields.get("connection")], ["last\n", "close"]);
  await near.closeWrite();
  await served;
});

Deno.test("serveOnlyPages() requests no body that it would refuse", async () => {
  const { client, near, served } = serving(echo);
  const length = "Content-Length: 65537";
  const answer = await client.ask("POST / HTTP/1.1", "Host: a", length, "Expect: 100-continue");
  assert.equal(answer.status, 413);
  await near.closeWrite();
  await served;
});

Deno.test("serveOnlyPages() gives a sending client one second to read the last answer", async () => {
  const { client, clock, far, served } = serving(echo);
  await client.ask("POST / HTTP/1.1", "Host: a", "Content-Length: 65537");
  await client.write("still sending");
  await clock.advance(999);
  assert.equal(far.isClosed, false);
  await clock.advance(1);
  await served;
  assert.equal(far.isClosed, true);
});

Deno.test("servePages() returns the first head that is not for it", async () => {
  const clock = new FakeClock();
  const [near, far] = memoryPair();
  const messages = new Messages(far);
  const deps = { clock, log: recordingLog(), deadlines: new Deadlines(clock) };
  const client = new PageClient(near);
  await client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET http://b/ HTTP/1.1\r\nHost: b\r\n\r\nrest");
  const head = await servePages(far, messages, undefined, echo, deps, {
    signal: new AbortController().signal,
  });
  assert.equal(head?.target, "http://b/");
  assert.equal(new TextDecoder().decode(messages.rest()), "rest");
  assert.equal(far.isClosed, false);
});
