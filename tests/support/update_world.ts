import type { ConfigSource } from "../../src/plan/mod.ts";
import { importKharon, updateCatalogues, type UpdateReport } from "../../src/fleet/mod.ts";
import type { UpdateOptions } from "../../src/fleet/catalogue/update_catalogues.ts";
import type { World } from "../../src/world/mod.ts";
import { FakeLieutenant } from "./fake_lieutenant.ts";
import type { MemoryWorldOptions } from "./memory_world.ts";
import { SignInWorld } from "./sign_in_world.ts";

/** A user's machine, a provider and a Lieutenant API on port 8080, all in memory. */
export class UpdateWorld implements AsyncDisposable {
  readonly signIn: SignInWorld;
  readonly lieutenant: FakeLieutenant;
  readonly world: World;

  constructor(options: MemoryWorldOptions = {}) {
    this.signIn = new SignInWorld(options);
    const { memory, world: { process }, server: { discoveryUrl } } = this.signIn;
    const { clock, network, files, stores, terminal, places } = memory;
    this.world = {
      clock,
      network,
      files,
      stores,
      terminal,
      places,
      process: { ...memory.process, ...process },
    };
    const listen = network.listen.bind(network);
    this.lieutenant = new FakeLieutenant({ listen }, { discoveryUrl, port: 8080 });
  }

  update(options: Partial<UpdateOptions> = {}, source: ConfigSource = {}): Promise<UpdateReport> {
    const { log, parts: { say } } = this.signIn;
    const { signal } = new AbortController();
    return updateCatalogues(this.world, source, { log, signal, ...(say && { say }), ...options });
  }

  importKharon(options: { isDryRun?: boolean; ifOlderThan?: number } = {}): Promise<UpdateReport> {
    return importKharon(this.world, {}, { signal: new AbortController().signal, ...options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lieutenant[Symbol.asyncDispose]();
    await this.signIn[Symbol.asyncDispose]();
  }
}
