import type { Conn, DatagramPath, DialOptions, Transport } from "../core/mod.ts";
import type { Target } from "../words/mod.ts";
import type { Dialer } from "../world/mod.ts";
import {
  DirectDatagrams,
  type DirectDatagramsParts,
  directDialer,
  type DirectDialerParts,
} from "../http/mod.ts";

/** Connects from this machine. */
export class Direct implements Transport {
  readonly name = "direct";
  readonly #dial: Dialer;
  readonly #parts: DirectDialerParts & DirectDatagramsParts;

  constructor(parts: DirectDialerParts & DirectDatagramsParts) {
    this.#dial = directDialer(parts);
    this.#parts = parts;
  }

  datagrams(): Promise<DatagramPath> {
    return Promise.resolve(new DirectDatagrams(this.#parts));
  }

  dial(target: Target, options: DialOptions): Promise<Conn> {
    return this.#dial(target, options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
