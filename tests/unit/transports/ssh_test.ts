import assert from "node:assert/strict";
import type { Network } from "../../../src/world/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { buildTransports } from "../../../src/transports/mod.ts";
import { type SshHost, SshServices } from "../../../src/ssh/mod.ts";
// Loads the modules of a first sign-in now; otherwise a test could end while they load.
import "../../../src/ssh/session/open_ssh_session.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryFiles } from "../../support/memory_files.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { noPrograms } from "../../support/no_programs.ts";
import { recordingLog } from "../../support/recording_log.ts";
import { sshHost } from "../../support/ssh_host.ts";

const { signal } = new AbortController();
const target = { host: "192.0.2.1", port: 80 };

/** The transport `far` to a host, with the connections made and the commands run for it. */
function farBehind(via: "near" | "direct", more: Partial<SshHost>) {
  const network = new MemoryNetwork();
  const from: (string | undefined)[] = [];
  network.connect = (_, options: Parameters<Network["connect"]>[1]) => {
    from.push(options.from);
    return Promise.reject(new PosternError("refused", "Cannot reach it: connection refused"));
  };
  const ran: string[] = [];
  const parts = { network, clock: new FakeClock(), log: recordingLog(), files: new MemoryFiles() };
  const services = new SshServices({
    ...parts,
    reading: () => ({ read: (alias) => Promise.resolve(sshHost(alias, more)), [Symbol.dispose]() {} }),
    runCommand: (command) => {
      ran.push(command);
      return Promise.reject(new PosternError("unreachable", "Cannot use the ProxyCommand"));
    },
  });
  const { byName } = buildTransports({
    near: { kind: "proxy", settings: { scheme: "http", host: "192.0.2.9", port: 3128 } },
    far: { kind: "ssh", settings: "far", via },
  }, { ...parts, process: noPrograms, ssh: services });
  const far = byName.get("far")?.transport ?? assert.fail("no such transport");
  return {
    far,
    from,
    ran,
    async [Symbol.asyncDispose]() {
      await far[Symbol.asyncDispose]();
      await services[Symbol.asyncDispose]();
    },
  };
}

Deno.test("Ssh rejects a ProxyCommand together with via", async () => {
  await using all = farBehind("near", { proxyCommand: "nc far.example 22" });
  await assert.rejects(all.far.dial(target, { signal }), {
    code: "config",
    message: 'Cannot use ssh far: its ProxyCommand cannot go via the transport "near"',
  });
  const [note] = await all.far.prepare?.() ?? [];
  assert.equal(note?.severity, "blocking");
  assert.equal(all.far.status?.().state, "unusable");
  assert.deepEqual([all.ran, all.from], [[], []]);
});

Deno.test("Ssh runs a ProxyCommand with via direct", async () => {
  await using all = farBehind("direct", { proxyCommand: "nc far.example 22" });
  await assert.rejects(all.far.dial(target, { signal }), { code: "unreachable" });
  assert.deepEqual(all.ran, ["nc far.example 22"]);
});

Deno.test("Ssh connects from the BindAddress with via direct too", async () => {
  await using all = farBehind("direct", { bindAddress: "127.0.0.9" });
  await assert.rejects(all.far.dial(target, { signal }), { code: "unreachable" });
  assert.deepEqual(all.from, ["127.0.0.9"]);
});
