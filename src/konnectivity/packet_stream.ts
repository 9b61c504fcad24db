import { fieldValue, type HeaderField, konnectivity, messageHeadSize } from "../wire/mod.ts";
import type { GrpcStream } from "../mux/mod.ts";

type Known = Exclude<konnectivity.Packet, { type: "unknown" }>;

/** Told what goes over a stream of packets. */
export interface PacketCount {
  /** Called before a packet is sent; what it gives is given back after. */
  sending(): number;
  sent(type: Known["type"], since: number): void;
  received(type: konnectivity.Packet["type"]): void;
  /** `packet` is what could not be sent. */
  failed(error: unknown, packet?: Known): void;
  /** Nothing more is taken from the stream until a reader has made room, or is again. */
  full(isFull: boolean): void;
}

/** The packets of one Konnectivity stream, whichever side of it we are. Many may send at once, in the order they ask. */
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
   * Whether the other side knows what only postern says: windows of single connections, and their half-closes. A
   * client knows when the first packet has come.
   */
  get isPostern(): boolean {
    if (this.#isPostern !== undefined) return this.#isPostern;
    const { requestFields, answerFields } = this.grpc.exchange;
    // As the server we have its request; as the client its answer, once that has come.
    const theirs = requestFields.length > 0 ? requestFields : answerFields;
    return theirs !== undefined && (this.#isPostern = isMarked(theirs));
  }

  get peer(): string {
    return this.grpc.exchange.peer;
  }

  /** Whether a packet waits until the other side takes it. */
  get isSending(): boolean {
    return this.#isSending;
  }

  async send(packet: Known): Promise<void> {
    const { head, data } = konnectivity.encodePacketParts(packet, messageHeadSize);
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
      // Handed on as it is: who asks just now comes after those who wait.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#isSending = false;
    }
  }

  /** Ends the stream at once, with all that goes through it. */
  reset(reason: unknown): void {
    this.grpc.exchange.reset(reason);
  }

  /** Waits for whoever has to make room before the next packet is taken. */
  async whileFull(room: Promise<void>): Promise<void> {
    this.#count?.full(true);
    try {
      await room;
    } finally {
      this.#count?.full(false);
    }
  }

  /** The next packet; its data are valid until the one after it is asked for. Undefined at the end. */
  async receive(): Promise<konnectivity.Packet | undefined> {
    try {
      const message = await this.grpc.receive();
      if (!message) return undefined;
      const packet = konnectivity.decodePacket(message);
      this.#count?.received(packet.type);
      return packet;
    } catch (error) {
      this.#count?.failed(error);
      throw error;
    }
  }
}

/** The name of the field by which postern recognises itself, and what it says. */
export const posternMark = ["postern-packets", "1"] as const;

/** Whether the fields of a request or an answer are those of another postern. */
export function isMarked(fields: readonly HeaderField[]): boolean {
  return fieldValue(fields, posternMark[0]) !== undefined;
}
