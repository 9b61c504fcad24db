import assert from "node:assert/strict";
import "../../../src/clusters/mod.ts";
import { compareWithProxy } from "../../../src/egress/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();

const rows = [
  { listed: false, direct: 200, proxied: 200, problem: undefined, hint: undefined },
  { listed: true, direct: 200, proxied: 200, problem: undefined, hint: undefined },
  { listed: true, direct: 204, proxied: 502, problem: undefined, hint: undefined },
  { listed: false, direct: 500, proxied: 200, problem: undefined, hint: undefined },
  {
    listed: true,
    direct: 503,
    proxied: 200,
    problem: /lists it, but .* only through the proxy: .*answered 503/,
    hint: /remove it from/,
  },
  {
    listed: false,
    direct: 200,
    proxied: 403,
    problem: /does not list it, but .* only directly: .*answered 403/,
    hint: /add it/,
  },
  {
    listed: true,
    direct: 302,
    proxied: 404,
    problem: /lists it, but it is unreachable with and without the proxy: directly, it answered 302/,
    hint: undefined,
  },
  {
    listed: false,
    direct: 404,
    proxied: 407,
    problem:
      /does not list it, and it is unreachable with and without the proxy: through the proxy, it answered 407/,
    hint: undefined,
  },
] as const;

for (const { listed, direct, proxied, problem, hint } of rows) {
  const name = `compareWithProxy() of a host that is ${
    listed ? "" : "not "
  }listed: ${direct} directly, ${proxied} through the proxy`;
  Deno.test(name, async () => {
    const network = new MemoryNetwork();
    network.names.set("a.test", ["192.0.2.2"]).set("proxy.test", ["192.0.2.1"]);
    await using _site = new WebServer(
      network.listen({ host: "192.0.2.2", port: 80 }),
      () => ({ status: direct }),
    );
    await using _proxy = new WebServer(
      network.listen({ host: "192.0.2.1", port: 3128 }),
      () => ({ status: proxied }),
    );
    const noProxy = listed ? "a.test" : "b.test";
    const status = { httpProxy: "http://proxy.test:3128", httpsProxy: "", noProxy };
    const comparison = await compareWithProxy("http://a.test/", status, {
      parts: { clock: new FakeClock(), network },
      signal,
    });
    assert.ok(comparison);
    assert.equal(comparison.isListed, listed);
    if (problem) assert.match(comparison.problem ?? "", problem);
    else assert.equal(comparison.problem, undefined);
    if (hint) assert.match(comparison.hint ?? "", hint);
    else assert.equal(comparison.hint, undefined);
    assert.equal(network.open, 0);
  });
}

Deno.test("compareWithProxy() returns nothing when no proxy applies", async () => {
  const network = new MemoryNetwork();
  const status = { httpProxy: "http://proxy.test", httpsProxy: "", noProxy: "" };
  const parts = { clock: new FakeClock(), network };
  assert.equal(await compareWithProxy("https://a.test/", status, { parts, signal }), undefined);
  assert.equal(await compareWithProxy("a.test", status, { parts, signal }), undefined);
  assert.deepEqual(network.connects, []);
});
