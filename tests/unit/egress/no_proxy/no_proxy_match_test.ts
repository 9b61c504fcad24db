import assert from "node:assert/strict";
import { goNoProxy, noProxyVerdicts } from "../../../../src/egress/mod.ts";
import { requestOrigin } from "../../../../src/egress/no_proxy/request_origin.ts";
import { noProxyTable } from "../../../support/no_proxy_table.ts";

for (const { list, url, verdicts, newerCurl } of noProxyTable) {
  Deno.test(`noProxyVerdicts() of ${url} with ${JSON.stringify(list)}`, () => {
    const [go, curl, deno, urllib, requests] = [...verdicts].map(verdict);
    assert.deepEqual(noProxyVerdicts(list, url), {
      "go": go,
      "curl 7.88": curl,
      "curl 8": newerCurl ? verdict(newerCurl) : curl,
      deno,
      urllib,
      requests,
    });
  });
}

const onlyGo = [
  { list: "example.test:443", url: "https://example.test/", isDirect: true },
  { list: "example.test:443", url: "http://example.test/", isDirect: false },
  { list: "[2001:db8::1]:80", url: "http://[2001:db8::1]/", isDirect: true },
  { list: "bücher.test", url: "http://xn--bcher-kva.test/", isDirect: true },
  { list: "xn--bcher-kva.test", url: "http://bücher.test/", isDirect: true },
  { list: "a.test,:80,[,a:b:c,.", url: "http://b.test/", isDirect: false },
  { list: "", url: "http://LOCALHOST/", isDirect: false },
  { list: "bücher.test", url: "http://b%C3%BCcher.test/", isDirect: true },
  { list: "fe80::/10", url: "http://[fe80::1%25eth0]/", isDirect: true },
  { list: "[fe80::1]:80", url: "http://[fe80::1%25eth0]/", isDirect: true },
  { list: "a.test", url: "http://[::1%25lo]/", isDirect: true },
  { list: "a.test", url: "http://[fe80::1%25b.a.test]/", isDirect: false },
];
for (const { list, url, isDirect } of onlyGo) {
  Deno.test(`goNoProxy() of ${url} with ${JSON.stringify(list)}`, () => {
    const target = requestOrigin(url);
    assert.ok(target);
    assert.equal(goNoProxy(list)(target), isDirect);
  });
}

for (const url of ["", "example.test", "http://", "http:///x", "http://a b/", "mailto:me@example.test"]) {
  Deno.test(`noProxyVerdicts() returns nothing for ${JSON.stringify(url)}`, () => {
    assert.equal(noProxyVerdicts("a", url), undefined);
  });
}

Deno.test("goNoProxy() looks a host up in 10,000 items", () => {
  const isDirect = goNoProxy(Array.from({ length: 10_000 }, (_, index) => `h${index}.test`).join(","));
  const target = requestOrigin("http://x.h9999.test/");
  assert.ok(target && isDirect(target));
});

function verdict(letter: string): "direct" | "proxy" {
  return letter === "D" ? "direct" : "proxy";
}
