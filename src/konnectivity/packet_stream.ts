import { fieldValue, type HeaderField, messageHeadSize } from "../wire/mod.ts";
import { decodePacket, encodePacketParts, type Packet } from "./packets.ts";
import type { GrpcStream } from "../mux/mod.ts";

type Known = Exclude<Packet, { type: "unknown" }>;

/** Receives the events of a packet stream. */
export interface PacketCount {
  /** Called before a packet is sent; `sent` gets its result. */
  sending(): number;
  sent(type: Known["type"], since: number): void;
  received(type: Packet["type"]): void;
  /** `packet` is the unsent packet, if sending failed. */
  failed(error: unknown, packet?: Known): void;
  /** Whether the stream is paused until a reader makes room. */
  full(isFull: boolean): void;
}

/** The packets of one Konnectivity stream, for either side. Concurrent sends keep their order. */
export class PacketStream {
  readonly grpc: GrpcStream;
  readonly #count: PacketCount | undefined;
  #waiting: (() => void)[] = [];
  #isSending = false;
  #isPostern: boolean | undefined;

  constructor(grpc: GrpcStream, count?: PacketCount) {
    this.grpc = grpc;
    this.#count = count;
  }

  /**
   * Whether the peer is postern, which supports per-connection windows and half-closes. A client knows this
   * only after the first packet.
   */
  get isPostern(): boolean {
    if (this.#isPostern !== undefined) return this.#isPostern;
    const { requestFields, answerFields } = this.grpc.exchange;
    // The server knows the request; the client knows the response once it has arrived.
    const theirs = requestFields.length > 0 ? requestFields : answerFields;
    return theirs !== undefined && (this.#isPostern = isMarked(theirs));
  }

  get peer(): string {
    return this.grpc.exchange.peer;
  }

  /** Whether a packet waits for the peer to read. */
  get isSending(): boolean {
    return this.#isSending;
  }

  async send(packet: Known): Promise<void> {
    const { head, data } = encodePacketParts(packet, messageHeadSize);
    if (this.#isSending) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#isSending = true;
    try {
      const since = this.#count?.sending() ?? 0;
      await this.grpc.send(head, data);
      this.#count?.sent(packet.type, since);
    } catch (error) {
      this.#count?.failed(error, packet);
      throw error;
    } finally {
      // Pass on the lock without releasing it, so that waiting sends go before new ones.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#isSending = false;
    }
  }

  /** Resets the stream and all its connections. */
  reset(reason: unknown): void {
    this.grpc.exchange.reset(reason);
  }

  /** Pauses receiving until there is room. */
  async whileFull(room: Promise<void>): Promise<void> {
    this.#count?.full(true);
    try {
      await room;
    } finally {
      this.#count?.full(false);
    }
  }

  /** Returns the next packet, undefined at the end. Its data are valid until the next call. */
  async receive(): Promise<Packet | undefined> {
    try {
      const message = await this.grpc.receive();
      if (!message) return undefined;
      const packet = decodePacket(message);
      this.#count?.received(packet.type);
      return packet;
    } catch (error) {
      this.#count?.failed(error);
      throw error;
    }
  }
}

/** The header field by which postern recognizes another postern, and its value. */
export const posternMark = ["postern-packets", "1"] as const;

/** Whether header fields come from another postern. */
export function isMarked(fields: readonly HeaderField[]): boolean {
  return fieldValue(fields, posternMark[0]) !== undefined;
}
