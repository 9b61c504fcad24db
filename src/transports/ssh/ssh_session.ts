import { type Clock, type Conn, formatTarget, PosternError, type Target } from "../../core/mod.ts";
import { type ChannelLink, firstWindow, SshChannel } from "./ssh_channel.ts";
import { type SshAlgorithms, SshEngine, type SshMessageHandlers } from "./ssh_engine.ts";
import { openFailure } from "./ssh_open_failure.ts";
import { closedByServer, disconnected, lostConnection, protocolFailure } from "./ssh_session_failure.ts";
import { SshOutput } from "./ssh_output.ts";
import { SshPulse } from "./ssh_pulse.ts";
import { type SignInLink, SshSignIn } from "./ssh_sign_in.ts";

export interface SshSessionOptions {
  /** How sentences name the server: `ssh jump1`. */
  readonly label: string;
  readonly clock: Clock;
  readonly algorithms: SshAlgorithms;
  /** Fails where the server's key is not to be trusted. */
  readonly verifyHostKey: (key: Uint8Array<ArrayBuffer>) => Promise<void>;
  /** Signs in; fails where no way is left. */
  readonly signIn: (link: SignInLink) => Promise<void>;
  /** Milliseconds of silence after which the server is asked, and after which it counts as gone. */
  readonly keepalive: number;
  readonly deadAfter: number;
  readonly onStep?: (step: string) => void;
}

/** One ssh connection, signed in, with its channels. It ends when its connection does, and never comes back. */
export class SshSession implements AsyncDisposable {
  readonly label: string;
  /** Resolves when it is over; `reason` tells why. */
  readonly ended: Promise<void>;
  readonly #conn: Conn;
  readonly #clock: Clock;
  readonly #options: SshSessionOptions;
  readonly #output: SshOutput;
  readonly #pulse: SshPulse;
  readonly #signIn: SshSignIn;
  readonly #end = Promise.withResolvers<void>();
  readonly #keysExchanged = Promise.withResolvers<void>();
  readonly #channels = new Map<number, SshChannel | Opening>();
  #engine: SshEngine | undefined;
  #nextChannel = 0;
  #open = 0;
  #hasKeys = false;
  #hostKey: Uint8Array<ArrayBuffer> | undefined;
  #isVerifying: Promise<void> | undefined;
  #reason: unknown;
  #reading: Promise<void> = Promise.resolve();

