import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import { createPages, type PageResponse, type PageSource } from "../../../../src/listeners/mod.ts";
import type { PageAccess } from "../../../../src/listeners/pages/page.ts";
import { Fields } from "../../../../src/wire/mod.ts";
import { fakePageSource, sampleWhole } from "../../../support/page_source.ts";

const token = "s3cret-token";
const localHost: [string, string] = ["Host", "127.0.0.1:12000"];
const withToken: [string, string] = ["Postern-Token", token];

interface Asked {
  readonly method?: string;
  readonly access?: PageAccess;
  readonly fields?: readonly [string, string][];
  readonly source?: PageSource;
}

async function ask(
  target: string,
  { method = "GET", access = "listener", fields = [localHost], source = fakePageSource() }: Asked = {},
): Promise<PageResponse & { text: string; get: (name: string) => string | undefined }> {
  const [path = "", query = ""] = target.split("?");
  const response = await createPages(source)({
    method,
    path,
    query: new URLSearchParams(query),
    fields: new Fields(fields),
    body: new Uint8Array(),
    access,
    local: "127.0.0.1:12000",
  }, { signal: new AbortController().signal });
  const headers = new Fields(response.fields);
  return { ...response, text: String(response.body), get: (name) => headers.get(name) };
}

for (
  const [host, listener] of [
    ["127.0.0.1:12000"],
    ["localhost:12000"],
    ["LOCALHOST", "LOCALHOST:80"],
    ["[::1]:12000"],
    ["[::1]", "[::1]:80"],
    ["127.9.9.9", "127.9.9.9:80"],
    ["instance.localhost:", "instance.localhost:80"],
  ] as const
) {
  Deno.test(`createPages() serves the PAC file to Host ${host}`, async () => {
    const answer = await ask("/proxy.pac", { fields: [["Host", host]] });
    assert.equal(answer.status, 200);
    assert.equal(answer.get("content-type"), "application/x-ns-proxy-autoconfig");
    assert.equal(answer.text, `// for ${listener ?? host} at 127.0.0.1:12000\n`);
  });
}

for (
  const host of [
    "evil.example",
    "evil.example:12000",
    "127.0.0.1.evil.example",
    "10.0.0.1",
    "",
    "a b",
    "127.0.0.1@evil",
  ]
) {
  Deno.test(`createPages() shows Host "${host}" only health`, async () => {
    const fields = [["Host", host], withToken] as [string, string][];
    for (
      const path of [
        "/proxy.pac",
        "/",
        "/status.json",
        "/metrics",
        "/connections.json",
        "/explain",
        "/nothing",
      ]
    ) {
      const answer = await ask(path, { fields });
      assert.equal(answer.status, 403, path);
      assert.equal(answer.text, "Host not allowed\n");
    }
    for (const path of ["/healthz", "/readyz"]) assert.equal((await ask(path, { fields })).text, "ok\n");
  });
}

const foreign: [string, string][] = [
  ["Origin", "http://evil.example"],
  ["Origin", "null"],
  ["Origin", "http://127.0.0.1:8080"],
  ["Origin", "https://127.0.0.1:12000"],
  ["Sec-Fetch-Site", "cross-site"],
  ["Sec-Fetch-Site", "same-site"],
];
for (const field of foreign) {
  Deno.test(`createPages() refuses a request with ${field.join(": ")}`, async () => {
    const source = fakePageSource();
    const fields = [localHost, withToken, field];
    for (const path of ["/connections/7/close", "/reload"]) {
      assert.equal((await ask(path, { method: "POST", fields, source })).status, 403);
    }
    for (const path of ["/", "/status.json", "/proxy.pac"]) {
      assert.equal((await ask(path, { fields })).status, 403);
    }
    assert.deepEqual(source.closed, []);
  });
}

Deno.test("createPages() accepts its own page as an origin", async () => {
  const fields = [localHost, withToken, ["Origin", "http://127.0.0.1:12000"], [
    "Sec-Fetch-Site",
    "same-origin",
  ]];
  assert.equal((await ask("/reload", { method: "POST", fields: fields as [string, string][] })).status, 200);
});

