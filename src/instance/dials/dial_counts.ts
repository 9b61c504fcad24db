import { describe } from "../../words/mod.ts";
import type { TransportState } from "../../control/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";

/** Dials and failures of each transport, kept across reloads. */
export class DialCounts {
  readonly #known = new Map<string, { dials: number; failures: number; lastError?: string }>();

  /** Counts a dial, and its failure if there is one. */
  add(name: string, error?: unknown): void {
    let known = this.#known.get(name);
    if (!known) this.#known.set(name, known = { dials: 0, failures: 0 });
    known.dials++;
    if (error === undefined) return;
    known.failures++;
    known.lastError = describe(error);
  }

  /** The state of a transport for `postern status`. */
  state({ name, type, via, transport }: BuiltTransport): TransportState {
    const { dials = 0, failures = 0, lastError } = this.#known.get(name) ?? {};
    return {
      state: dials > 0 ? "ready" : "idle",
      ...(lastError !== undefined && { lastError }),
      ...transport.status?.(),
      name,
      type,
      ...(via !== undefined && { via }),
      dials,
      failures,
    };
  }
}
