import { type Clock, type Conn, GatheredOutput, whenAborted } from "../../core/mod.ts";
import { Pulse } from "../../mux/mod.ts";
import { PosternError, type Target } from "../../words/mod.ts";
import { SshChannels } from "./ssh_channels.ts";
import { type SshAlgorithms, SshEngine, type SshMessageHandlers } from "../hops/ssh_engine.ts";
import { closedByServer, disconnected, lostConnection, protocolFailure } from "./ssh_session_failure.ts";
import { RoundTrips } from "./round_trips.ts";
import { type SignInLink, SshSignIn } from "../sign_in/ssh_sign_in.ts";

export interface SshSessionOptions {
  /** The server's name in messages: `ssh jump1`. */
  readonly label: string;
  readonly clock: Clock;
  readonly algorithms: SshAlgorithms;
  /** Rejects when the server's key is not trusted. */
  readonly verifyHostKey: (key: Uint8Array<ArrayBuffer>) => Promise<void>;
  /** Signs in; rejects when no sign-in method is left. */
  readonly signIn: (link: SignInLink) => Promise<void>;
  /** Milliseconds without data before a keepalive, and before the session ends. */
  readonly keepalive: number;
  readonly deadAfter: number;
  readonly onStep?: ((step: string) => void) | undefined;
}

/** One ssh connection, signed in, with its channels. It ends with its connection and cannot be restarted. */
export class SshSession implements AsyncDisposable {
  readonly label: string;
  /** Resolves when the session ends; `reason` is the cause. */
  readonly ended: Promise<void>;
  readonly #conn: Conn;
  readonly #options: SshSessionOptions;
  readonly #output: GatheredOutput;
  readonly #pulse: Pulse;
  readonly #roundTrips: RoundTrips;
  readonly #signIn: SshSignIn;
  readonly #end = Promise.withResolvers<void>();
  readonly #keysExchanged = Promise.withResolvers<void>();
  /** Uploads that wait for new keys. */
  #newKeys: PromiseWithResolvers<void> | undefined;
  readonly #channels: SshChannels;
  #engine: SshEngine | undefined;
  #hasKeys = false;
  #hostKey: Uint8Array<ArrayBuffer> | undefined;
  #isVerifying: Promise<void> | undefined;
  #reason: unknown;
  #reading: Promise<void> = Promise.resolve();

