import assert from "node:assert/strict";
import "../../../src/clusters/mod.ts";
import { proxyPathFindings } from "../../../src/doctor/doctor_proxy.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();

const cases = [
  { name: "a URL", proxy: "http://192.0.2.1:3128", says: /^ok: reachable through the proxy$/ },
  {
    name: "an address without a scheme",
    proxy: "192.0.2.1:3128",
    says: /^ok: reachable through the proxy$/,
  },
  {
    name: "a user and an address",
    proxy: "me:s3cret@192.0.2.1:3128",
    says: /^ok: reachable through the proxy$/,
  },
  {
    name: "a SOCKS proxy",
    proxy: "socks5h://192.0.2.1:1080",
    says: /^skipped: HTTP_PROXY is not an HTTP proxy, the only kind that this check supports$/,
  },
  { name: "empty", proxy: "", says: /^skipped: no proxy variable applies/ },
];

for (const { name, proxy, says } of cases) {
  Deno.test(`proxyPathFindings() when HTTP_PROXY is ${name}`, async () => {
    const world = new MemoryWorld({ env: { HTTP_PROXY: proxy } });
    const { network } = world;
    await using _site = new WebServer(
      network.listen({ host: "192.0.2.2", port: 80 }),
      () => ({ status: 403 }),
    );
    await using _proxy = new WebServer(
      network.listen({ host: "192.0.2.1", port: 3128 }),
      () => ({ status: 200 }),
    );
    const found = await Array.fromAsync(proxyPathFindings(world, ["http://192.0.2.2/"], { signal }));
    assert.match(found.map(({ state, detail }) => `${state}: ${detail}`).join("\n"), says);
    assert.doesNotMatch(JSON.stringify(found), /s3cret/);
  });
}
