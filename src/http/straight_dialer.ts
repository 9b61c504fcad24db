import { type Clock, within } from "../core/mod.ts";
import type { Dialer, Network } from "../world/mod.ts";
import { parseIp, PosternError } from "../words/mod.ts";

export interface StraightDialerParts {
  readonly clock: Clock;
  readonly network: Pick<Network, "connect" | "lookup">;
}

/** How long an address may take while there is another one to try, in ms. */
const patience = 3000;

/** Connects as the system resolves, to one address after the other: for whoever is given no other way. */
export function straightDialer({ clock, network }: StraightDialerParts): Dialer {
  return async ({ host, port }, { signal }) => {
    const addresses = parseIp(host) ? [host] : await network.lookup(host, { signal });
    let failure: unknown;
    for (const [index, address] of addresses.entries()) {
      const connect = (signal: AbortSignal) => network.connect({ host: address, port }, { signal });
      const error = () =>
        new PosternError("timeout", `Cannot reach ${address}: no answer within ${patience / 1000} s`);
      try {
        if (index === addresses.length - 1) return await connect(signal);
        return await within({ clock, ms: patience, signal, error }, connect);
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    throw failure ?? new PosternError("name_not_found", `Cannot resolve "${host}": it has no address`);
  };
}
