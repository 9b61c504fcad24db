import assert from "node:assert/strict";
import { listenAnywhere } from "../../src/instance/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";

const { signal } = new AbortController();

Deno.test("listenAnywhere() accepts clients of each address family and reports their addresses", async () => {
  const network = createNetwork();
  await using listening = listenAnywhere(network, { host: "", port: 0 });
  const { endpoint } = listening;
  assert.ok("port" in endpoint);
  const hosts = endpoint.host === "::" ? ["127.0.0.1", "::1"] : ["127.0.0.1"];
  for (const host of hosts) {
    await using client = await network.connect({ host, port: endpoint.port }, { signal });
    await using server = await listening.accept();
    assert.equal(server?.peer, client.local);
    assert.equal(server?.local, client.peer);
  }
});
