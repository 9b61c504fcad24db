import { describe } from "../../words/mod.ts";
import type { Log } from "../../core/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";
import type { ConnectionTable } from "../dials/connection_table.ts";

/** Transports that a reload removed. Each is disposed when its last connection ends. */
export class RetiredTransports implements AsyncDisposable {
  readonly #connections: Pick<ConnectionTable, "live">;
  readonly #log: Log;
  readonly #retired = new Set<BuiltTransport>();

  constructor(connections: Pick<ConnectionTable, "live">, log: Log) {
    this.#connections = connections;
    this.#log = log;
  }

  /** Disposes these transports once the connections that use them now have ended. */
  add(dropped: readonly BuiltTransport[]): void {
    if (dropped.length === 0) return;
    for (const built of dropped) this.#retired.add(built);
    const gone = new Set(dropped);
    const needing = [...this.#connections.live].filter((record) => record.needs(gone));
    Promise.all(needing.map(({ ended }) => ended)).then(async () => {
      for (const built of dropped) await this.#dispose(built);
    });
  }

  /** Disposes the remaining transports immediately. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const built of this.#retired) await this.#dispose(built);
  }

  /** Disposes a transport at most once. Logs a failure instead of throwing, since no caller can handle it. */
  async #dispose(built: BuiltTransport): Promise<void> {
    if (!this.#retired.delete(built)) return;
    try {
      await built.transport[Symbol.asyncDispose]();
    } catch (error) {
      this.#log.error("transport.close_failed", { transport: built.name, reason: describe(error) });
    }
  }
}
