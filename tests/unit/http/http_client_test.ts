import assert from "node:assert/strict";
import { fetchWith, HttpClient } from "../../../src/http/mod.ts";
import type { HttpRequest } from "../../../src/http/http_client.ts";
import { isPosternError, PosternError } from "../../../src/words/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { type WebAnswer, type WebRequest, WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();
const text = new TextDecoder();
const raw = (content: string) => new TextEncoder().encode(content);

class Site implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly network = new MemoryNetwork();
  readonly server: WebServer;

  constructor(answer: (request: WebRequest) => WebAnswer) {
    this.network.names.set("api.example.net", ["192.0.2.1"]);
    this.server = new WebServer(this.network.listen({ host: "192.0.2.1", port: 80 }), answer);
  }

  client(options: ConstructorParameters<typeof HttpClient>[1] = {}): HttpClient {
    return new HttpClient(this, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

const ask = (site: Site, request: Partial<HttpRequest> = {}, options = {}) =>
  site.client(options).ask({ url: new URL("http://api.example.net/clusters?tenant=t"), ...request }, {
    signal,
  });

Deno.test("HttpClient requests a path with its query and returns the whole response", async () => {
  await using site = new Site(() => ({ status: 404, fields: [["X-Kind", "made up"]], body: "none" }));
  const { status, fields, body } = await ask(site, { fields: [["Authorization", "Bearer t"]] });
  assert.deepEqual([status, fields.get("x-kind"), text.decode(body)], [404, "made up", "none"]);
  const [request] = site.server.requests;
  assert.equal(`${request?.url.pathname}${request?.url.search}`, "/clusters?tenant=t");
  assert.equal(request?.fields.get("host"), "api.example.net");
  assert.equal(request?.fields.get("authorization"), "Bearer t");
  assert.equal(site.network.open, 0);
});

Deno.test("HttpClient sends a body with its length", async () => {
  await using site = new Site(({ body }) => ({ body }));
  assert.equal(text.decode((await ask(site, { method: "POST", body: "a=ü" })).body), "a=ü");
});

const framings = [
  { name: "at the end of the connection", answer: "HTTP/1.0 200 OK\r\n\r\nhello" },
  {
    name: "at its last chunk",
    answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
  },
  {
    name: "after an interim response",
    answer: "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  },
];
for (const { name, answer } of framings) {
  Deno.test(`HttpClient reads a body that ends ${name}`, async () => {
    await using site = new Site(() => raw(answer));
    assert.equal(text.decode((await ask(site)).body), "hello");
  });
}

Deno.test("HttpClient rejects a response after too many interim ones", async () => {
  const hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(17);
  await using site = new Site(() => raw(`${hints}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`));
  await assert.rejects(ask(site), {
    code: "protocol",
    message: "Cannot read the response: too many 1xx responses",
  });
  assert.equal(site.network.open, 0);
});

const tooMuch = [
  { name: "with a length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" },
  {
    name: "in chunks",
    answer: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n${"x".repeat(20)}\r\n`,
  },
  { name: "without a length", answer: `HTTP/1.1 200 OK\r\n\r\n${"x".repeat(20)}` },
];
for (const { name, answer } of tooMuch) {
  Deno.test(`HttpClient rejects a response over the limit ${name}`, async () => {
    await using site = new Site(() => raw(answer));
    await assert.rejects(ask(site, { limit: 10 }), (error) => {
      assert.ok(isPosternError(error, "protocol"));
      assert.equal(error.detail, "too_large");
      return true;
    });
    assert.equal(site.network.open, 0);
  });
}

const broken = [
  { name: "that is not HTTP", answer: "SSH-2.0-OpenSSH_9.2\r\n\r\n" },
  { name: "that is empty", answer: "" },
  { name: "with a truncated body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello" },
  {
    name: "with truncated chunks",
    answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n",
  },
];
for (const { name, answer } of broken) {
  Deno.test(`HttpClient fails with protocol for a response ${name}`, async () => {
    await using site = new Site(() => raw(answer));
    await assert.rejects(ask(site), (error) => isPosternError(error, "protocol"));
    assert.equal(site.network.open, 0);
  });
}

Deno.test("HttpClient times out without a response; its error omits the query", async () => {
  await using site = new Site(() => "silent");
  const asked = assert.rejects(ask(site, {}, { timeout: 5000 }), (error) => {
    assert.ok(isPosternError(error, "timeout"));
    assert.equal(
      error.message,
      "Cannot get a response from http://api.example.net/clusters: timeout after 5 s",
    );
    return true;
  });
  await site.clock.advance(4999);
  assert.equal(site.network.open, 1);
  await site.clock.advance(1);
  await asked;
  assert.equal(site.network.open, 0);
  assert.equal(site.clock.waiting, 0);
});

Deno.test("HttpClient throws the reason of its signal", async () => {
  await using site = new Site(() => "silent");
  const stop = new AbortController();
  const asked = site.client().ask({ url: new URL("http://api.example.net/") }, stop);
  await site.clock.advance(0);
  const reason = new PosternError("cancelled", "Interrupted");
  stop.abort(reason);
  await assert.rejects(asked, reason);
  assert.equal(site.network.open, 0);
});

Deno.test("HttpClient follows no redirect by default", async () => {
  await using site = new Site(() => ({ status: 302, fields: [["Location", "/other"]] }));
  assert.equal((await ask(site)).status, 302);
  assert.equal(site.server.requests.length, 1);
});

Deno.test("HttpClient follows allowed redirects, and sends its token only to the first server", async () => {
  await using site = new Site(({ url }) =>
    url.pathname === "/end"
      ? { body: "there" }
      : { status: 302, fields: [["Location", "http://192.0.2.1/end"]] }
  );
  const fields = [["Authorization", "Bearer t"]] as const;
  const { url, body } = await ask(site, { redirects: 1, fields });
  assert.deepEqual([url.href, text.decode(body)], ["http://192.0.2.1/end", "there"]);
  assert.deepEqual(site.server.requests.map((request) => request.fields.get("authorization")), [
    "Bearer t",
    undefined,
  ]);
});

Deno.test("HttpClient does not repeat a POST after a redirect", async () => {
  await using site = new Site(() => ({ status: 307, fields: [["Location", "/other"]] }));
  assert.equal((await ask(site, { method: "POST", body: "a=b", redirects: 5 })).status, 307);
});

Deno.test("HttpClient does not leave TLS for a redirect", async () => {
  await using site = new Site(() => ({ status: 302, fields: [["Location", "http://192.0.2.1/end"]] }));
  await using _tls = new WebServer(site.network.listen({ host: "192.0.2.1", port: 443 }), () => ({
    status: 302,
    fields: [["Location", "http://192.0.2.1/end"]],
  }));
  site.network.tls = (conn) => Promise.resolve(conn);
  const asked = ask(site, { url: new URL("https://api.example.net/"), redirects: 1 }, { ca: "CA" });
  await assert.rejects(asked, /is not an https/);
  assert.deepEqual(site.network.secured, [{ serverName: "api.example.net", alpn: ["http/1.1"], ca: "CA" }]);
});

Deno.test("HttpClient tries the next address when one fails", async () => {
  await using site = new Site(() => ({ body: "second" }));
  site.network.names.set("api.example.net", ["2001:db8::1", "192.0.2.9", "192.0.2.1"]);
  site.network.faults.set("192.0.2.9", "silent");
  const asked = ask(site);
  await site.clock.advance(3000);
  assert.equal(text.decode((await asked).body), "second");
  assert.deepEqual(site.network.connects, ["[2001:db8::1]:80", "192.0.2.9:80", "192.0.2.1:80"]);
});

Deno.test("HttpClient uses the given dialer", async () => {
  await using site = new Site(() => ({ body: "through" }));
  const client = new HttpClient({
    ...site,
    clock: site.clock,
    network: site.network,
    dial: ({ host, port }, options) => {
      assert.deepEqual([host, port], ["hidden.example.net", 80]);
      return site.network.connect({ host: "192.0.2.1", port: 80 }, options);
    },
  });
  const { body } = await client.ask({ url: new URL("http://hidden.example.net/") }, { signal });
  assert.equal(text.decode(body), "through");
});

Deno.test("HttpClient rejects a URL that is not http or https", async () => {
  await using site = new Site(() => ({}));
  const asked = ask(site, { url: new URL("file:///etc/passwd") });
  await assert.rejects(asked, (error) => isPosternError(error, "config"));
});

Deno.test("fetchWith() returns a Response to a library", async () => {
  await using site = new Site(({ method, body, fields }) =>
    method === "POST"
      ? { status: 400, fields: [["X-Got", `${fields.get("content-type")} ${body}`]], body: "{}" }
      : { status: 204 }
  );
  const fetch = fetchWith(site.client(), { signal });
  const posted = await fetch("http://api.example.net/token", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ a: "b c" }),
  });
  assert.deepEqual([posted.status, posted.headers.get("x-got")], [
    400,
    "application/x-www-form-urlencoded a=b+c",
  ]);
  assert.deepEqual(await posted.json(), {});
  assert.equal((await fetch("http://api.example.net/", {})).status, 204);
});
