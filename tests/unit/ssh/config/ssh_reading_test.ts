import assert from "node:assert/strict";
import { unlessAborted } from "../../../../src/core/mod.ts";
import { Ssh } from "../../../../src/transports/ssh.ts";
import { type SshHost, SshServices } from "../../../../src/ssh/mod.ts";
import { readingOf } from "../../../../src/ssh/config/ssh_reading.ts";
import { usualSshSection } from "../../../../src/ssh/config/ssh_section.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";
import { noPrograms } from "../../../support/no_programs.ts";
import { recordingLog } from "../../../support/recording_log.ts";
import { sshHost } from "../../../support/ssh_host.ts";

/** A transport whose configuration is read when the test continues. */
function slowlyRead() {
  const clock = new FakeClock();
  const network = new MemoryNetwork();
  const readings: ((host: SshHost) => void)[] = [];
  const services = new SshServices({
    network,
    clock,
    files: new MemoryFiles({}),
    log: recordingLog(),
    reading: () => {
      const ending = new AbortController();
      const read = () => new Promise<SshHost>((resolve) => void readings.push(resolve));
      return {
        read: () => unlessAborted(read(), ending.signal),
        [Symbol.dispose]: () => ending.abort(new DOMException("Reloading", "AbortError")),
      };
    },
  }, usualSshSection);
  const dialer = () => Promise.reject(new Error("no dial expected"));
  const transport = new Ssh("jump1", { name: "jump1", network, dialer, services });
  return { clock, readings, services, transport };
}

Deno.test("readingOf() finds the included files of a Windows home", async () => {
  const files = new MemoryFiles({
    "C:/Users/me/.ssh/config": "Include hosts/*\n",
    "C:/Users/me/.ssh/hosts/jump1": "Host jump1\n  Port 2201\n",
  });
  using reading = readingOf({
    clock: new FakeClock(),
    files,
    process: {
      ...noPrograms,
      env: () => undefined,
      uid: undefined,
      account: () => Promise.resolve({ name: "me", home: "C:\\Users\\me" }),
      hostName: "desk",
    },
  })(usualSshSection);
  const { port, problems } = await reading.read("jump1", {});
  assert.deepEqual([port, problems], [2201, []]);
});

/** Longer than an unused host is kept. */
const longTime = 600_000;

for (const order of [[0, 1], [1, 0]] as const) {
  Deno.test(`of two concurrent readings the last one wins, and both are released: answered ${order.join(", ")}`, async () => {
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

Deno.test("a dial that waits for a reading gets the new one when a reload aborts the first", async () => {
  const { readings, services, transport } = slowlyRead();
  await using _services = services;
  const { signal } = new AbortController();
  const first = transport.prepare();
  const dialling = transport.dial({ host: "192.0.2.1", port: 80 }, { signal });
  services.renew(usualSshSection);
  const second = transport.prepare();
  readings[1]?.(sshHost("jump1", { port: 2202 }));
  await assert.rejects(dialling, /no dial expected/);
  assert.deepEqual([await first, await second], [[], []]);
  await transport[Symbol.asyncDispose]();
});
