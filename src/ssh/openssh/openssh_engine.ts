import { readSshPackets, sshMessages, sshPacketHead, sshPacketSize } from "./ssh_packets.ts";
import type { GatheredOutput } from "../../core/mod.ts";
import type { ChannelEngine, ChannelHandlers } from "../session/ssh_channels.ts";
import { SshReader, SshWriter } from "../session/ssh_writer.ts";

export interface OpensshEngineOptions {
  readonly output: GatheredOutput;
  readonly handlers: () => ChannelHandlers;
  /** Called when the server answers a ping. */
  readonly onPong: () => void;
}

/** Manages channels to a server through the control socket of a master; the master does everything else. */
export class OpensshEngine implements ChannelEngine {
  readonly #options: OpensshEngineOptions;
  #refusals = 0;

  constructor(options: OpensshEngineOptions) {
    this.#options = options;
  }

  /** How many channels the server has refused: the master remembers each one until it ends. */
  get refusals(): number {
    return this.#refusals;
  }

  openTcp(
    channel: number,
    { window, packetSize, host, port, origin }: Parameters<ChannelEngine["openTcp"]>[1],
  ): void {
    const terms = new SshWriter().string("direct-tcpip").u32(channel).u32(window).u32(packetSize);
    this.#send(sshMessages.open, terms.string(host).u32(port).string(origin).u32(0));
  }

  /** Opens a channel of a kind that no server supports: the refusal comes from the server itself. */
  sendPing(): void {
    this.#send(sshMessages.open, new SshWriter().string("ping@postern").u32(pingChannel).u32(0).u32(0));
  }

  sendData(channel: number, bytes: Uint8Array<ArrayBuffer>): void {
    const { output } = this.#options;
    output.add(sshPacketHead(sshMessages.data, [channel, bytes.length], bytes.length));
    output.add(bytes);
  }

  sendWindow(channel: number, amount: number): void {
    this.#options.output.add(sshPacketHead(sshMessages.windowAdjust, [channel, amount]));
  }

  sendEnd(channel: number): void {
    this.#options.output.add(sshPacketHead(sshMessages.end, [channel]));
  }

  sendClose(channel: number): void {
    this.#options.output.add(sshPacketHead(sshMessages.close, [channel]));
  }

  refuseChannelRequest(channel: number): void {
    this.#options.output.add(sshPacketHead(sshMessages.failure, [channel]));
  }

  refuseChannel(channel: number): void {
    const refusal = new SshWriter().u32(channel).u32(administrativelyProhibited).string("").string("");
    this.#send(sshMessages.openFailure, refusal);
  }

  /** Parses the complete messages of the master; returns how many bytes they took. */
  receive(bytes: Uint8Array<ArrayBuffer>): number {
    const handlers = this.#options.handlers();
    return readSshPackets(bytes, (type, payload) => this.#onPacket(type, payload, handlers));
  }

  /** Returns the size of the next message, or 0 while it is unknown. */
  needs(bytes: Uint8Array<ArrayBuffer>): number {
    return sshPacketSize(bytes) ?? 0;
  }

  #send(type: number, fields: SshWriter): void {
    const bytes = fields.bytes();
    this.#options.output.add(sshPacketHead(type, [], bytes.length));
    this.#options.output.add(bytes);
  }

  #onPacket(type: number, payload: Uint8Array<ArrayBuffer>, handlers: ChannelHandlers): void {
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    const u32 = (at: number) => view.getUint32(at * 4);
    switch (type) {
      case sshMessages.data:
        return handlers.CHANNEL_DATA(this, u32(0), payload.slice(8, 8 + u32(1)));
      case sshMessages.windowAdjust:
        return handlers.CHANNEL_WINDOW_ADJUST(this, u32(0), u32(1));
      case sshMessages.end:
        return handlers.CHANNEL_EOF(this, u32(0));
      case sshMessages.close:
        return handlers.CHANNEL_CLOSE(this, u32(0));
      case sshMessages.openConfirmation: {
        const [recipient, sender, window, packetSize] = [u32(0), u32(1), u32(2), u32(3)];
        return handlers.CHANNEL_OPEN_CONFIRMATION(this, { recipient, sender, window, packetSize });
      }
      case sshMessages.openFailure:
        return this.#onRefused(payload, handlers);
      case sshMessages.request: {
        const reader = new SshReader(payload);
        const [channel = 0, name = "", wantsReply] = [reader.u32(), reader.text(), reader.byte()];
        return handlers.CHANNEL_REQUEST(this, channel, name, wantsReply === 1);
      }
    }
  }

  #onRefused(payload: Uint8Array<ArrayBuffer>, handlers: ChannelHandlers): void {
    const reader = new SshReader(payload);
    const [channel = 0, reason = 0, description = ""] = [reader.u32(), reader.u32(), reader.text()];
    this.#refusals++;
    if (channel === pingChannel) this.#options.onPong();
    else handlers.CHANNEL_OPEN_FAILURE(this, channel, reason, description);
  }
}

const pingChannel = 0xffff_ffff;
const administrativelyProhibited = 1;
