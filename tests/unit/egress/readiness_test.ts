import assert from "node:assert/strict";
import "../../../src/clusters/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { type EndpointResult, probeEndpoints, type ProxySpec } from "../../../src/egress/mod.ts";
import type { ReadinessOptions } from "../../../src/egress/readiness.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { type TornAnswer, type WebAnswer, type WebRequest, WebServer } from "../../support/web_server.ts";

/** A proxy on the memory network that responds for every site. */
class Site implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly network = new MemoryNetwork();
  readonly server: WebServer;

  constructor(answer: (request: WebRequest) => WebAnswer | TornAnswer) {
    this.network.names.set("proxy.test", ["192.0.2.1"]);
    this.server = new WebServer(this.network.listen({ host: "192.0.2.1", port: 3128 }), answer);
  }

  async probe(spec: ProxySpec, options: ReadinessOptions = {}): Promise<EndpointResult[]> {
    const probing = probeEndpoints(spec, this, { signal: new AbortController().signal, ...options });
    let isDone = false;
    void probing.finally(() => isDone = true);
    while (true) {
      // The client module loads on first use, which microtasks do not await.
      for (let turn = 0; turn < 20 && !isDone; turn++) await new Promise((resolve) => setTimeout(resolve));
      if (isDone) return await probing;
      await this.clock.advance(1000);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

const proxy = "http://proxy.test:3128";
const one = { httpProxy: proxy, readinessEndpoints: ["http://a.test/ready?q=1"] };

const answers: readonly { id: string; answer: WebAnswer; ready: boolean; says?: RegExp }[] = [
  { id: "204", answer: { status: 204 }, ready: true },
  { id: "302 without Location", answer: { status: 302 }, ready: true },
  { id: "304", answer: { status: 304 }, ready: true },
  { id: "401", answer: { status: 401 }, ready: false, says: /^http:\/\/a\.test\/ready answered 401$/ },
  {
    id: "407",
    answer: { status: 407 },
    ready: false,
    says: /answered 407: the proxy rejected the user/,
  },
  { id: "500", answer: { status: 500 }, ready: false, says: /answered 500$/ },
  {
    id: "a redirect to an ftp URL",
    answer: { status: 302, fields: [["Location", "ftp://a.test/"]] },
    ready: false,
    says: /the Location is not an http or https URL/,
  },
  {
    id: "a proxy that does not speak HTTP",
    answer: new TextEncoder().encode("SSH-2.0-x\r\n\r\n"),
    ready: false,
    says: /Cannot/,
  },
];
for (const { id, answer, ready, says } of answers) {
  Deno.test(`${id} ${ready ? "passes" : "fails"} (probeEndpoints)`, async () => {
    await using site = new Site(() => answer);
    const [result] = await site.probe(one);
    assert.equal(result?.isReady, ready, JSON.stringify(result));
    assert.equal(result?.attempts, ready ? 1 : 3);
    if (says) assert.match(result?.failure ?? "", says);
    assert.equal(site.network.open, 0);
  });
}

Deno.test("probeEndpoints() sends the whole URL to the proxy", async () => {
  await using site = new Site(() => ({}));
  await site.probe({ ...one, httpProxy: "http://me:p%40ss@proxy.test:3128" });
  const [request] = site.server.requests;
  assert.equal(request?.url.href, "http://a.test/ready?q=1");
  assert.equal(request?.fields.get("host"), "a.test");
  assert.equal(request?.fields.get("proxy-authorization"), `Basic ${btoa("me:p@ss")}`);
});

Deno.test("a redirect to a 404 fails with the last URL and its status", async () => {
  await using site = new Site(({ url }) =>
    url.pathname === "/ready" ? { status: 302, fields: [["Location", "/gone"]] } : { status: 404 }
  );
  const [result] = await site.probe(one);
  assert.deepEqual([result?.isReady, result?.status, result?.answeredBy], [false, 404, "http://a.test/gone"]);
  assert.equal(result?.failure, "http://a.test/gone answered 404");
});

Deno.test("a proxy that redirects forever fails after ten redirects", async () => {
  await using site = new Site(() => ({ status: 307, fields: [["Location", "/again"]] }));
  const [result] = await site.probe(one, { attempts: 1 });
  assert.match(result?.failure ?? "", /more than 10 redirects/);
  assert.equal(site.server.requests.length, 11);
});

Deno.test("a proxy that accepts and never responds fails after three timeouts and two pauses", async () => {
  await using site = new Site(() => "silent");
  const [result] = await site.probe(one);
  assert.deepEqual([result?.isReady, result?.attempts, result?.ms], [false, 3, 32_000]);
  assert.match(result?.failure ?? "", /timeout after 10 s/);
  assert.equal(site.network.open, 0);
});

for (const sent of ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"]) {
  Deno.test(`a proxy that resets after ${JSON.stringify(sent)} fails and is retried`, async () => {
    let count = 0;
    await using site = new Site(() =>
      ++count < 3 ? { torn: new TextEncoder().encode(sent) } : { status: 200 }
    );
    const [mended] = await site.probe(one);
    assert.deepEqual([mended?.isReady, mended?.attempts], [true, 3]);
    count = -10;
    const [torn] = await site.probe(one);
    assert.deepEqual([torn?.isReady, torn?.attempts, torn?.status], [false, 3, undefined]);
    assert.match(torn?.failure ?? "", /reset the connection/);
    assert.equal(site.network.open, 0);
  });
}

Deno.test("a proxy that resets during its CONNECT response fails", async () => {
  await using site = new Site(() => ({ torn: new TextEncoder().encode("HTTP/1.1 200 Connec") }));
  const [result] = await site.probe({ httpsProxy: proxy, readinessEndpoints: ["https://a.test/"] });
  assert.deepEqual([result?.isReady, result?.attempts], [false, 3]);
  assert.match(result?.failure ?? "", /reset the connection/);
  assert.equal(site.network.open, 0);
});

Deno.test("an unreachable proxy fails", async () => {
  await using site = new Site(() => ({}));
  site.network.faults.set("192.0.2.1", "silent");
  const [result] = await site.probe(one, { timeout: 2000, attempts: 2 });
  assert.deepEqual([result?.isReady, result?.attempts, result?.ms], [false, 2, 5000]);
});

Deno.test("two failures, then 200: ready after three attempts", async () => {
  let count = 0;
  await using site = new Site(() => ({ status: ++count < 3 ? 503 : 200 }));
  const [result] = await site.probe(one);
  assert.deepEqual([result?.isReady, result?.attempts, result?.status, result?.ms], [true, 3, 200, 2000]);
});

Deno.test("probeEndpoints() probes every endpoint and returns the results in order", async () => {
  await using site = new Site(({ url }) => ({ status: url.hostname.startsWith("bad") ? 500 : 200 }));
  const names = Array.from({ length: 30 }, (_, index) => `${index % 3 === 0 ? "bad" : "good"}${index}.test`);
  const results = await site.probe({
    httpProxy: proxy,
    readinessEndpoints: names.map((name) => `http://${name}/`),
  });
  assert.deepEqual(
    results.map(({ endpoint, isReady }) => [endpoint, isReady]),
    names.map((name) => [`http://${name}/`, name.startsWith("good")]),
  );
});

Deno.test("probeEndpoints() also probes an endpoint in noProxy through the proxy", async () => {
  await using site = new Site(() => ({}));
  const [result] = await site.probe({
    ...one,
    noProxy: "a.test",
    readinessEndpoints: ["http://a.test", "http://localhost"],
  });
  assert.equal(result?.isReady, true);
  assert.deepEqual(site.server.requests.map(({ url }) => url.hostname).sort(), ["a.test", "localhost"]);
});

Deno.test("no result contains a password", async () => {
  await using site = new Site(() => "silent");
  site.network.faults.set(
    "192.0.2.1",
    new PosternError("refused", "Cannot reach http://me:hunter2@proxy.test:3128"),
  );
  const results = await site.probe({
    httpProxy: "http://me:hunter2@proxy.test:3128",
    readinessEndpoints: ["http://you:hunter2@a.test/"],
  });
  assert.equal(results[0]?.isReady, false);
  assert.doesNotMatch(JSON.stringify(results), /hunter2/);
});

Deno.test("an https endpoint goes through httpsProxy, with TLS to the proxy and to the endpoint", async () => {
  await using site = new Site(() => new TextEncoder().encode("HTTP/1.1 407 No\r\n\r\n"));
  site.network.tls = (conn) => Promise.resolve(conn);
  const [result] = await site.probe({
    httpProxy: "http://elsewhere.test",
    httpsProxy: "https://me:hunter2@proxy.test:3128",
    readinessEndpoints: ["https://a.test:8443/"],
  }, { ca: "PEM", attempts: 1 });
  assert.match(
    result?.failure ?? "",
    /^Cannot sign in at the proxy proxy\.test:3128: it rejected the user name or password \(407\)/,
  );
  assert.deepEqual(site.network.secured.map(({ serverName, ca }) => [serverName, ca]), [[
    "proxy.test",
    "PEM",
  ]]);
  assert.equal(site.network.open, 0);
});

Deno.test("probeEndpoints() stops when its signal aborts", async () => {
  await using site = new Site(() => "silent");
  const controller = new AbortController();
  const probing = probeEndpoints(one, site, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(probing, /enough/);
  assert.equal(site.network.open, 0);
});

Deno.test("probeEndpoints() without endpoints returns no results", async () => {
  await using site = new Site(() => ({}));
  assert.deepEqual(await site.probe({ httpProxy: proxy }), []);
});
