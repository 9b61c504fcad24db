import { type Clock, whenAborted } from "../core/mod.ts";
import { PosternError, type Target } from "../words/mod.ts";
import type { Packet } from "./packets.ts";
import { dialAddress, dialFailure } from "./dial_text.ts";
import type { PacketStream } from "./packet_stream.ts";
import { PacketTunnel, type TunnelHost } from "./packet_tunnel.ts";

export interface PacketDialerOptions {
  readonly clock: Clock;
  /** Whether connections share the stream; then an unread one may be dropped. */
  readonly isShared: boolean;
  /** Called when the peer accepts no more connections. */
  readonly onDrain?: () => void;
  /** Called for a response to an unknown dial. */
  readonly onStray?: () => void;
}

type Asked = { resolve: (connectId: bigint) => void; reject: (why: unknown) => void };

/** The dialing side of a Konnectivity stream: a client of a server, or a server of its agents. */
export class PacketDialer implements TunnelHost {
  readonly side = "dialing";
  readonly stream: PacketStream;
  readonly clock: Clock;
  readonly isShared: boolean;
  readonly #onDrain: (() => void) | undefined;
  readonly #onStray: (() => void) | undefined;
  readonly #asked = new Map<bigint, Asked>();
  /** Canceled dials that may still get a response. */
  readonly #givenUp = new Set<bigint>();
  readonly #tunnels = new Map<bigint, PacketTunnel>();
  #failure: unknown;

  constructor(stream: PacketStream, { clock, isShared, onDrain, onStray }: PacketDialerOptions) {
    this.stream = stream;
    this.clock = clock;
    this.isShared = isShared;
    this.#onDrain = onDrain;
    this.#onStray = onStray;
  }

  /** The number of open connections. */
  get tunnels(): number {
    return this.#tunnels.size;
  }

  /** Whether the stream has ended; an error then says nothing about the target. */
  get isOver(): boolean {
    return this.#failure !== undefined || this.stream.grpc.exchange.isOver;
  }

  /** The number of dials without a response. */
  get pending(): number {
    return this.#asked.size;
  }

  /** Processes packets until the stream ends; returns the failure, if there was one. */
  async run(): Promise<unknown> {
    try {
      for (let packet; (packet = await this.stream.receive());) {
        const wait = this.#take(packet);
        if (wait) await this.stream.whileFull(wait);
      }
    } catch (error) {
      this.#failure = error;
    }
    const ended = new PosternError("unreachable", `${this.stream.peer} ended the stream`, {
      detail: "reset",
    });
    const why = this.#failure ??= ended;
    for (const { reject } of this.#asked.values()) reject(why);
    this.#asked.clear();
    for (const tunnel of this.#tunnels.values()) tunnel.takeFailure(why);
    this.#tunnels.clear();
    return why === ended ? undefined : why;
  }

  /** Asks the peer to connect to a target. */
  async dial(target: Target, { signal }: { signal: AbortSignal }): Promise<PacketTunnel> {
    signal.throwIfAborted();
    if (this.#failure !== undefined) throw this.#failure;
    const random = randomNumber();
    const { promise, resolve, reject } = Promise.withResolvers<bigint>();
    this.#asked.set(random, { resolve, reject });
    using _stop = whenAborted(signal, () => {
      if (!this.#asked.delete(random)) return;
      this.#giveUp(random);
      reject(signal.reason);
    });
    const address = dialAddress(target);
    // `run` reports the end of the stream.
    this.stream.send({ type: "dialRequest", protocol: "tcp", address, random }).catch(reject);
    const connectId = await promise;
    const tunnel = this.#tunnels.get(connectId);
    if (!tunnel) {
      throw this.#failure ?? new PosternError("unreachable", `${this.stream.peer} closed the connection`);
    }
    return tunnel;
  }

  forget(tunnel: PacketTunnel): void {
    this.#tunnels.delete(tunnel.connectId);
  }

  #take(packet: Packet): void | Promise<void> {
    switch (packet.type) {
      case "dialResponse":
        return this.#takeAnswer(packet.random, packet.connectId, packet.error);
      case "data":
        return this.#tunnels.get(packet.connectId)?.takeData(packet.data);
      case "window":
        return this.#tunnels.get(packet.connectId)?.onWindow(packet.bytes);
      case "end":
        return this.#tunnels.get(packet.connectId)?.onEnd();
      case "closeResponse":
      case "closeRequest":
        return this.#tunnels.get(packet.connectId)?.takeClose(
          packet.type === "closeResponse" ? packet.error : "",
        );
      case "closeDial":
        return this.#takeAnswer(packet.random, 0n, "the dial was canceled");
      case "drain":
        return this.#onDrain?.();
      case "dialRequest":
      case "unknown":
        return;
    }
  }

  #takeAnswer(random: bigint, connectId: bigint, error: string): void {
    const asked = this.#asked.get(random);
    if (!asked) {
      this.#onStray?.();
      const isLate = this.#givenUp.delete(random) && error === "";
      if (isLate) this.stream.send({ type: "closeRequest", connectId }).catch(() => {});
      return;
    }
    this.#asked.delete(random);
    if (error !== "") return asked.reject(dialFailure(error, this.stream.peer));
    if (this.#tunnels.has(connectId)) {
      return asked.reject(
        new PosternError("protocol", `${this.stream.peer} used the same connection id twice`),
      );
    }
    this.#tunnels.set(connectId, new PacketTunnel(connectId, this, this.stream.peer));
    asked.resolve(connectId);
  }

  #giveUp(random: bigint): void {
    this.stream.send({ type: "closeDial", random }).catch(() => {});
    this.#givenUp.add(random);
    if (this.#givenUp.size <= mostGivenUp) return;
    for (const oldest of this.#givenUp) {
      this.#givenUp.delete(oldest);
      break;
    }
  }
}

/** Positive and at most 63 bits, as other implementations expect. */
function randomNumber(): bigint {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (BigInt(high >>> 1) << 32n | BigInt(low)) || 1n;
}

const mostGivenUp = 10_000;
