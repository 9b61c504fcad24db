import assert from "node:assert/strict";
import { testEndpoint } from "../../../../src/fleet/fleet_tests/endpoint_tests.ts";
import type { ClusterEndpoint } from "../../../../src/clusters/mod.ts";
import type { Dialer } from "../../../../src/world/mod.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";
import { WebServer } from "../../../support/web_server.ts";

const { signal } = new AbortController();
const known = {
  name: "c-a",
  catalogue: { name: "main", source: "", fetched: "", clusters: [] },
  cluster: { id: "c-a", displayName: "A", facts: {}, dynamicFacts: {} },
};
const url = new URL("https://api.c-a.example.net:6443");

const cases: readonly {
  readonly name: string;
  readonly endpoint: ClusterEndpoint;
  readonly trusts: string | undefined;
}[] = [
  {
    name: "the authority from the first use of an API server",
    endpoint: { kind: "api", url },
    trusts: "believed",
  },
  {
    name: "the authority from the facts before that",
    endpoint: { kind: "api", url, ca: "of the facts" },
    trusts: "of the facts",
  },
  {
    name: "the system for endpoints other than the API server",
    endpoint: { kind: "console", url },
    trusts: undefined,
  },
];

for (const { name, endpoint, trusts } of cases) {
  Deno.test(`testEndpoint() trusts ${name}`, async () => {
    const world = new MemoryWorld({ files: { "/state/first-use/api.c-a.example.net_6443.pem": "believed" } });
    world.network.tls = (conn) => Promise.resolve(conn);
    await using server = new WebServer(
      world.network.listen({ host: "127.0.0.1", port: 0 }),
      () => ({ status: 403 }),
    );
    const dial: Dialer = (_target, options) =>
      world.network.connect({ host: "127.0.0.1", port: server.port }, options);
    const { outcome } = await testEndpoint(world, { known, endpoint }, { dial, limit: 1000, signal });
    assert.equal(outcome, "ok");
    assert.deepEqual(world.network.secured.map(({ ca }) => ca), [trusts]);
  });
}
