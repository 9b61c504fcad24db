import type { Conn } from "../../core/mod.ts";
import { formatTarget, type Target } from "../../words/mod.ts";
import { type ChannelLink, firstWindow, SshChannel } from "./ssh_channel.ts";
import type { SshEngine, SshMessageHandlers } from "../hops/ssh_engine.ts";
import { openFailure } from "./ssh_open_failure.ts";

/** The parts of an engine that manage channels. */
export type ChannelEngine = Pick<
  SshEngine,
  | "openTcp"
  | "sendData"
  | "sendWindow"
  | "sendEnd"
  | "sendClose"
  | "refuseChannel"
  | "refuseChannelRequest"
>;

export interface SshChannelsOptions {
  /** The server's name in messages. */
  readonly label: string;
  /** Undefined after the session has ended. */
  readonly engine: () => ChannelEngine | undefined;
  readonly room: () => Promise<void> | undefined;
  readonly now: () => number;
  readonly roundTrip: () => number | undefined;
  /** The window that all channels share; undefined if each has its own. */
  readonly sharedWindow?: () => number | undefined;
}

/** The server's messages about channels. */
export type ChannelHandlers = Pick<
  SshMessageHandlers,
  Extract<keyof SshMessageHandlers, `CHANNEL_${string}`>
>;

/** The channels of a session (RFC 4254, section 5): the open ones and the requested ones. */
export class SshChannels {
  readonly handlers: ChannelHandlers;
  readonly #options: SshChannelsOptions;
  readonly #link: ChannelLink;
  readonly #channels = new Map<number, Open | Opening>();
  #next = 0;
  #open = 0;

  constructor(options: SshChannelsOptions) {
    this.#options = options;
    this.#link = linkOf(options, () => this.#channels.size);
    this.handlers = this.#makeHandlers();
  }

  /** The number of open channels. */
  get open(): number {
    return this.#open;
  }

  connect(target: Target, { engine, signal }: { engine: ChannelEngine; signal: AbortSignal }): Promise<Conn> {
    const { promise, resolve, reject } = Promise.withResolvers<Conn>();
    const giveUp = () => {
      opening.isGivenUp = true;
      reject(signal.reason);
    };
    const id = this.#freeId();
    const receives = this.#link.share === undefined ? firstWindow : smallestShare;
    const opening: Opening = {
      target,
      receives,
      resolve,
      reject,
      settled: () => signal.removeEventListener("abort", giveUp),
      isGivenUp: false,
    };
    signal.addEventListener("abort", giveUp, { once: true });
    this.#channels.set(id, opening);
    engine.openTcp(id, {
      window: receives,
      packetSize: largestPacket,
      host: target.host,
      port: target.port,
      origin: "127.0.0.1",
    });
    return promise;
  }

  /** Ends all channels with one shared error: separate errors would record a thousand stacks. */
  fail(error: unknown): void {
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    this.#open = 0;
    for (const entry of channels) {
      if ("channel" in entry) entry.channel.onFailure(error);
      else {
        entry.settled();
        entry.reject(error);
      }
    }
  }

  #makeHandlers(): ChannelHandlers {
    const { engine } = this.#options;
    return {
      CHANNEL_OPEN: (_, { sender }) => engine()?.refuseChannel(sender),
      CHANNEL_OPEN_CONFIRMATION: (_, terms) => this.#onOpened(terms),
      CHANNEL_OPEN_FAILURE: (_, id, reason, description) => this.#onRefused(id, { reason, description }),
      CHANNEL_DATA: (_, id, data) => this.#at(id)?.channel.onData(data),
      // A TCP connection has no second data stream.
      CHANNEL_EXTENDED_DATA: () => {},
      CHANNEL_WINDOW_ADJUST: (_, id, amount) => this.#at(id)?.channel.onWindow(amount),
      CHANNEL_EOF: (_, id) => this.#at(id)?.channel.onEnd(),
      CHANNEL_CLOSE: (_, id) => this.#onClosed(id),
      CHANNEL_REQUEST: (_, id, _type, wantsReply) => {
        const entry = this.#at(id);
        if (wantsReply && entry) engine()?.refuseChannelRequest(entry.remote);
      },
    };
  }

  #onOpened({ recipient, sender, window, packetSize }: Confirmation): void {
    const opening = this.#channels.get(recipient);
    if (!opening || "channel" in opening) return;
    const channel = new SshChannel(this.#link, {
      peer: `${formatTarget(opening.target)} (${this.#options.label})`,
      remote: sender,
      window,
      packetSize: Math.min(packetSize, largestPacket),
      receives: opening.receives,
    });
    this.#channels.set(recipient, { channel, remote: sender });
    this.#open++;
    opening.settled();
    if (opening.isGivenUp) channel.abort();
    else opening.resolve(channel);
  }

  #onRefused(id: number, refusal: { readonly reason: number; readonly description: string }): void {
    const opening = this.#channels.get(id);
    if (!opening || "channel" in opening) return;
    this.#channels.delete(id);
    opening.settled();
    opening.reject(openFailure(refusal, { target: opening.target, through: this.#options.label }));
  }

  #onClosed(id: number): void {
    const entry = this.#at(id);
    if (!entry) return;
    this.#channels.delete(id);
    this.#open--;
    entry.channel.onClose();
  }

  #at(id: number): Open | undefined {
    const entry = this.#channels.get(id);
    return entry && "channel" in entry ? entry : undefined;
  }

  #freeId(): number {
    while (this.#channels.has(this.#next)) this.#next = this.#next + 1 >>> 0;
    const id = this.#next;
    this.#next = id + 1 >>> 0;
    return id;
  }
}

function linkOf(
  { engine, room, now, roundTrip, sharedWindow }: SshChannelsOptions,
  count: () => number,
): ChannelLink {
  return {
    sendData: (channel, bytes) => engine()?.sendData(channel, bytes),
    sendWindow: (channel, amount) => engine()?.sendWindow(channel, amount),
    sendEnd: (channel) => engine()?.sendEnd(channel),
    sendClose: (channel) => engine()?.sendClose(channel),
    room,
    now,
    get roundTrip() {
      return roundTrip();
    },
    get share() {
      const shared = sharedWindow?.();
      if (shared === undefined) return undefined;
      return Math.max(smallestShare, Math.min(firstWindow, Math.floor(shared / Math.max(1, count()))));
    },
  };
}

interface Open {
  readonly channel: SshChannel;
  /** The server's channel number. */
  readonly remote: number;
}

interface Opening {
  readonly target: Target;
  readonly receives: number;
  readonly resolve: (conn: Conn) => void;
  readonly reject: (error: unknown) => void;
  readonly settled: () => void;
  isGivenUp: boolean;
}

type Confirmation = Parameters<SshMessageHandlers["CHANNEL_OPEN_CONFIRMATION"]>[1];

/**
 * A channel with less would wait for the server too often. A new channel starts with it: many that open together must
 * not exceed the shared window.
 */
const smallestShare = 64 * 1024;

/** ssh2's limit (RFC 4253, section 6.1 requires 35000 bytes in total). */
const largestPacket = 32 * 1024;
