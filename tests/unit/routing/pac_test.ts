import assert from "node:assert/strict";
import { PosternError } from "../../../src/words/mod.ts";
import { pacFile, Router } from "../../../src/routing/mod.ts";
import { rulesOf } from "../../support/rules.ts";

const listener = "127.0.0.1:12000";

/** Runs a PAC file without the functions of the sandbox: a call of one throws. */
function evaluate(text: string): (url: string, host: string) => string {
  return new Function(`${text}\nreturn FindProxyForURL;`)() as (url: string, host: string) => string;
}

function ask(router: Router, url: string): string {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
  return evaluate(pacFile(router, { listener }))(url, host);
}

const router = new Router({
  rules: rulesOf([
    "routes: cluster.test > lab",
    "direct: public.cluster.test > direct",
    "routes: db.test:5432 > lab",
    "routes: .below.test > lab",
    "routes: =only.test > lab",
    "routes: 10.20.0.0/16 > lab",
    "routes: [2001:db8::/32]:443 > lab",
    "routes: <services> > lab",
    "routes: <clusterips> > lab",
    "routes: constructor > lab",
    "catalogue: example.net > one [c1]",
    "catalogue: d.apps.example.net > two [c2]",
    "own: apps.example.net > direct [c1]",
  ]),
  tables: new Map([["lab", {
    services: new Set(["web", "web.shop", 'ev"il\nname', "</script>", "\u2028"]),
    addresses: new Set(["10.96.0.1", "fd00::1", "not an address"]),
  }]]),
});

const verdicts: Record<string, "postern" | "DIRECT"> = {
  "http://a.cluster.test/": "postern",
  "http://cluster.test./": "postern",
  "http://CLUSTER.test/": "postern",
  "http://notcluster.test/": "DIRECT",
  "http://x.public.cluster.test/": "DIRECT",
  "http://cluster.test.evil.test/": "DIRECT",
  "http://db.test/": "DIRECT",
  "http://db.test:5432/": "postern",
  "http://below.test/": "DIRECT",
  "http://x.below.test/": "postern",
  "http://only.test/": "postern",
  "http://x.only.test/": "DIRECT",
  "http://10.20.255.1/": "postern",
  "http://10.21.0.1/": "DIRECT",
  "https://[2001:db8::5]/": "postern",
  "wss://[2001:db8::5]/": "postern",
  "http://[2001:db8::5]/": "DIRECT",
  "http://[2001:db8::5]:443/": "postern",
  "http://[::ffff:10.20.0.1]/": "postern",
  "http://web/": "postern",
  "http://web.shop/": "postern",
  "http://x.web.shop/": "DIRECT",
  "http://10.96.0.1/": "postern",
  "http://[fd00::1]/": "postern",
  "http://x.constructor/": "postern",
  "http://tostring/": "DIRECT",
  "http://__proto__/": "DIRECT",
  "http://a.example.net/": "postern",
  "http://a.apps.example.net/": "DIRECT",
  "http://a.d.apps.example.net/": "postern",
  "http://other.test/?x=http://cluster.test/": "DIRECT",
  "http://other.test/@cluster.test/": "DIRECT",
  "http://cluster.test:80@other.test/": "DIRECT",
  "http://localhost/": "DIRECT",
  "http://127.0.0.1:12000/": "DIRECT",
  "ftp://a.cluster.test/": "postern",
};

for (const [url, verdict] of Object.entries(verdicts)) {
  Deno.test(`pacFile() sends ${url} ${verdict === "postern" ? "to postern" : "direct"}`, () => {
    assert.equal(ask(router, url), verdict === "postern" ? `SOCKS5 ${listener}` : "DIRECT");
  });
}

