import assert from "node:assert/strict";
import { checkProxyUrl, type ProxyField } from "../../../src/egress/check_proxy_url.ts";

const accepted:
  readonly (readonly [id: string, url: string, host: string, port: number, field?: ProxyField])[] = [
    ["U01", "http://p", "p", 80],
    ["U01", "HTTP://P:3128", "P", 3128],
    ["U01", "http://u:pw@p:3128/path?q=1", "p", 3128],
    ["U01", "http://[2001:db8::1]:3128", "2001:db8::1", 3128],
    ["U02", "https://p", "p", 443, "httpsProxy"],
    ["U06", "http://p:", "p", 80],
    ["U07", "http://p:65535", "p", 65535],
    ["U08", "http://u:p@ss@p:1", "p", 1],
    ["U08", "http://u:p%23ss@p:1", "p", 1],
  ];
for (const [id, url, host, port, field = "httpProxy"] of accepted) {
  Deno.test(`${id}: checkProxyUrl() accepts ${url} as ${field}`, () => {
    const checked = checkProxyUrl(url, field);
    assert.ok("place" in checked, JSON.stringify(checked));
    assert.deepEqual([checked.place.host, checked.place.port], [host, port]);
  });
}

const refused: readonly (readonly [id: string, url: string, reason: string, field?: ProxyField])[] = [
  ["U02, S03", "https://p", "SchemeNotAllowed"],
  ["U03", "p:3128", "SchemeNotAllowed"],
  ["U04", "p", "UrlMalformed"],
  ["U04", "1.2.3.4:3128", "UrlMalformed"],
  ["U04", "http//p", "UrlMalformed"],
  ["U04", " http://p", "UrlMalformed"],
  ["U05", "/p", "SchemeNotAllowed"],
  ["U06, S11", "http://", "HostMissing"],
  ["U06", "http:///x", "HostMissing"],
  ["U06", "http:p:3128", "HostMissing"],
  ["U07", "http://p:0", "PortOutOfRange"],
  ["U07", "http://p:65536", "PortOutOfRange"],
  ["U07", "http://p:abc", "UrlMalformed"],
  ["U08", "http://u:p#w@p:1", "UrlMalformed"],
  ["U08", "http://u:p/w@p:1", "UrlMalformed"],
  ["U08", "http://u:p%zz@p:1", "UrlMalformed"],
  ["U09", "http://2001:db8::1:3128", "UrlMalformed"],
  ["U10", "http://p ", "UrlMalformed"],
  ["U10", "http://bad%20uri", "UrlMalformed"],
  ["U02", "socks5://p:1080", "SchemeNotAllowed", "httpsProxy"],
  ["U02", "ftp://p", "SchemeNotAllowed", "httpsProxy"],
];
for (const [id, url, reason, field = "httpProxy"] of refused) {
  Deno.test(`${id}: checkProxyUrl() refuses ${JSON.stringify(url)} as ${field}: ${reason}`, () => {
    const checked = checkProxyUrl(url, field);
    assert.ok("problem" in checked, JSON.stringify(checked));
    assert.equal(checked.problem.reason, reason);
    assert.deepEqual(checked.problem.path, ["spec", field]);
  });
}

Deno.test("checkProxyUrl() takes user and password apart and decodes them", () => {
  const checked = checkProxyUrl("http://me:p%23%40s:s@p:1", "httpProxy");
  assert.ok("place" in checked);
  assert.deepEqual(checked.place.credentials, { user: "me", password: "p#@s:s" });
});

Deno.test("U06: checkProxyUrl() warns of a colon without a port", () => {
  const checked = checkProxyUrl("http://p:", "httpProxy");
  assert.ok("place" in checked);
  assert.deepEqual(checked.warnings.map(({ reason }) => reason), ["ClientsDisagree"]);
});

for (
  const url of ["http://me:hunter2", "me:hunter2@p:1", "http://me:hunter2@p:99999", "http://me:hun#ter2@p"]
) {
  Deno.test(`S32: checkProxyUrl() quotes no password of ${url.replace(/hunter2|hun#ter2/, "…")}`, () => {
    assert.doesNotMatch(JSON.stringify(checkProxyUrl(url, "httpProxy")), /hun/);
  });
}
