import type { DatagramPath } from "../core/mod.ts";
import {
  formatTarget,
  isPosternError,
  isUnspecified,
  parseIp,
  PosternError,
  type Target,
  unmapped,
} from "../words/mod.ts";
import type { Datagram, Datagrams, Network } from "../world/mod.ts";
import { directAddresses } from "./direct_dialer.ts";

export interface DirectDatagramsParts {
  readonly network: Pick<Network, "datagrams" | "lookup">;
}

type FlowOptions = Parameters<DatagramPath["open"]>[1];
type Received = FlowOptions["received"];
type DatagramFlow = Awaited<ReturnType<DatagramPath["open"]>>;

/** Sends datagrams from this machine, with one socket for each address family. */
export class DirectDatagrams implements DatagramPath {
  readonly #network: DirectDatagramsParts["network"];
  readonly #sockets = new Map<"0.0.0.0" | "::", Promise<Datagrams>>();
  readonly #readers = new Set<Promise<void>>();
  /** By the address of the target: replies from others are dropped. */
  readonly #flows = new Map<string, Received>();
  readonly #ended = Promise.withResolvers<unknown>();
  #isClosed = false;

  constructor({ network }: DirectDatagramsParts) {
    this.#network = network;
  }

  get ended(): Promise<unknown> {
    return this.#ended.promise;
  }

  async open(target: Target, { signal, received }: FlowOptions): Promise<DatagramFlow> {
    const found = await directAddresses(target, { network: this.#network, signal });
    const addresses = found.filter(isOfHost);
    if (addresses.length === 0) {
      throw unreachable(
        target,
        "UDP is relayed to single hosts only, not to multicast or wildcard addresses",
      );
    }
    const places: Place[] = [];
    let failure: unknown;
    for (const host of addresses) {
      try {
        places.push({ socket: await this.#socketFor(host), host, port: target.port });
      } catch (error) {
        // The machine may lack one address family.
        failure = error;
      }
    }
    signal.throwIfAborted();
    if (places.length === 0) throw failure;
    return this.#flow(places, received);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#flows.clear();
    for (const opening of this.#sockets.values()) {
      await (await opening.catch(() => undefined))?.[Symbol.asyncDispose]();
    }
    await Promise.all(this.#readers);
    this.#ended.resolve(undefined);
  }

  #flow(places: readonly Place[], received: Received): DatagramFlow {
    const keys = new Set<string>();
    let at = 0;
    return {
      send: async (data) => {
        while (true) {
          const place = places[at];
          if (!place) return;
          const key = formatTarget(place);
          keys.add(key);
          this.#flows.set(key, received);
          try {
            return await place.socket.send(data, place);
          } catch (error) {
            // Nothing answers for an address without a route, so the next one gets its turn.
            if (!isPosternError(error, "unreachable") || at + 1 >= places.length) throw error;
            at++;
          }
        }
      },
      [Symbol.dispose]: () => {
        for (const key of keys) if (this.#flows.get(key) === received) this.#flows.delete(key);
      },
    };
  }

  #socketFor(host: string): Promise<Datagrams> {
    if (this.#isClosed) return Promise.reject(new PosternError("cancelled", "The client has left"));
    const from = host.includes(":") ? "::" : "0.0.0.0";
    const known = this.#sockets.get(from);
    if (known) return known;
    const opening = this.#network.datagrams({ host: from, port: 0 });
    this.#sockets.set(from, opening);
    opening.then(
      (socket) => {
        const reading = this.#read(socket).finally(() => this.#readers.delete(reading));
        this.#readers.add(reading);
      },
      () => this.#sockets.delete(from),
    );
    return opening;
  }

  async #read(socket: Datagrams): Promise<void> {
    try {
      for (let got: Datagram | undefined; (got = await socket.receive());) {
        await this.#flows.get(formatTarget(got.from))?.(got.bytes, got.from);
      }
    } catch (error) {
      if (!this.#isClosed) this.#ended.resolve(error);
    }
  }
}

interface Place extends Target {
  readonly socket: Datagrams;
}

/** Whether an address means one host. */
export function isOfHost(address: string): boolean {
  const parsed = parseIp(address);
  if (!parsed || isUnspecified(parsed)) return false;
  const bytes = unmapped(parsed);
  const [first = 0] = bytes;
  if (bytes.length === 16) return first !== 0xff;
  return (first < 224 || first > 239) && !bytes.every((byte) => byte === 255);
}

function unreachable(target: Target, reason: string): PosternError {
  return new PosternError("unreachable", `Cannot reach ${formatTarget(target)} by UDP`, {
    reason,
    detail: "host",
  });
}
