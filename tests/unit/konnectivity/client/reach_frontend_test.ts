import assert from "node:assert/strict";
import { FrontendReach } from "../../../../src/konnectivity/client/reach_frontend.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";

const { signal } = new AbortController();

const settings = {
  mode: "grpc",
  server: { target: { host: "192.0.2.1", port: 8090 } },
  ca: "/ca.crt",
  cert: "/tls.crt",
  key: "/tls.key",
} as const;

function lab(
  files: MemoryFiles,
): { network: MemoryNetwork; reach: FrontendReach; connect: () => Promise<void> } {
  const network = new MemoryNetwork();
  network.tls = (conn) => Promise.resolve(conn);
  network.listen({ host: "192.0.2.1", port: 8090 });
  const reach = new FrontendReach(settings, {
    network,
    files,
    dialer: (target, options) => network.connect(target, options),
  });
  const connect = async () => (await reach.connect([], { signal })).abort();
  return { network, reach, connect };
}

Deno.test("FrontendReach trusts only the configured CA", async () => {
  const { network, connect } = lab(
    new MemoryFiles({ "/ca.crt": "ca", "/tls.crt": "one", "/tls.key": "one" }),
  );
  await connect();
  assert.deepEqual(network.secured, [
    { serverName: "192.0.2.1", ca: "ca", cert: "one", key: "one", trust: "ca" },
  ]);
});

Deno.test("FrontendReach never pairs a certificate with another key while a secret is replaced", async () => {
  /** Replaces the secret during the reads of one connection. */
  class Swapped extends MemoryFiles {
    isSwapping = false;

    override async readText(path: string, options?: { limit?: number }): Promise<string> {
      const text = await super.readText(path, options);
      if (this.isSwapping && path === "/tls.crt") {
        this.isSwapping = false;
        this.swap("three");
      }
      return text;
    }

    swap(which: string): void {
      for (const path of ["/tls.crt", "/tls.key"]) this.put(path, which);
    }
  }
  const files = new Swapped({ "/ca.crt": "ca", "/tls.crt": "one", "/tls.key": "one" });
  const { network, reach, connect } = lab(files);
  await connect();
  const before = await reach.certificates();
  files.swap("two");
  files.isSwapping = true;
  await connect();
  assert.deepEqual(network.secured.map(({ cert, key }) => `${cert}/${key}`), ["one/one", "three/three"]);
  assert.notEqual(await reach.certificates(), before);
});
