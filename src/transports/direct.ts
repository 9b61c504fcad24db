import type { Conn, DialOptions, Transport } from "../core/mod.ts";
import type { Target } from "../words/mod.ts";
import type { Dialer } from "../world/mod.ts";
import { directDialer, type DirectDialerParts } from "../http/mod.ts";

/** Connects from this machine. */
export class Direct implements Transport {
  readonly name = "direct";
  readonly #dial: Dialer;

  constructor(parts: DirectDialerParts) {
    this.#dial = directDialer(parts);
  }

  dial(target: Target, options: DialOptions): Promise<Conn> {
    return this.#dial(target, options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
