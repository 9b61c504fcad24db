import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Conn, Tasks, type Transport } from "../../../src/core/mod.ts";
import type { Target } from "../../../src/words/mod.ts";
import type { Listening, Network } from "../../../src/world/mod.ts";
import { SshServices } from "../../../src/ssh/mod.ts";
import { buildTransports, type TransportsSettings } from "../../../src/transports/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { idleSshServices } from "../../support/idle_ssh_services.ts";
import { MemoryFiles } from "../../support/memory_files.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { noPrograms } from "../../support/no_programs.ts";
import { recordingLog } from "../../support/recording_log.ts";
import type { TransportSetting } from "../transport_contract.ts";

/** A network with targets, and a transport `it` in it. */
export class Surroundings {
  readonly network = new MemoryNetwork();
  readonly clock = new FakeClock();
  readonly log = recordingLog();
  readonly files: MemoryFiles;
  readonly #closing: (() => Promise<void>)[] = [];

  constructor(files: Readonly<Record<string, string>> = {}) {
    const { network } = this;
    this.files = new MemoryFiles(files);
    network.tls = (conn) => Promise.resolve(conn);
    network.names.set("web.example", ["192.0.2.7"]);
    network.names.set("silent.example", ["192.0.2.8"]);
    network.names.set("closed.example", ["192.0.2.9"]);
    network.faults.set("192.0.2.8", "silent");
  }

  /** Advances the clock a little in each turn of the event loop, until the end. */
  tick(): void {
    let isOver = false;
    const ticking = (async () => {
      while (!isOver) {
        await nextTurn();
        await this.clock.advance(2);
      }
    })();
    this.after(async () => {
      isOver = true;
      await ticking;
    });
  }

  /** Registers a cleanup that runs before the earlier ones. */
  before(close: () => Promise<void>): void {
    this.#closing.unshift(close);
  }

  /** Registers a cleanup that runs after the earlier ones. */
  after(close: () => Promise<void>): void {
    this.#closing.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close();
  }

  /** Serves each client of an address. */
  serve(endpoint: Target, serve: (conn: Conn, signal: AbortSignal) => Promise<void>): Listening {
    const listening = this.network.listen(endpoint);
    const tasks = new Tasks(undefined, (error) => assert.fail(`${error}`));
    tasks.spawn(async () => {
      for (let conn = await listening.accept(); conn; conn = await listening.accept()) {
        const client = conn;
        tasks.spawn(async (signal) => {
          signal.addEventListener("abort", () => client.abort(signal.reason), { once: true });
          await serve(client, signal).catch(() => {});
        });
      }
    });
    this.after(async () => {
      listening.close();
      await tasks[Symbol.asyncDispose]();
    });
    return listening;
  }

  /** Resolves names like a server between client and target. */
  get farSide(): Network {
    const { network } = this;
    return {
      listen: (endpoint) => network.listen(endpoint),
      inherit: (descriptor) => network.inherit(descriptor),
      datagrams: (endpoint) => network.datagrams(endpoint),
      lookup: (name, options) => network.lookup(name, options),
      addresses: () => network.addresses(),
      secure: (conn, options) => network.secure(conn, options),
      secureAsServer: (conn, options) => network.secureAsServer(conn, options),
      connect: async (endpoint, options) => {
        if ("path" in endpoint || /^[0-9]/.test(endpoint.host)) {
          return await network.connect(endpoint, options);
        }
        const [host = ""] = await network.lookup(endpoint.host, options);
        return await network.connect({ host, port: endpoint.port }, options);
      },
    };
  }

  /** The setting of a transport of the configuration. */
  build(
    settings: TransportsSettings,
    more: Partial<TransportSetting> & { ssh?: SshServices } = {},
  ): TransportSetting {
    const { network, clock, log, files } = this;
    const parts = { network, clock, log, files };
    const ssh = more.ssh ?? idleSshServices(parts);
    const { byName } = buildTransports(settings, {
      ...parts,
      process: noPrograms,
      ssh,
    });
    this.before(async () => {
      for (const { transport } of byName.values()) await transport[Symbol.asyncDispose]();
      await ssh[Symbol.asyncDispose]();
    });
    const { transport } = byName.get("it") ?? byName.get("direct") ?? assert.fail("no transport");
    return this.around(transport, more);
  }

  /** The setting of an existing transport. */
  around(transport: Transport, more: Partial<TransportSetting> = {}): TransportSetting {
    const { network } = this;
    const target = network.listen({ host: "192.0.2.7", port: 7 });
    const before = network.connects.length;
    this.before(async () => await transport[Symbol.asyncDispose]());
    this.before(() => Promise.resolve(target.close()));
    return {
      transport,
      targets: {
        address: { host: "192.0.2.7", port: 7 },
        name: { host: "web.example", port: 7 },
        refusing: { host: "closed.example", port: 1 },
        unknown: { host: "nowhere.example", port: 1 },
        silent: { host: "silent.example", port: 1 },
      },
      accept: async () => await target.accept() ?? assert.fail("closed"),
      touched: () => network.connects.length - before + network.lookups.length,
      open: () => network.open,
      dialing: async () => {
        while (!network.connects.includes("192.0.2.8:1")) await nextTurn();
      },
      cut: () => assert.fail("there is no server to cut"),
      close: () => this.close(),
      ...more,
    };
  }
}
