import assert from "node:assert/strict";
import { proxyOfUrl, type ProxySettings } from "../../../src/http/proxy_url.ts";

const cases: readonly { url: string; is: ProxySettings | undefined }[] = [
  { url: "http://proxy.example", is: { scheme: "http", host: "proxy.example", port: 80 } },
  { url: "https://proxy.example/", is: { scheme: "https", host: "proxy.example", port: 443 } },
  { url: "socks5://10.0.0.1:9050", is: { scheme: "socks5", host: "10.0.0.1", port: 9050 } },
  { url: "socks5h://[2001:db8::1]", is: { scheme: "socks5", host: "2001:db8::1", port: 1080 } },
  {
    url: "http://me:s%20cret@proxy.example:3128",
    is: { scheme: "http", host: "proxy.example", port: 3128, user: "me", password: "s cret" },
  },
  { url: "http://me@proxy.example", is: undefined },
  { url: "http://me:50%@proxy.example", is: undefined },
  { url: "http://proxy.example/path", is: undefined },
  { url: "http:///proxy.example", is: undefined },
  { url: "ftp://proxy.example", is: undefined },
  { url: "proxy.example:3128", is: undefined },
];
for (const { url, is } of cases) {
  Deno.test(`proxyOfUrl() ${is ? "reads" : "rejects"} ${url}`, () => {
    assert.deepEqual(proxyOfUrl(url), is);
  });
}
