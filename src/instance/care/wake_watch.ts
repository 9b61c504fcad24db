import type { Clock, Log } from "../../core/mod.ts";
import { describe } from "../../words/mod.ts";
import type { Network } from "../../world/mod.ts";

export interface WakeWatchOptions {
  readonly clock: Clock;
  readonly network: Pick<Network, "addresses">;
  readonly log: Log;
  /** Called after a sleep and when the addresses of this machine change. */
  readonly stirred: () => void;
}

/**
 * Notices events after which open sessions may be dead. Deno reports neither of them: a sleep shows as
 * wall-clock time running ahead of the monotonic clock, and an address change shows by comparison.
 */
export class WakeWatch implements Disposable {
  readonly #options: WakeWatchOptions;
  #offset: number;
  #addresses: string | undefined;
  #timer: Disposable | undefined;
  #isBlind = false;

  constructor(options: WakeWatchOptions) {
    this.#options = options;
    this.#offset = this.#calendarOffset();
    this.#addresses = this.#askAddresses();
    this.#rest();
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    const { log, stirred } = this.#options;
    const offset = this.#calendarOffset();
    const slept = offset - this.#offset;
    const addresses = this.#askAddresses();
    const hasMoved = addresses !== this.#addresses;
    this.#offset = offset;
    this.#addresses = addresses;
    this.#rest();
    if (Math.abs(slept) < leastSleep && !hasMoved) return;
    log.debug("instance.woke", { slept: Math.round(slept), moved: hasMoved });
    stirred();
  };

  #rest(): void {
    this.#timer = this.#options.clock.after(interval, this.#look);
  }

  #calendarOffset(): number {
    const { clock } = this.#options;
    return clock.date().getTime() - clock.now();
  }

  #askAddresses(): string | undefined {
    try {
      return [...this.#options.network.addresses()].sort().join(" ");
    } catch (error) {
      // Without the permission, or on a system that hides its addresses, only sleep is detected.
      if (!this.#isBlind) this.#options.log.warn("instance.no_addresses", { reason: describe(error) });
      this.#isBlind = true;
      return undefined;
    }
  }
}

const interval = 2000;
/** A smaller difference, in ms, is a clock correction, not a sleep. */
const leastSleep = 5000;
