import { konnectivity, messageHeadSize } from "../wire/mod.ts";
import type { GrpcStream } from "./grpc_stream.ts";

type Known = Exclude<konnectivity.Packet, { type: "unknown" }>;

/** The packets of one Konnectivity stream, whichever side of it we are. Many may send at once, in the order they ask. */
export class PacketStream {
  readonly grpc: GrpcStream;
  #waiting: (() => void)[] = [];
  #isSending = false;

  constructor(grpc: GrpcStream) {
    this.grpc = grpc;
  }

  /**
   * Whether the other side knows what only postern says: windows of single connections, and their half-closes. A
   * client knows when the first packet has come.
   */
  get isPostern(): boolean {
    const { requestFields, answerFields } = this.grpc.exchange;
    return [...requestFields, ...answerFields ?? []].some(([name]) => name === posternMark[0]);
  }

  get peer(): string {
    return this.grpc.exchange.peer;
  }

  async send(packet: Known): Promise<void> {
    // The bytes may be used again once this has returned, so they are copied before any wait.
    const frame = konnectivity.encodePacket(packet, messageHeadSize);
    while (this.#isSending) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#isSending = true;
    try {
      await this.grpc.send(frame);
    } finally {
      this.#isSending = false;
      this.#waiting.shift()?.();
    }
  }

  /** The next packet; its data are valid until the one after it is asked for. Undefined at the end. */
  async receive(): Promise<konnectivity.Packet | undefined> {
    const message = await this.grpc.receive();
    return message && konnectivity.decodePacket(message);
  }
}

/** The name of the field by which postern recognises itself, and what it says. */
export const posternMark = ["postern-packets", "1"] as const;
