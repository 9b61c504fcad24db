import assert from "node:assert/strict";
import { checkProxyUrl, type ProxyField } from "../../../src/egress/check_proxy_url.ts";

const accepted: readonly (readonly [url: string, host: string, port: number, field?: ProxyField])[] = [
  ["http://p", "p", 80],
  ["HTTP://P:3128", "P", 3128],
  ["http://u:pw@p:3128/path?q=1", "p", 3128],
  ["http://[2001:db8::1]:3128", "2001:db8::1", 3128],
  ["https://p", "p", 443, "httpsProxy"],
  ["http://p:", "p", 80],
  ["http://p:65535", "p", 65535],
  ["http://u:p@ss@p:1", "p", 1],
  ["http://u:p%23ss@p:1", "p", 1],
];
for (const [url, host, port, field = "httpProxy"] of accepted) {
  Deno.test(`checkProxyUrl() accepts ${url} as ${field}`, () => {
    const checked = checkProxyUrl(url, field);
    assert.ok("place" in checked, JSON.stringify(checked));
    assert.deepEqual([checked.place.host, checked.place.port], [host, port]);
  });
}

const refused: readonly (readonly [url: string, reason: string, field?: ProxyField])[] = [
  ["https://p", "SchemeNotAllowed"],
  ["p:3128", "SchemeNotAllowed"],
  ["p", "UrlMalformed"],
  ["1.2.3.4:3128", "UrlMalformed"],
  ["http//p", "UrlMalformed"],
  [" http://p", "UrlMalformed"],
  ["/p", "SchemeNotAllowed"],
  ["http://", "HostMissing"],
  ["http:///x", "HostMissing"],
  ["http:p:3128", "HostMissing"],
  ["http://p:0", "PortOutOfRange"],
  ["http://p:65536", "PortOutOfRange"],
  ["http://p:abc", "UrlMalformed"],
  ["http://u:p#w@p:1", "UrlMalformed"],
  ["http://u:p/w@p:1", "UrlMalformed"],
  ["http://u:p%zz@p:1", "UrlMalformed"],
  ["http://2001:db8::1:3128", "UrlMalformed"],
  ["http://p ", "UrlMalformed"],
  ["http://bad%20uri", "UrlMalformed"],
  ["socks5://p:1080", "SchemeNotAllowed", "httpsProxy"],
  ["ftp://p", "SchemeNotAllowed", "httpsProxy"],
];
for (const [url, reason, field = "httpProxy"] of refused) {
  Deno.test(`checkProxyUrl() rejects ${JSON.stringify(url)} as ${field}: ${reason}`, () => {
    const checked = checkProxyUrl(url, field);
    assert.ok("problem" in checked, JSON.stringify(checked));
    assert.equal(checked.problem.reason, reason);
    assert.deepEqual(checked.problem.path, ["spec", field]);
  });
}

Deno.test("checkProxyUrl() splits and decodes user and password", () => {
  const checked = checkProxyUrl("http://me:p%23%40s:s@p:1", "httpProxy");
  assert.ok("place" in checked);
  assert.deepEqual(checked.place.credentials, { user: "me", password: "p#@s:s" });
});

Deno.test("checkProxyUrl() warns about a colon without a port", () => {
  const checked = checkProxyUrl("http://p:", "httpProxy");
  assert.ok("place" in checked);
  assert.deepEqual(checked.warnings.map(({ reason }) => reason), ["ClientsDisagree"]);
});

for (
  const url of ["http://me:hunter2", "me:hunter2@p:1", "http://me:hunter2@p:99999", "http://me:hun#ter2@p"]
) {
  Deno.test(`checkProxyUrl() does not quote the password of ${url.replace(/hunter2|hun#ter2/, "…")}`, () => {
    assert.doesNotMatch(JSON.stringify(checkProxyUrl(url, "httpProxy")), /hun/);
  });
}