const tokens: { name: string; query?: string; field?: [string, string]; status: number }[] = [
  { name: "no token", status: 401 },
  { name: "a wrong token", field: ["Postern-Token", "s3cret-tokem"], status: 401 },
  { name: "a longer token", field: ["Postern-Token", `${token}x`], status: 401 },
  { name: "an empty token", field: ["Postern-Token", ""], status: 401 },
  { name: "a token in Postern-Token", field: ["postern-token", token], status: 200 },
  { name: "a bearer token", field: ["Authorization", `Bearer ${token}`], status: 200 },
  { name: "a token in the query, which is not accepted", query: `&token=${token}`, status: 401 },
];
for (const { name, query = "", field, status } of tokens) {
  Deno.test(`createPages() answers ${status} to ${name}`, async () => {
    const fields = field ? [localHost, field] : [localHost];
    for (const path of ["/status.json?", "/connections.json?", "/metrics?", "/explain?target=web.shop.svc"]) {
      assert.equal((await ask(`${path}${query}`, { fields })).status, status, path);
    }
  });
}

Deno.test("createPages() accepts no token if the instance has an empty one", async () => {
  const source = fakePageSource({ token: "" });
  assert.equal(
    (await ask("/status.json?token=", { source, fields: [localHost, ["Postern-Token", ""]] })).status,
    401,
  );
});

const phases = [
  { phase: "starting", healthz: 200, readyz: 503, word: "starting" },
  { phase: "ready", healthz: 200, readyz: 200, word: "ok" },
  { phase: "draining", healthz: 200, readyz: 503, word: "draining" },
] as const;
for (const { phase, healthz, readyz, word } of phases) {
  Deno.test(`createPages() answers "${word}" while ${phase}`, async () => {
    for (const access of ["listener", "admin", "control"] as const) {
      const source = fakePageSource({ health: () => phase });
      const alive = await ask("/healthz", { source, access, fields: [["Host", "probe.example"]] });
      assert.deepEqual([alive.status, alive.text], [healthz, `${word}\n`]);
      assert.equal((await ask("/readyz", { source, access, fields: [] })).status, readyz);
    }
  });
}