  private constructor(conn: Conn, options: SshSessionOptions) {
    const { label, clock, keepalive, deadAfter } = options;
    this.label = label;
    this.#conn = conn;
    this.#options = options;
    this.ended = this.#end.promise;
    this.#output = new GatheredOutput(conn, {
      onFailure: (error) => this.#fail(lostConnection(this.label, error)),
    });
    this.#signIn = new SshSignIn(
      (method, message) => this.#speaking().sendSignIn(method, message),
      () => this.#speaking().sessionId,
    );
    this.#roundTrips = new RoundTrips(clock);
    this.#pulse = new Pulse({
      clock,
      keepalive,
      deadAfter,
      // The time for an answer counts from the keepalive, even a late one: after sleep, the silence says
      // nothing.
      patience: Math.max(deadAfter - keepalive, keepalive / 2),
      beat: keepalive / 2,
      ask: () => {
        this.#roundTrips.onAsked();
        this.#engine?.sendPing();
      },
      onDead: (ms) =>
        this.#fail(
          new PosternError(
            "timeout",
            `Cannot keep the session with ${label}: no data for ${Math.round(ms)} ms`,
          ),
        ),
    });
    this.#channels = new SshChannels({
      label,
      engine: () => this.isOver ? undefined : this.#engine,
      room: () => this.#room(),
      now: () => clock.now(),
      roundTrip: () => this.#roundTrips.shortest,
    });
    // `open` reports the failure; without this, an earlier rejection would be unhandled.
    this.#keysExchanged.promise.catch(() => {});
  }

  /** Exchanges keys, verifies the server's key and signs in. Takes ownership of the connection. */
  static async open(
    conn: Conn,
    options: SshSessionOptions & { readonly signal: AbortSignal },
  ): Promise<SshSession> {
    const { signal } = options;
    const session = new SshSession(conn, options);
    using _stop = whenAborted(signal, () => session.#fail(signal.reason));
    try {
      signal.throwIfAborted();
      await session.#start();
      return session;
    } catch (error) {
      session.#fail(error);
      // The host key check has the same signal: wait for it, so that it does not outlive an aborted dial.
      if (signal.aborted) await session.#isVerifying;
      throw session.#reason;
    }
  }

  /** Why the session ended; undefined while it lives. */
  get reason(): unknown {
    return this.#reason;
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** The number of open channels. */
  get channels(): number {
    return this.#channels.open;
  }

  /** When the last byte arrived, by the clock. */
  get heardAt(): number {
    return this.#pulse.heardAt;
  }

  /** The last measured round trip in milliseconds. */
  get roundTrip(): number | undefined {
    return this.#roundTrips.last;
  }

  /** How many milliseconds a keepalive has been unanswered. */
  get waiting(): number {
    return this.#roundTrips.waiting;
  }

  /** Whether the server has answered a keepalive sent then or later. */
  hasAnsweredSince(time: number): boolean {
    return this.#roundTrips.hasAnsweredSince(time);
  }

  /** Sends a keepalive now: after sleep, or when the network changed. */
  check(): void {
    if (!this.isOver) this.#pulse.check();
  }

  /** Opens a connection from the server to a target; the server resolves names. */
  connect(target: Target, { signal }: { readonly signal: AbortSignal }): Promise<Conn> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.isOver) return Promise.reject(this.#reason);
    return this.#channels.connect(target, { engine: this.#speaking(), signal });
  }

  /** Sends a disconnect message and closes the connection; open channels end. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isOver) {
      this.#engine?.disconnect();
      await this.#output.flush();
      this.#fail(new PosternError("cancelled", `postern closed the session with ${this.label}`));
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
    // Send it immediately: the answer measures the round trip.
    this.#pulse.check();
  }

  /**
   * Reads from the connection. ssh2 keeps parts of the buffer until the first key exchange; afterwards the
   * buffer is reused.
   */
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
      // ssh2 completes its key exchange during the lookup of the host key; later messages wait.
      if (this.#isVerifying) await this.#isVerifying;
      if (!this.#hasKeys) into = new Uint8Array(smallestRead);
      else if (count === into.length && count < largestRead) into = new Uint8Array(count * 4);
    }
  }

  /** In later key exchanges, the server must show the same key as in the first. */
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
    this.#wakeUploads();
  }

  #wakeUploads(): void {
    this.#newKeys?.resolve();
    this.#newKeys = undefined;
  }

  /** Without waiting for new keys, uploads would fill the queue of ssh2, and after it the output. */
  #room(): Promise<void> | undefined {
    if (!this.#engine?.isExchangingKeys) return this.#output.room();
    return (this.#newKeys ??= Promise.withResolvers<void>()).promise;
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
      REQUEST_SUCCESS: () => this.#roundTrips.onAnswer(),
      REQUEST_FAILURE: () => this.#roundTrips.onAnswer(),
      GLOBAL_REQUEST: (_, _name, wantsReply) => void (wantsReply && this.#engine?.refuseRequest()),
      ...this.#channels.handlers,
    };
  }

  #speaking(): SshEngine {
    if (this.isOver || !this.#engine) throw this.#reason;
    return this.#engine;
  }

  #fail(error: unknown): void {
    if (this.isOver) return;
    this.#reason = error;
    this.#pulse[Symbol.dispose]();
    this.#engine?.free();
    this.#output.close();
    this.#wakeUploads();
    this.#keysExchanged.reject(error);
    this.#signIn.onLost(error);
    this.#channels.fail(error);
    this.#conn.abort(error);
    this.#end.resolve();
  }
}

const smallestRead = 16 * 1024;
const largestRead = 256 * 1024;
