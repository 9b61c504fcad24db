import assert from "node:assert/strict";
import { PosternError } from "../../../src/core/mod.ts";
import {
  createPages,
  type PageAccess,
  type PageResponse,
  type PageSource,
} from "../../../src/listeners/mod.ts";
import { Fields } from "../../../src/wire/mod.ts";
import { fakePageSource } from "../../support/page_source.ts";

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
  { method = "GET", access = "door", fields = [localHost], source = fakePageSource() }: Asked = {},
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
  const [host, door] of [
    ["127.0.0.1:12000"],
    ["localhost:12000"],
    ["LOCALHOST", "LOCALHOST:80"],
    ["[::1]:12000"],
    ["[::1]", "[::1]:80"],
    ["127.9.9.9", "127.9.9.9:80"],
    ["door.localhost:", "door.localhost:80"],
  ] as const
) {
  Deno.test(`createPages() serves the PAC file to Host ${host}`, async () => {
    const answer = await ask("/proxy.pac", { fields: [["Host", host]] });
    assert.equal(answer.status, 200);
    assert.equal(answer.get("content-type"), "application/x-ns-proxy-autoconfig");
    assert.equal(answer.text, `// for ${door ?? host} at 127.0.0.1:12000\n`);
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
  Deno.test(`createPages() tells Host "${host}" nothing but health (F15)`, async () => {
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
      assert.equal(answer.text, "Not for this host\n");
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
  Deno.test(`createPages() refuses a request with ${field.join(": ")} (F23)`, async () => {
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

Deno.test("createPages() takes its own page as an origin", async () => {
  const fields = [localHost, withToken, ["Origin", "http://127.0.0.1:12000"], [
    "Sec-Fetch-Site",
    "same-origin",
  ]];
  assert.equal((await ask("/reload", { method: "POST", fields: fields as [string, string][] })).status, 200);
});

const tokens: { name: string; query?: string; field?: [string, string]; status: number }[] = [
  { name: "none", status: 401 },
  { name: "a wrong one", field: ["Postern-Token", "s3cret-tokem"], status: 401 },
  { name: "a longer one", field: ["Postern-Token", `${token}x`], status: 401 },
  { name: "an empty one", field: ["Postern-Token", ""], status: 401 },
  { name: "one in Postern-Token", field: ["postern-token", token], status: 200 },
  { name: "one as a bearer", field: ["Authorization", `Bearer ${token}`], status: 200 },
  { name: "one in the query", query: `&token=${token}`, status: 200 },
];
for (const { name, query = "", field, status } of tokens) {
  Deno.test(`createPages() answers ${status} to ${name} as token`, async () => {
    const fields = field ? [localHost, field] : [localHost];
    for (const path of ["/status.json?", "/connections.json?", "/metrics?", "/explain?target=web.shop.svc"]) {
      assert.equal((await ask(`${path}${query}`, { fields })).status, status, path);
    }
  });
}

Deno.test("createPages() takes no token at all when the door has an empty one", async () => {
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
  Deno.test(`createPages() says "${word}" while ${phase}`, async () => {
    for (const access of ["door", "admin", "control"] as const) {
      const source = fakePageSource({ health: () => phase });
      const alive = await ask("/healthz", { source, access, fields: [["Host", "probe.example"]] });
      assert.deepEqual([alive.status, alive.text], [healthz, `${word}\n`]);
      assert.equal((await ask("/readyz", { source, access, fields: [] })).status, readyz);
    }
  });
}

Deno.test("createPages() shows health and metrics on the admin listener, to any Host, and nothing else", async () => {
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

Deno.test("createPages() explains a target, by the port of https unless told", async () => {
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

Deno.test("createPages() shows a stranger how to use the door and no state", async () => {
  const { text } = await ask("/");
  assert.match(text, /http:\/\/127\.0\.0\.1:12000\/proxy\.pac/);
  for (const secret of [token, "web.shop", "bastion", "kubernetes", "<script"]) {
    assert.ok(!text.includes(secret), secret);
  }
});

Deno.test("createPages() shows who has the token everything, escaped, and runs its own script only", async () => {
  const answer = await ask(`/?token=${token}`);
  assert.match(answer.text, /&#60;b&#62;web\.shop\.svc&#60;\/b&#62;:443/);
  assert.match(answer.text, /kubernetes via bastion/);
  assert.match(answer.text, />1m 1s</);
  assert.match(answer.text, /5\.6 MB/);
  const policy = answer.get("content-security-policy") ?? "";
  const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1];
  assert.equal(answer.text.split(`nonce="${nonce}"`).length, 3);
  assert.equal(answer.text.match(/<(script|style|link|img|iframe)\b/g)?.length, 3);
  assert.ok(!/\b(src|on[a-z]+|style)=/.test(answer.text.replace(/<script[\s\S]*<\/script>/, "")));
  assert.doesNotMatch(policy, /unsafe/);
  const again = await ask(`/?token=${token}`);
  assert.ok(!again.text.includes(nonce ?? ""), "the nonce is new in each answer");
});

Deno.test("createPages() shows each host of a chain, and what would help", async () => {
  const hop = { since: "2026-01-01T00:00:00.000Z", channels: 4, sessions: 1, reconnects: 2 };
  const transports = [{
    name: "far",
    type: "ssh",
    state: "failing" as const,
    dials: 3,
    failures: 1,
    lastError: "Cannot sign in",
    hint: "ssh-add <KEY>",
    hops: [
      { ...hop, host: "near", address: "<near>:22", state: "ready" as const, roundTripMs: 1.25 },
      { ...hop, host: "far", address: "far:22", state: "failing" as const, lastError: "Cannot <go>" },
    ],
  }];
  const { status } = fakePageSource();
  const source = fakePageSource({ status: () => ({ ...status(), transports }) });
  const { text } = await ask(`/?token=${token}`, { source });
  for (
    const word of ["Jump hosts", "#60;near", "1.3 ms", "Cannot &#60;go", "ssh-add &#60;KEY", ">4<", ">2<"]
  ) {
    assert.ok(text.includes(word), `${word} in ${text}`);
  }
});

Deno.test("createPages() gives the part of the page that changes, to who has the token", async () => {
  assert.equal((await ask("/live")).status, 401);
  const { text } = await ask("/live", { fields: [localHost, withToken] });
  assert.match(text, /id="close-7"/);
  assert.doesNotMatch(text, /<(script|style|html)/);
  assert.ok((await ask(`/?token=${token}`)).text.includes(text));
});

Deno.test("createPages() writes a script for the page that parses", async () => {
  const { text } = await ask("/", { access: "control" });
  const script = /<script nonce="[^"]+">([\s\S]*?)<\/script>/.exec(text)?.[1] ?? "";
  assert.match(script, /Postern-Token/);
  assert.doesNotThrow(() => new Function(script));
});