const rest = new Router({
  rules: rulesOf(["direct: corp.test > direct", "routes: =app.localhost > lab"]),
  fallback: "corp",
});
const restVerdicts: Record<string, "postern" | "DIRECT"> = {
  "http://x.test/": "postern",
  "http://1.2.3.4/": "postern",
  "http://corp.test/": "DIRECT",
  "http://localhost:3000/": "DIRECT",
  "http://a.localhost/": "DIRECT",
  "http://app.localhost/": "postern",
  "http://127.5.5.5/": "DIRECT",
  "http://[::1]/": "DIRECT",
  "http://[::ffff:127.0.0.1]/": "DIRECT",
  "http://0.0.0.0/": "DIRECT",
  "http://0/": "DIRECT",
  "http://[::]/": "DIRECT",
};
for (const [url, verdict] of Object.entries(restVerdicts)) {
  Deno.test(`pacFile() with another default sends ${url} ${verdict === "postern" ? "to postern" : "direct"}`, () => {
    assert.equal(ask(rest, url), verdict === "postern" ? `SOCKS5 ${listener}` : "DIRECT");
  });
}

Deno.test("pacFile() treats unspecified addresses like loopback, also for rejection", () => {
  const rejecting = new Router({ rules: rulesOf(["routes: 127.0.0.0/8 > reject", "routes: ::1 > direct"]) });
  const routed = new Router({ rules: rulesOf(["routes: 127.0.0.0/8 > lab"]) });
  for (const url of ["http://0.0.0.0/", "http://[::ffff:0:0]/", "http://[::]/"]) {
    assert.equal(ask(rejecting, url), `SOCKS5 ${listener}`, url);
    assert.equal(ask(routed, url), url.includes("[::]") ? "DIRECT" : `SOCKS5 ${listener}`, url);
  }
});

Deno.test("pacFile() does not apply any to this machine", () => {
  const sweeping = new Router({ rules: rulesOf(["routes: any > corp", "routes: <local> > lab"]) });
  assert.equal(ask(sweeping, "http://localhost/"), "DIRECT");
  assert.equal(ask(sweeping, "http://printer/"), `SOCKS5 ${listener}`);
});

Deno.test("pacFile() uses only the HTTP proxy when the listener has a password", () => {
  const text = pacFile(router, { listener: "[::1]:12000", hasAuth: true });
  assert.equal(evaluate(text)("http://cluster.test/", "cluster.test"), "PROXY [::1]:12000");
});

Deno.test("pacFile() uses the HTTP proxy when the listener accepts no SOCKS", () => {
  const text = pacFile(router, { listener, isHttpOnly: true });
  assert.equal(evaluate(text)("http://cluster.test/", "cluster.test"), `PROXY ${listener}`);
});

Deno.test("pacFile() uses no sandbox function and only ES5 syntax", () => {
  const text = pacFile(router, { listener });
  assert.doesNotMatch(text, /dnsResolve|isResolvable|isInNet|myIpAddress|dnsDomain|shExpMatch|alert/);
  assert.doesNotMatch(text, /=>|`|\b(?:let|const|class|of)\s|\.\.\./);
});

Deno.test("pacFile() escapes everything", () => {
  const text = pacFile(router, { listener });
  assert.doesNotMatch(text, /[^\n\x20-\x7e]/);
  assert.doesNotMatch(text, /<\/?script/i);
  assert.doesNotThrow(() => evaluate(text));
});

for (const wrong of ["127.0.0.1:1;DIRECT:80", 'a"b:80', "a b:80", "127.0.0.1", "x\n:80"]) {
  Deno.test(`pacFile() rejects ${JSON.stringify(wrong)} as a listener`, () => {
    assert.throws(
      () => pacFile(router, { listener: wrong }),
      (error) => error instanceof PosternError && error.code === "usage",
    );
  });
}

/** Chromium rejects a longer PAC file. */
const longestPacFile = 1024 * 1024;

Deno.test("pacFile() fits 30,000 names into Chromium's limit", () => {
  const lines = Array.from({ length: 30_000 }, (_, n) => `catalogue: apps.c-${n}.example.net > jump`);
  const text = pacFile(new Router({ rules: rulesOf(lines) }), { listener });
  assert.ok(text.length < longestPacFile, `${text.length} characters`);
  assert.equal(
    evaluate(text)("https://x.apps.c-29999.example.net/", "x.apps.c-29999.example.net"),
    `SOCKS5 ${listener}`,
  );
});

Deno.test("pacFile() uses the first of two equal rules, as the router does", () => {
  const equal = new Router({
    rules: rulesOf(["routes: other.test > direct", "routes: a.test > lab", "routes: a.test > direct"]),
  });
  assert.equal(ask(equal, "http://a.test/"), `SOCKS5 ${listener}`);
});