Deno.test("createPages() shows only health and metrics on the admin listener, to any Host", async () => {
  const fields: [string, string][] = [["Host", "monitor.example:12001"], withToken];
  const metrics = await ask("/metrics", { access: "admin", fields });
  assert.equal(metrics.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  assert.match(metrics.text, /^x 1$/m);
  for (
    const path of [
      "/",
      "/proxy.pac",
      "/status.json",
      "/connections.json",
      "/explain?target=a",
      "/favicon.ico",
    ]
  ) {
    assert.equal((await ask(path, { access: "admin", fields })).status, 404, path);
  }
  assert.equal((await ask("/reload", { access: "admin", fields, method: "POST" })).status, 404);
});

Deno.test("createPages() names the methods of a path in a 405", async () => {
  const answer = await ask("/status.json", { method: "DELETE", fields: [localHost, withToken] });
  assert.deepEqual([answer.status, answer.get("allow")], [405, "GET, HEAD"]);
  const action = await ask("/reload", { fields: [localHost, withToken] });
  assert.deepEqual([action.status, action.get("allow")], [405, "POST"]);
});

Deno.test("createPages() guards every answer", async () => {
  for (
    const path of ["/", "/proxy.pac", "/healthz", "/metrics", "/nothing", "/favicon.ico", "/status.json"]
  ) {
    const answer = await ask(path);
    assert.equal(answer.get("x-content-type-options"), "nosniff", path);
    assert.equal(answer.get("referrer-policy"), "no-referrer", path);
    assert.match(answer.get("cache-control") ?? "", /no-store|no-cache/, path);
    assert.match(answer.get("content-security-policy") ?? "", /frame-ancestors 'none'/, path);
  }
});

Deno.test("createPages() explains a target, with port 443 by default", async () => {
  const fields = [localHost, withToken];
  const asked: [string, boolean][] = [];
  const source = fakePageSource({
    explain: (target, { dial }) => {
      asked.push([`${target.host}:${target.port}`, dial]);
      return Promise.reject(new PosternError("no_route", "Cannot route it", { hint: "add a rule" }));
    },
  });
  const answer = await ask("/explain?target=%20web.shop.svc%20", { source, fields });
  await ask("/explain?target=a:80&dial=1", { source, fields });
  assert.deepEqual(asked, [["web.shop.svc:443", false], ["a:80", true]]);
  assert.equal(answer.status, 403);
  assert.deepEqual(JSON.parse(answer.text), {
    code: "no_route",
    message: "Cannot route it",
    hint: "add a rule",
  });
  for (const target of ["", "?target=", "?target=a:99999", "?target=[x]:1"]) {
    assert.equal((await ask(`/explain${target}`, { fields })).status, 400, target);
  }
});

Deno.test("createPages() closes a connection by its id", async () => {
  const source = fakePageSource();
  const fields = [localHost, withToken];
  const close = (id: string) => ask(`/connections/${id}/close`, { method: "POST", fields, source });
  assert.equal((await close("7")).status, 200);
  for (const id of ["8", "x", "", "-7", "7e0"]) assert.equal((await close(id)).status, 400, id);
  assert.deepEqual(source.closed, [7]);
});

Deno.test("createPages() serves the page without the token if the instance does not share it", async () => {
  const shared = await ask("/");
  assert.match(shared.text, new RegExp(`<meta name="postern-token" content="${token}">`));
  const asked: (string | undefined)[] = [];
  const source = fakePageSource({ sharesToken: (local) => (asked.push(local), false) });
  const closed = await ask("/", { source });
  assert.deepEqual(asked, ["127.0.0.1:12000"]);
  assert.match(closed.text, /<meta name="postern-token" content="">/);
  for (const secret of [token, "web.shop", "bastion"]) assert.ok(!closed.text.includes(secret), secret);
});

Deno.test("createPages() serves a page that runs only our own scripts and styles", async () => {
  const answer = await ask("/");
  const policy = answer.get("content-security-policy") ?? "";
  const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? "";
  assert.ok(nonce.length >= 20);
  assert.equal(answer.text.split(`nonce="${nonce}"`).length, 3);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  for (
    const rule of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
  ) {
    assert.ok(policy.includes(rule), rule);
  }
  assert.doesNotMatch(answer.text, /\s(on[a-z]+|style)=|<script[^>]*>\s*[^\s<]|<style/);
  assert.doesNotMatch(answer.text, /(?:src|href)="(?!\/page\/|#|data:)/);
  assert.ok(!(await ask("/")).text.includes(nonce), "the nonce is new in each answer");
});

Deno.test("createPages() serves every file that the page and its scripts name, and no other", async () => {
  const parts = [...(await ask("/")).text.matchAll(/"\/page\/([^"]+)"/g)].map(([, name = ""]) => name);
  assert.deepEqual(parts, ["page.css", "main.js"]);
  for (const name of parts) {
    const answer = await ask(`/page/${name}`);
    assert.equal(answer.status, 200, name);
    assert.match(
      answer.get("content-type") ?? "",
      name.endsWith(".css") ? /^text\/css/ : /^text\/javascript/,
    );
    for (const [, imported = ""] of answer.text.matchAll(/^import .* from "\.\/([^"]+)";$/gm)) {
      if (!parts.includes(imported)) parts.push(imported);
    }
  }
  assert.ok(parts.length > 10);
  for (const name of ["page.html", "..", "toString", "%2e%2e", "x.js"]) {
    assert.equal((await ask(`/page/${name}`)).status, 404, name);
  }
  assert.equal((await ask("/page/main.js", { fields: [["Host", "evil.example"]] })).status, 403);
});

Deno.test("createPages() streams updates to watchers, and answers 503 to too many", async () => {
  assert.equal((await ask("/events")).status, 401);
  const fields = [localHost, withToken];
  const { status, get, body } = await ask("/events", { fields });
  assert.deepEqual([status, get("content-type"), get("cache-control")], [
    200,
    "text/event-stream",
    "no-store",
  ]);
  assert.ok(typeof body === "object" && Symbol.asyncIterator in body);
  const [event = new Uint8Array()] = await Array.fromAsync(body);
  const text = new TextDecoder().decode(event);
  assert.match(text, /^data: \{[^\n]*\}\n\n$/);
  assert.deepEqual(JSON.parse(text.slice("data: ".length)), sampleWhole);
  const full = await ask("/events", { fields, source: fakePageSource({ watch: () => undefined }) });
  assert.equal(full.status, 503);
  assert.match(JSON.parse(full.text).message, /too many watch/);
});

Deno.test("createPages() returns the proxy settings for the address of the page", async () => {
  const fields: [string, string][] = [["Host", "localhost:12000"], withToken];
  const use = JSON.parse((await ask("/use.json", { fields })).text);
  assert.deepEqual(use, {
    pac: "http://localhost:12000/proxy.pac",
    http: "http://127.0.0.1:12000",
    socks: "socks5h://127.0.0.1:12000",
    sh: "# for sh\n",
    fish: "# for fish\n",
    powershell: "# for powershell\n",
    notes: [],
    needsAuth: true,
  });
});
