import type { Clock, Log } from "../../core/mod.ts";
import type { Network } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { BuiltTransport, BuiltTransports } from "../../transports/mod.ts";
import { WakeWatch } from "./wake_watch.ts";

export interface TransportCareOptions {
  readonly clock: Clock;
  readonly network: Pick<Network, "addresses">;
  readonly log: Log;
}

/** Throws `config` if a transport named on the command line is unusable. */
export async function demandUsable({ byName }: BuiltTransports, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const notes = await byName.get(name)?.transport.prepare?.() ?? [];
    const blocking = notes.find(({ severity }) => severity === "blocking");
    if (!blocking) continue;
    const { text, hint } = blocking;
    throw new PosternError("config", text, { hint });
  }
}

/**
 * Prepares transports (they read their own files) and checks their sessions after the machine wakes or moves.
 */
export class TransportCare implements Disposable {
  readonly #options: TransportCareOptions;
  #transports: readonly BuiltTransport[] = [];
  #preparing: Promise<unknown> = Promise.resolve();
  #wake: WakeWatch | undefined;

  constructor(options: TransportCareOptions) {
    this.#options = options;
  }

  /**
   * Prepares these transports and replaces the previous ones. Logs their notes and returns why transports are
   * unusable.
   */
  tend({ byName }: BuiltTransports): Promise<readonly string[]> {
    const transports = this.#transports = [...byName.values()];
    this.#followWake();
    const preparing = this.#preparing.then(async () =>
      (await Promise.all(transports.map((built) => this.#prepare(built)))).flat()
    );
    this.#preparing = preparing.catch(() => {});
    return preparing;
  }

  /** Resolves when every transport has read its files. */
  async prepared(): Promise<void> {
    await this.#preparing;
  }

  [Symbol.dispose](): void {
    this.#wake?.[Symbol.dispose]();
    this.#wake = undefined;
  }

  async #prepare({ name, transport }: BuiltTransport): Promise<readonly string[]> {
    const { log } = this.#options;
    const reasons: string[] = [];
    for (const { severity, text, hint } of await transport.prepare?.() ?? []) {
      const fields = { transport: name, reason: text, ...(hint !== undefined && { hint }) };
      if (severity === "blocking") {
        reasons.push(`transport ${name} cannot be used: ${text}${hint === undefined ? "" : `: ${hint}`}`);
        log.warn("transport.unusable", fields);
      } else if (severity === "note") log.warn("transport.note", fields);
      else log.debug("transport.note", fields);
    }
    return reasons;
  }

  /** Watches for wake-ups only while a transport can check its sessions. */
  #followWake(): void {
    if (this.#transports.some(({ transport }) => transport.check !== undefined)) {
      this.#wake ??= new WakeWatch({ ...this.#options, stirred: () => this.#check() });
    } else this[Symbol.dispose]();
  }

  #check(): void {
    for (const { transport } of this.#transports) transport.check?.();
  }
}