  private constructor(conn: Conn, options: SshSessionOptions) {
    const { label, clock, keepalive, deadAfter } = options;
    this.label = label;
    this.#conn = conn;
    this.#clock = clock;
    this.#options = options;
    this.ended = this.#end.promise;
    this.#output = new SshOutput(conn, (error) => this.#fail(lostConnection(this.label, error)));
    this.#signIn = new SshSignIn(
      (method, message) => this.#speaking().sendSignIn(method, message),
      () => this.#speaking().sessionId,
    );
    this.#pulse = new SshPulse({
      clock,
      keepalive,
      deadAfter,
      ask: () => this.#engine?.sendPing(),
      onDead: (ms) =>
        this.#fail(
          new PosternError("timeout", `Cannot go on with ${label}: nothing heard for ${Math.round(ms)} ms`),
        ),
    });
    // Whoever waits is told by `open`; a session that fails before is nobody's surprise.
    this.#keysExchanged.promise.catch(() => {});
  }

  /** Exchanges keys, checks the server's and signs in. The connection is the session's from here on. */
  static async open(
    conn: Conn,
    options: SshSessionOptions & { readonly signal: AbortSignal },
  ): Promise<SshSession> {
    const { signal } = options;
    const session = new SshSession(conn, options);
    const stop = () => session.#fail(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      signal.throwIfAborted();
      await session.#start();
      return session;
    } catch (error) {
      session.#fail(error);
      throw session.#reason;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Why it is over; undefined while it lives. */
  get reason(): unknown {
    return this.#reason;
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** How many channels are open. */
  get channels(): number {
    return this.#open;
  }

  /** When the last byte was heard, by the clock. */
  get heardAt(): number {
    return this.#pulse.heardAt;
  }

  /** Milliseconds of the last answer to a question. */
  get roundTrip(): number | undefined {
    return this.#pulse.lastRoundTrip;
  }

  /** Asks the server now whether it is there: after sleep, or when the network changed. */
  check(): void {
    if (!this.isOver) this.#pulse.check();
  }

  /** Opens a connection from the server to a target; names are the server's to resolve. */
  connect(target: Target, { signal }: { readonly signal: AbortSignal }): Promise<Conn> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.isOver) return Promise.reject(this.#reason);
    const id = this.#freeId();
    const { promise, resolve, reject } = Promise.withResolvers<Conn>();
    const opening: Opening = { target, resolve, reject, isGivenUp: false };
    const giveUp = () => {
      opening.isGivenUp = true;
      reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    opening.settled = () => signal.removeEventListener("abort", giveUp);
    this.#channels.set(id, opening);
    this.#speaking().openTcp(id, {
      window: firstWindow,
      packetSize: largestPacket,
      host: target.host,
      port: target.port,
      origin: "127.0.0.1",
    });
    return promise;
  }

  /** Takes leave and closes the connection; channels that are open end. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isOver) {
      this.#engine?.disconnect();
      await this.#output.flush();
      this.#fail(new PosternError("cancelled", `The session with ${this.label} was closed here`));
    }
    await this.#reading;
    await this.#conn[Symbol.asyncDispose]();
  }

  async #start(): Promise<void> {
    const { algorithms, signIn, onStep, label } = this.#options;
    this.#engine = await SshEngine.create({
      algorithms,
      handlers: this.#handlers(),
      onOutput: (bytes) => this.#output.add(bytes),
      onFailure: (error) => this.#fail(protocolFailure(this.label, error)),
      onHostKey: (key, decide) => this.#judge(key, decide),
      onKeysExchanged: () => this.#onKeys(),
    });
    if (this.isOver) throw this.#reason;
    this.#engine.start();
    this.#reading = this.#read();
    await this.#keysExchanged.promise;
    onStep?.(`exchanged keys with ${label}`);
    this.#engine.requestService("ssh-userauth");
    await signIn(this.#signIn);
    if (this.isOver) throw this.#reason;
    onStep?.(`signed in to ${label}`);
    this.#pulse.start();
  }

  /** ssh2 keeps parts of what it reads until the first keys are exchanged; after that a buffer serves again. */
  async #read(): Promise<void> {
    let into = new Uint8Array(smallestRead);
    while (!this.isOver) {
      let count: number | null;
      try {
        count = await this.#conn.read(into);
      } catch (error) {
        return this.#fail(lostConnection(this.label, error));
      }
      if (this.isOver) return;
      if (count === null) return this.#fail(closedByServer(this.label, { hasKeys: this.#hasKeys }));
      this.#pulse.onHeard();
      try {
        this.#speaking().receive(into.subarray(0, count));
      } catch (error) {
        return this.#fail(protocolFailure(this.label, error));
      }
      // Its own key exchange runs on while the key is looked up; what comes after it waits.
      if (this.#isVerifying) await this.#isVerifying;
      if (!this.#hasKeys) into = new Uint8Array(smallestRead);
      else if (count === into.length && count < largestRead) into = new Uint8Array(count * 4);
    }
  }

  /** Who has shown one key at first shows no other later. */
  #judge(key: Uint8Array<ArrayBuffer>, decide: (isRight: boolean) => void): boolean | undefined {
    const known = this.#hostKey;
    if (known) return known.length === key.length && known.every((byte, at) => byte === key[at]);
    this.#hostKey = Uint8Array.from(key);
    void this.#verify(this.#hostKey, decide);
    return undefined;
  }

  async #verify(key: Uint8Array<ArrayBuffer>, decide: (isRight: boolean) => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#isVerifying = promise;
    try {
      await this.#options.verifyHostKey(key);
      if (!this.isOver) decide(true);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isVerifying = undefined;
      resolve();
    }
  }

  #onKeys(): void {
    this.#hasKeys = true;
    this.#keysExchanged.resolve();
  }

  #handlers(): SshMessageHandlers {
    const signIn = this.#signIn;
    return {
      DISCONNECT: (_, reason, description) => this.#fail(disconnected(this.label, { reason, description })),
      SERVICE_ACCEPT: () => signIn.onAccepted(),
      EXT_INFO: (_, extensions) => signIn.onExtensions(extensions),
      USERAUTH_SUCCESS: () => signIn.onAnswer({ kind: "success" }),
      USERAUTH_FAILURE: (_, methods, isPartial) => signIn.onAnswer({ kind: "failure", methods, isPartial }),
      USERAUTH_PK_OK: () => signIn.onAnswer({ kind: "key_known" }),
      USERAUTH_PASSWD_CHANGEREQ: () => signIn.onAnswer({ kind: "password_expired" }),
      USERAUTH_INFO_REQUEST: (_, name, instructions, questions) =>
        signIn.onAnswer({ kind: "questions", name, instructions, questions }),
      REQUEST_SUCCESS: () => this.#pulse.onAnswer(),
      REQUEST_FAILURE: () => this.#pulse.onAnswer(),
      GLOBAL_REQUEST: (_, _name, wantsReply) => void (wantsReply && this.#engine?.refuseRequest()),
      CHANNEL_OPEN: (_, { sender }) => this.#engine?.refuseChannel(sender),
      CHANNEL_OPEN_CONFIRMATION: (_, terms) => this.#onOpened(terms),
      CHANNEL_OPEN_FAILURE: (_, id, reason, description) => this.#onRefused(id, reason, description),
      CHANNEL_DATA: (_, id, data) => this.#channel(id)?.onData(data),
      // A TCP connection has no second stream.
      CHANNEL_EXTENDED_DATA: () => {},
      CHANNEL_WINDOW_ADJUST: (_, id, amount) => this.#channel(id)?.onWindow(amount),
      CHANNEL_EOF: (_, id) => this.#channel(id)?.onEnd(),
      CHANNEL_CLOSE: (_, id) => this.#onClosed(id),
      CHANNEL_REQUEST: (_, id, _type, wantsReply) => this.#onChannelRequest(id, wantsReply),
    };
  }

  #onOpened(
    { recipient, sender, window, packetSize }: {
      recipient: number;
      sender: number;
      window: number;
      packetSize: number;
    },
  ): void {
    const opening = this.#channels.get(recipient);
    if (!opening || opening instanceof SshChannel) return;
    const channel = new SshChannel(this.#link, {
      peer: `${formatTarget(opening.target)} (${this.label})`,
      remote: sender,
      window,
      packetSize: Math.min(packetSize, largestPacket),
    });
    this.#channels.set(recipient, channel);
    this.#remoteIds.set(channel, sender);
    this.#open++;
    opening.settled?.();
    if (opening.isGivenUp) channel.abort();
    else opening.resolve(channel);
  }

  readonly #remoteIds = new WeakMap<SshChannel, number>();

  #onRefused(id: number, reason: number, description: string): void {
    const opening = this.#channels.get(id);
    if (!opening || opening instanceof SshChannel) return;
    this.#channels.delete(id);
    opening.settled?.();
    opening.reject(
      openFailure({ reason, description }, { target: opening.target, through: this.label }),
    );
  }

  #onClosed(id: number): void {
    const channel = this.#channel(id);
    if (!channel) return;
    this.#channels.delete(id);
    this.#open--;
    channel.onClose();
  }

  #onChannelRequest(id: number, wantsReply: boolean): void {
    const channel = this.#channel(id);
    const remote = channel && this.#remoteIds.get(channel);
    if (wantsReply && remote !== undefined) this.#engine?.refuseChannelRequest(remote);
  }

  #channel(id: number): SshChannel | undefined {
    const channel = this.#channels.get(id);
    return channel instanceof SshChannel ? channel : undefined;
  }

  readonly #link: ChannelLink = this.#makeLink();

  #makeLink(): ChannelLink {
    const speaking = () => this.isOver ? undefined : this.#engine;
    const pulse = () => this.#pulse;
    return {
      sendData: (channel, bytes) => speaking()?.sendData(channel, bytes),
      sendWindow: (channel, amount) => speaking()?.sendWindow(channel, amount),
      sendEnd: (channel) => speaking()?.sendEnd(channel),
      sendClose: (channel) => speaking()?.sendClose(channel),
      room: () => this.#output.room(),
      now: () => this.#clock.now(),
      get roundTrip() {
        return pulse().shortestRoundTrip;
      },
    };
  }

  #speaking(): SshEngine {
    if (this.isOver || !this.#engine) throw this.#reason;
    return this.#engine;
  }

  #freeId(): number {
    while (this.#channels.has(this.#nextChannel)) this.#nextChannel = (this.#nextChannel + 1) >>> 0;
    const id = this.#nextChannel;
    this.#nextChannel = (id + 1) >>> 0;
    return id;
  }

  /** Ends everything with one error that all share: a thousand channels would make a thousand stacks. */
  #fail(error: unknown): void {
    if (this.isOver) return;
    this.#reason = error;
    this.#pulse[Symbol.dispose]();
    this.#engine?.free();
    this.#output.close();
    this.#keysExchanged.reject(error);
    this.#signIn.onLost(error);
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    this.#open = 0;
    for (const channel of channels) {
      if (channel instanceof SshChannel) channel.onLost(error);
      else {
        channel.settled?.();
        channel.reject(error);
      }
    }
    this.#conn.abort(error);
    this.#end.resolve();
  }
}

interface Opening {
  readonly target: Target;
  readonly resolve: (conn: Conn) => void;
  readonly reject: (error: unknown) => void;
  settled?: () => void;
  isGivenUp: boolean;
}

/** ssh2 takes no larger packets (RFC 4253, section 6.1 asks for 35000 bytes in all). */
const largestPacket = 32 * 1024;
const smallestRead = 16 * 1024;
const largestRead = 256 * 1024;
