import assert from "node:assert/strict";
import { Ssh } from "../../../../src/transports/ssh.ts";
import type { SshHost } from "../../../../src/transports/ssh/ssh_host.ts";
import { usualSshSection } from "../../../../src/transports/ssh/ssh_section.ts";
import { SshServices } from "../../../../src/transports/ssh/ssh_services.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";
import { recordingLog } from "../../../support/recording_log.ts";
import { sshHost } from "../../../support/ssh_host.ts";

/** A transport whose configuration is read when the test says so. */
function slowlyRead() {
  const clock = new FakeClock();
  const network = new MemoryNetwork();
  const readings: ((host: SshHost) => void)[] = [];
  const services = new SshServices({
    network,
    clock,
    files: new MemoryFiles({}),
    log: recordingLog(),
    reading: () => ({
      read: () => new Promise<SshHost>((resolve) => void readings.push(resolve)),
      [Symbol.dispose]() {},
    }),
  }, usualSshSection);
  const dialer = () => Promise.reject(new Error("nobody dials"));
  const transport = new Ssh("jump1", { name: "jump1", network, dialer, services });
  return { clock, readings, services, transport };
}

/** Longer than a host is kept that nobody holds. */
const longTime = 600_000;

for (const order of [[0, 1], [1, 0]] as const) {
  Deno.test(`of two readings at once the last one counts, and none is held for ever: answered ${order.join(", ")}`, async () => {
    const { clock, readings, services, transport } = slowlyRead();
    await using _services = services;
    const prepared = [transport.prepare(), transport.prepare()];
    for (const at of order) readings[at]?.(sshHost("jump1", { port: 2201 + at }));
    assert.deepEqual((await Promise.all(prepared)).flat(), []);
    assert.deepEqual(transport.status().hops.map(({ address }) => address), ["127.0.0.1:2202"]);
    await transport[Symbol.asyncDispose]();
    await clock.advance(longTime);
    assert.deepEqual(services.pool.hops, []);
  });
}
