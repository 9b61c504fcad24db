import assert from "node:assert/strict";
import { HttpClient } from "../../../src/http/mod.ts";
import { discoverLieutenant, fetchCatalogue } from "../../../src/catalogue/mod.ts";
import { longestCatalogue } from "../../../src/catalogue/lieutenant.ts";
import { describe, type ErrorCode, exitCode, PosternError } from "../../../src/words/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { type WebAnswer, type WebRequest, WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();
const token = "ey.TOKEN.x";
const lieutenant = new URL("http://127.0.0.1:8080/");
const json = (value: unknown, status = 200): WebAnswer => ({ status, body: JSON.stringify(value) });

class Api implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly network = new MemoryNetwork();
  readonly client = new HttpClient(this);
  readonly server: WebServer;

  constructor(answer: WebAnswer | ((request: WebRequest) => WebAnswer)) {
    const listening = this.network.listen({ host: "127.0.0.1", port: 8080 });
    this.server = new WebServer(listening, typeof answer === "function" ? answer : () => answer);
  }

  fetch(more: { lieutenant?: URL; tenant?: string; token?: string } = {}) {
    return fetchCatalogue({ name: "main", lieutenant, token, ...more }, this, { signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    assert.equal(this.network.open, 0);
  }
}

Deno.test("fetchCatalogue() sends the token and returns the clusters", async () => {
  await using api = new Api(
    json([{ id: "c-a", tenant: "t-a", installURL: "https://x?token=SECRET" }, { id: 5 }]),
  );
  const { catalogue, warnings, ignored } = await api.fetch();
  assert.deepEqual(catalogue, {
    name: "main",
    source: "http://127.0.0.1:8080/",
    fetched: "2026-01-01T00:00:00.000Z",
    clusters: [{ id: "c-a", tenant: "t-a", displayName: "c-a", facts: {}, dynamicFacts: {} }],
  });
  assert.deepEqual([warnings.length, ignored.length], [1, 0]);
  const [request] = api.server.requests;
  assert.equal(request?.fields.get("authorization"), `Bearer ${token}`);
  assert.equal(request?.url.pathname + request?.url.search, "/clusters");
});

const addresses = [
  { url: "http://127.0.0.1:8080", path: "/clusters" },
  { url: "http://127.0.0.1:8080/api/v1/", path: "/api/v1/clusters" },
  { url: "http://me:secret@127.0.0.1:8080/api?x=1#y", path: "/api/clusters" },
];
for (const { url, path } of addresses) {
  Deno.test(`fetchCatalogue() requests ${path} from ${url}`, async () => {
    await using api = new Api(json([]));
    const { catalogue } = await api.fetch({ lieutenant: new URL(url) });
    assert.equal(api.server.requests[0]?.url.pathname, path);
    assert.ok(!catalogue.source.includes("secret"));
  });
}

Deno.test("fetchCatalogue() requests the clusters of one tenant", async () => {
  await using api = new Api(json([]));
  await api.fetch({ tenant: "t-a b&c" });
  assert.equal(api.server.requests[0]?.url.searchParams.get("tenant"), "t-a b&c");
});

const failures: {
  readonly name: string;
  readonly answer: WebAnswer;
  readonly code: ErrorCode;
  readonly exit: number;
  readonly says: RegExp;
}[] = [
  {
    name: "401, for a known token",
    answer: json({ reason: "Unauthorized" }, 401),
    code: "auth",
    exit: 5,
    says:
      /Cannot read the clusters of http:\/\/127\.0\.0\.1:8080\/: the server returned 401: Unauthorized; sign in again/,
  },
  {
    name: "500 with Unauthorized, for a new token",
    answer: json({
      reason:
        "failed to get API group resources: unable to retrieve the complete list of server APIs: syn.tools/v1alpha1: Unauthorized",
    }, 500),
    code: "auth",
    exit: 5,
    says: /the server returned 500: failed to get .*: Unauthorized; sign in again: postern login/,
  },
  {
    name: "400 for a malformed token",
    answer: json({ reason: "missing or malformed jwt" }, 400),
    code: "auth",
    exit: 5,
    says: /missing or malformed jwt; sign in again/,
  },
  {
    name: "403",
    answer: json({
      reason: "clusters.syn.tools is forbidden: User 'oidc:mallory@example.com' cannot list resource",
    }, 403),
    code: "not_allowed",
    exit: 5,
    says: /forbidden: User 'oidc:mallory@example.com' .*; ask the API's administrator/,
  },
  {
    name: "503",
    answer: { status: 503, body: "<html>down</html>" },
    code: "unreachable",
    exit: 6,
    says: /the server returned 503; try again later/,
  },
  {
    name: "500",
    answer: json({ reason: "boom\u001b[2J" }, 500),
    code: "unreachable",
    exit: 6,
    says: /the server returned 500: boom \[2J; try/,
  },
  {
    name: "429",
    answer: { status: 429 },
    code: "unreachable",
    exit: 6,
    says: /the server returned 429; try again later/,
  },
  {
    name: "404",
    answer: { status: 404, body: "not found" },
    code: "config",
    exit: 4,
    says: /the server returned 404; check that the URL points to/,
  },
  {
    name: "a redirect to a sign-in page",
    answer: { status: 302, fields: [["Location", "https://login.example.net/realms/x?state=SECRET"]] },
    code: "config",
    exit: 4,
    says: /the server returned 302; change the URL to https:\/\/login\.example\.net\/realms\/x/,
  },
  { name: "400", answer: { status: 400 }, code: "protocol", exit: 1, says: /the server returned 400/ },
  {
    name: "a web page",
    answer: { body: "\n<!doctype html><title>Welcome</title>" },
    code: "protocol",
    exit: 1,
    says:
      /the server returned a web page; check that the URL points to the Lieutenant API and that no sign-in page/,
  },
  {
    name: "half of a list",
    answer: { body: '[{"id":"c-a"},' },
    code: "protocol",
    exit: 1,
    says: /the response is not JSON/,
  },
  {
    name: "an unexpected response with a secret",
    answer: { body: '[{"id":"c-a","installURL":SECRET}]' },
    code: "protocol",
    exit: 1,
    says: /the response is not JSON/,
  },
  { name: "nothing", answer: { body: "" }, code: "protocol", exit: 1, says: /the response is not JSON/ },
  {
    name: "an object",
    answer: json({ clusters: [] }),
    code: "protocol",
    exit: 1,
    says: /the response is not a list/,
  },
  { name: "a text", answer: json("c-a"), code: "protocol", exit: 1, says: /the response is not a list/ },
  { name: "null", answer: json(null), code: "protocol", exit: 1, says: /the response is not a list/ },
  {
    name: "more than 10 MB",
    answer: { body: `[${" ".repeat(longestCatalogue)}]` },
    code: "protocol",
    exit: 1,
    says: /Cannot read the response from .*\/clusters: more than 10485760 bytes/,
  },
];
for (const { name, answer, code, exit, says } of failures) {
  Deno.test(`fetchCatalogue() throws ${code} if Lieutenant answers ${name}`, async () => {
    await using api = new Api(answer);
    const error = await failureOf(api.fetch());
    const line = error.hint === undefined ? error.message : `${error.message}; ${error.hint}`;
    assert.equal(error.code, code, line);
    assert.match(line, says);
    assert.equal(exitCode(error), exit);
    assert.doesNotMatch(describe(error), /SECRET/);
    assert.ok(!line.includes("SECRET") && !line.includes(token), line);
  });
}

Deno.test("fetchCatalogue() accepts slightly less than 10 MB", async () => {
  await using api = new Api({ body: `[${" ".repeat(longestCatalogue - 2)}]` });
  assert.deepEqual((await api.fetch()).catalogue.clusters, []);
});

Deno.test("fetchCatalogue() times out if Lieutenant stays silent", async () => {
  await using api = new Api("silent");
  const failure = failureOf(api.fetch());
  await api.clock.advance(30_000);
  const { code, message } = await failure;
  assert.equal(code, "timeout");
  assert.match(
    message,
    /Cannot get a response from http:\/\/127\.0\.0\.1:8080\/clusters: timeout after 30 s/,
  );
});

Deno.test("fetchCatalogue() fails if the connection is refused", async () => {
  await using api = new Api(json([]));
  assert.equal((await failureOf(api.fetch({ lieutenant: new URL("http://127.0.0.1:9") }))).code, "refused");
});

for (const url of ["http://api.example.net", "http://192.0.2.1:8080", "http://[2001:db8::1]"]) {
  Deno.test(`fetchCatalogue() sends no token to ${url}`, async () => {
    await using api = new Api(json([]));
    const error = await failureOf(api.fetch({ lieutenant: new URL(url) }));
    assert.equal(error.code, "not_allowed");
    assert.match(error.message, /postern sends tokens only over TLS/);
    assert.deepEqual([api.network.connects, api.network.lookups], [[], []]);
  });
}

for (const bad of ["", "a b", "a\r\nX-Evil: 1", "ü"]) {
  Deno.test(`fetchCatalogue() sends no token like ${JSON.stringify(bad)}`, async () => {
    await using api = new Api(json([]));
    const error = await failureOf(api.fetch({ token: bad }));
    assert.deepEqual([error.code, api.network.connects], ["auth", []]);
  });
}

Deno.test("discoverLieutenant() returns the version and the provider, without a token", async () => {
  const oidc = {
    clientId: "lieutenant",
    discoveryUrl: "https://id.example.net/.well-known/openid-configuration",
  };
  await using api = new Api(json({ apiVersion: "v0.12.2", oidc }));
  assert.deepEqual(await discoverLieutenant(lieutenant, api, { signal }), { apiVersion: "v0.12.2", oidc });
  assert.equal(api.server.requests[0]?.fields.has("authorization"), false);
});

Deno.test("discoverLieutenant() accepts an API without a provider", async () => {
  await using api = new Api(json({ apiVersion: "v0.12.2" }));
  assert.deepEqual(await discoverLieutenant(lieutenant, api, { signal }), { apiVersion: "v0.12.2" });
});

for (
  const value of [
    {},
    [],
    null,
    { apiVersion: 1 },
    { apiVersion: "v1", oidc: [] },
    { apiVersion: "v1", oidc: { clientId: "", discoveryUrl: "https://x" } },
    { apiVersion: "v1", oidc: { clientId: "x", discoveryUrl: "javascript:alert(1)" } },
    { apiVersion: "v1", oidc: { clientId: "x", discoveryurl: "https://x" } },
  ]
) {
  Deno.test(`discoverLieutenant() refuses ${JSON.stringify(value)}`, async () => {
    await using api = new Api(json(value));
    const error = await failureOf(discoverLieutenant(lieutenant, api, { signal }));
    assert.equal(error.code, "protocol");
    assert.match(error.message, /^Cannot read the API description of http:\/\/127\.0\.0\.1:8080\/: /);
  });
}

async function failureOf(work: Promise<unknown>): Promise<PosternError> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof PosternError, String(error));
    return error;
  }
  assert.fail("the request succeeded");
}
