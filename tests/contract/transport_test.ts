import assert from "node:assert/strict";
import { Tasks } from "../../src/core/mod.ts";
import { buildTransports } from "../../src/transports/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { readAll } from "../support/memory_conn.ts";
import { idleSshServices } from "../support/idle_ssh_services.ts";
import { MemoryFiles } from "../support/memory_files.ts";
import { noPrograms } from "../support/no_programs.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { ProxyServer } from "../support/proxy_server.ts";
import { recordingLog } from "../support/recording_log.ts";
import { transportContract } from "./transport_contract.ts";
import { transportsTried } from "./transport_kinds.ts";
import { proxySetting, upstream } from "./transports/proxies.ts";

const { signal } = new AbortController();

for (const tried of transportsTried) transportContract(tried);

Deno.test("reject refuses with its configured sentence", async () => {
  const reject = transportsTried.find(({ kind }) => kind === "reject") ?? assert.fail("reject is not tested");
  const { transport, targets, close } = await reject.open();
  await assert.rejects(transport.dial(targets.address, { signal }), {
    code: "not_allowed",
    message: "Not from this machine",
  });
  await close();
});

for (const protocol of ["http", "socks5"] as const) {
  Deno.test(`proxy (${protocol}) keeps 200 early bytes after the answer`, async () => {
    const early = patternBytes(200);
    const { transport, targets, accept, close } = proxySetting({ it: upstream(0, protocol) }, [
      { protocol, early },
    ]);
    await using near = await transport.dial(targets.address, { signal });
    await using far = await accept();
    await far.write(patternBytes(100, 2));
    await far.closeWrite();
    const seen = await readAll(near);
    assert.deepEqual(seen.subarray(0, 200), early);
    assert.deepEqual(seen.subarray(200), patternBytes(100, 2));
    await near[Symbol.asyncDispose]();
    await far[Symbol.asyncDispose]();
    await close();
  });
}

Deno.test("direct and proxies carry a megabyte each way over real sockets", async () => {
  const network = createNetwork();
  const loopback = { host: "127.0.0.1", port: 0 };
  await using listening = network.listen(loopback);
  const target = "port" in listening.endpoint ? listening.endpoint : assert.fail("no port");
  const up = patternBytes(1 << 20, 1);
  const down = patternBytes(1 << 20, 2);
  for (const protocol of ["http", "socks5", undefined] as const) {
    await using tasks = new Tasks(undefined, (error) => assert.fail(String(error)));
    await using proxy = protocol && new ProxyServer(network, loopback, { protocol });
    const parts = { network, clock: new FakeClock(), log: recordingLog(), files: new MemoryFiles() };
    const { byName } = buildTransports(
      proxy ? { it: { kind: "proxy", settings: { scheme: protocol, ...proxy.endpoint } } } : {},
      { ...parts, process: noPrograms, ssh: idleSshServices(parts) },
    );
    const transport = byName.get(protocol ? "it" : "direct")?.transport ?? assert.fail("no transport");
    tasks.spawn(async () => {
      await using far = await listening.accept() ?? assert.fail("closed");
      const [seen] = await Promise.all([readAll(far), far.write(down).then(() => far.closeWrite())]);
      assert.deepEqual(seen, up);
    });
    await using near = await transport.dial(target, { signal });
    const [seen] = await Promise.all([readAll(near), near.write(up).then(() => near.closeWrite())]);
    assert.deepEqual(seen, down);
    await tasks.idle();
  }
});
