import assert from "node:assert/strict";
import "../../../src/clusters/mod.ts";
import { proxyPathFindings } from "../../../src/doctor/doctor_proxy.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();

const cases = [
  { name: "a URL", proxy: "http://192.0.2.1:3128", says: /^ok: it is reached through the proxy$/ },
  {
    name: "a place without a scheme",
    proxy: "192.0.2.1:3128",
    says: /^ok: it is reached through the proxy$/,
  },
  {
    name: "a user and a place",
    proxy: "me:s3cret@192.0.2.1:3128",
    says: /^ok: it is reached through the proxy$/,
  },
  {
    name: "a door that speaks SOCKS",
    proxy: "socks5h://192.0.2.1:1080",
    says: /^skipped: HTTP_PROXY names no HTTP proxy, and only such a one is asked$/,
  },
  { name: "nothing", proxy: "", says: /^skipped: no proxy variable is set for it/ },
];

for (const { name, proxy, says } of cases) {
  Deno.test(`proxyPathFindings() where HTTP_PROXY is ${name}`, async () => {
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
