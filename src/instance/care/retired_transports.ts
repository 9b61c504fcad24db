import { describe } from "../../words/mod.ts";
import type { Log } from "../../core/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";
import type { ConnectionTable } from "../dials/connection_table.ts";

/** Transports that no plan wants any more: they serve the connections they have to the end, and are disposed then. */
export class RetiredTransports implements AsyncDisposable {
  readonly #connections: Pick<ConnectionTable, "live">;
  readonly #log: Log;
  readonly #retired = new Set<BuiltTransport>();

  constructor(connections: Pick<ConnectionTable, "live">, log: Log) {
    this.#connections = connections;
    this.#log = log;
  }

  /** Disposes them when those of the connections of now that need them have ended. */
  add(dropped: readonly BuiltTransport[]): void {
    if (dropped.length === 0) return;
    for (const built of dropped) this.#retired.add(built);
    const gone = new Set(dropped);
    const needing = [...this.#connections.live].filter((record) => record.needs(gone));
    Promise.all(needing.map(({ ended }) => ended)).then(async () => {
      for (const built of dropped) await this.#dispose(built);
    });
  }

  /** Disposes them now. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const built of this.#retired) await this.#dispose(built);
  }

  /** Once each, whoever comes first. It never fails: nobody waits for it who could do anything about that. */
  async #dispose(built: BuiltTransport): Promise<void> {
    if (!this.#retired.delete(built)) return;
    try {
      await built.transport[Symbol.asyncDispose]();
    } catch (error) {
      this.#log.error("transport.close_failed", { transport: built.name, reason: describe(error) });
    }
  }
}
