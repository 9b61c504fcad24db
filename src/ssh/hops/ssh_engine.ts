import { Buffer } from "node:buffer";
import { ChaChaPolyCipher, ChaChaPolyDecipher, type ChaChaTools } from "../session/chacha20_poly1305.ts";
import {
  type AlgorithmConstants,
  loadSsh2,
  type Ssh2Cipher,
  type Ssh2Decipher,
  type Ssh2Library,
  type Ssh2Protocol,
} from "../session/ssh2_library.ts";

/** Algorithm names in order of preference; an absent list means the default. */
export interface SshAlgorithms {
  readonly kex?: readonly string[] | undefined;
  readonly hostKey?: readonly string[] | undefined;
  readonly ciphers?: readonly string[] | undefined;
  readonly macs?: readonly string[] | undefined;
}

/** The callbacks of ssh2 for the messages that it has read. The first argument is ssh2's own object. */
export interface SshMessageHandlers {
  DISCONNECT(engine: unknown, reason: number, description: string): void;
  SERVICE_ACCEPT(engine: unknown, name: string): void;
  EXT_INFO(
    engine: unknown,
    extensions: readonly { readonly name: string; readonly algs?: readonly string[] }[],
  ): void;
  USERAUTH_SUCCESS(engine: unknown): void;
  USERAUTH_FAILURE(engine: unknown, methods: readonly string[], partial: boolean): void;
  USERAUTH_PK_OK(engine: unknown): void;
  USERAUTH_PASSWD_CHANGEREQ(engine: unknown, prompt: string): void;
  USERAUTH_INFO_REQUEST(
    engine: unknown,
    name: string,
    instructions: string,
    questions: readonly { readonly prompt: string; readonly echo: boolean }[],
  ): void;
  REQUEST_SUCCESS(engine: unknown): void;
  REQUEST_FAILURE(engine: unknown): void;
  GLOBAL_REQUEST(engine: unknown, name: string, wantsReply: boolean): void;
  CHANNEL_OPEN(engine: unknown, channel: { readonly sender: number }): void;
  CHANNEL_OPEN_CONFIRMATION(
    engine: unknown,
    channel: {
      readonly recipient: number;
      readonly sender: number;
      readonly window: number;
      readonly packetSize: number;
    },
  ): void;
  CHANNEL_OPEN_FAILURE(engine: unknown, recipient: number, reason: number, description: string): void;
  CHANNEL_DATA(engine: unknown, recipient: number, data: Uint8Array<ArrayBuffer>): void;
  CHANNEL_EXTENDED_DATA(
    engine: unknown,
    recipient: number,
    data: Uint8Array<ArrayBuffer>,
    type: number,
  ): void;
  CHANNEL_WINDOW_ADJUST(engine: unknown, recipient: number, amount: number): void;
  CHANNEL_EOF(engine: unknown, recipient: number): void;
  CHANNEL_CLOSE(engine: unknown, recipient: number): void;
  CHANNEL_REQUEST(engine: unknown, recipient: number, type: string, wantsReply: boolean): void;
}

export interface SshEngineOptions {
  readonly algorithms: SshAlgorithms;
  readonly handlers: SshMessageHandlers;
  /** Receives bytes for the server; must use or copy them before it returns. */
  readonly onOutput: (bytes: Uint8Array) => void;
  /** Called once, with the error that ends the connection. */
  readonly onFailure: (error: Error) => void;
  /**
   * Called in each key exchange with the server's key; returns whether to trust it. Returns undefined to call
   * `decide` later, in the first exchange only: in a later one, ssh2 would keep sending under the old keys
   * while it waits.
   */
  readonly onHostKey: (
    key: Uint8Array<ArrayBuffer>,
    decide: (isRight: boolean) => void,
  ) => boolean | undefined;
  /** Called after each key exchange. */
  readonly onKeysExchanged: () => void;
}

/**
 * Wraps ssh2's protocol: key exchange, encryption, framing and message parsing. We implement sign-in,
 * channels and timeouts. Only this file uses ssh2's internals; a test fails when they change.
 */
export class SshEngine {
  readonly #protocol: Ssh2Protocol;
  readonly #library: Ssh2Library;

  private constructor(library: Ssh2Library, options: SshEngineOptions) {
    this.#library = library;
    const { algorithms } = options;
    const { constants } = library;
    const pick = (wanted: readonly string[] | undefined, usual: string[], known: string[]) =>
      wanted ? wanted.filter((name) => known.includes(name)) : usual;
    const streams = {
      cipher: pick(algorithms.ciphers, quickFirst(constants.DEFAULT_CIPHER), constants.SUPPORTED_CIPHER),
      mac: pick(algorithms.macs, constants.DEFAULT_MAC, constants.SUPPORTED_MAC),
      // Most data is TLS, which does not compress.
      compress: ["none"],
      lang: [],
    };
    this.#protocol = new library.Protocol({
      ident: "postern",
      offer: {
        kex: pick(algorithms.kex, constants.DEFAULT_KEX, constants.SUPPORTED_KEX),
        serverHostKey: pick(
          algorithms.hostKey,
          usualHostKeys(constants),
          constants.SUPPORTED_SERVER_HOST_KEY,
        ),
        cs: streams,
        sc: streams,
      },
      onWrite: options.onOutput,
      onError: options.onFailure,
      onHandshakeComplete: options.onKeysExchanged,
      hostVerifier: options.onHostKey,
      messageHandlers: options.handlers,
    });
    watchCiphers(this.#protocol, library.tools);
  }

  /** Creates an engine; loads ssh2 on first use. */
  static async create(options: SshEngineOptions): Promise<SshEngine> {
    return new SshEngine(await loadSsh2(), options);
  }

  /**
   * Returns the host key algorithms that ssh2 can verify, best first; those in `onRequest` only if the user
   * configures them.
   */
  static async hostKeyAlgorithms(): Promise<
    { readonly usual: readonly string[]; readonly onRequest: readonly string[] }
  > {
    const { constants } = await loadSsh2();
    return { usual: usualHostKeys(constants), onRequest: weakHostKeys };
  }

  /** Returns the option whose list contains no algorithm that ssh2 knows. */
  static async unknownAlgorithms(algorithms: SshAlgorithms): Promise<string | undefined> {
    const { constants } = await loadSsh2();
    const lists = [
      ["KexAlgorithms", algorithms.kex, constants.SUPPORTED_KEX],
      ["Ciphers", algorithms.ciphers, constants.SUPPORTED_CIPHER],
      ["MACs", algorithms.macs, constants.SUPPORTED_MAC],
    ] as const;
    return lists.find(([, wanted, known]) => wanted && !wanted.some((name) => known.includes(name)))?.[0];
  }

  /** The exchange hash of the first key exchange; signatures are bound to it. */
  get sessionId(): Uint8Array {
    return this.#protocol._kex.sessionID;
  }

  /** Whether ssh2 queues data until the keys are exchanged. */
  get isExchangingKeys(): boolean {
    return this.#protocol._kexinit !== undefined;
  }

  /** Sends our version. */
  start(): void {
    this.#protocol.start();
  }

  /**
   * Parses bytes from the server; throws on invalid ones. Does not keep the buffer after the first key
   * exchange.
   */
  receive({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): void {
    this.#protocol.parse(Buffer.from(buffer, byteOffset, byteLength), 0, byteLength);
  }

  requestService(name: string): void {
    this.#protocol.service(name);
  }

  /**
   * Sends a complete sign-in message; `method` decides how to read an ambiguous answer (RFC 4252, section 5).
   */
  sendSignIn(method: string, payload: Uint8Array): void {
    this.#protocol._authsQueue.push(method);
    this.#send(payload);
  }

  /** Sends a complete message for which ssh2 has no method. */
  #send(payload: Uint8Array): void {
    const { write } = this.#protocol._packetRW;
    const at = write.allocStart;
    const packet = write.alloc(payload.length);
    packet.set(payload, at);
    this.#library.sendPacket(this.#protocol, write.finalize(packet));
  }

  openTcp(channel: number, { window, packetSize, host, port, origin }: {
    window: number;
    packetSize: number;
    host: string;
    port: number;
    origin: string;
  }): void {
    const ends = { dstIP: host, dstPort: port, srcIP: origin, srcPort: 0 };
    this.#protocol.directTcpip(channel, window, packetSize, ends);
  }

  /** Encrypts immediately: the caller may reuse `bytes`. */
  sendData(channel: number, { buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): void {
    this.#protocol.channelData(channel, Buffer.from(buffer, byteOffset, byteLength));
  }

  sendWindow(channel: number, amount: number): void {
    this.#protocol.channelWindowAdjust(channel, amount);
  }

  sendEnd(channel: number): void {
    this.#protocol.channelEOF(channel);
  }

  sendClose(channel: number): void {
    this.#protocol.channelClose(channel);
  }

  /** Sends a request that every server answers, even if only as unknown. */
  sendPing(): void {
    this.#protocol.ping();
  }

  refuseRequest(): void {
    this.#protocol.requestFailure();
  }

  refuseChannelRequest(channel: number): void {
    this.#protocol.channelFailure(channel);
  }

  /** Refuses a channel that the server opens: we never ask for one. */
  refuseChannel(channel: number): void {
    this.#protocol.channelOpenFail(channel, administrativelyProhibited, "");
  }

  disconnect(): void {
    this.#protocol.disconnect(byApplication);
  }

  /** Releases the ciphers' memory. */
  free(): void {
    const { _cipher, _decipher } = this.#protocol;
    this.#protocol.cleanup();
    release(_cipher);
    release(_decipher);
  }
}

/** Finishes a cipher: until then the system keeps its memory. */
function release(
  cipher: Ssh2Cipher | Ssh2Decipher | ChaChaPolyCipher | ChaChaPolyDecipher | undefined,
): void {
  const running = cipher && "_cipherInstance" in cipher
    ? cipher._cipherInstance
    : cipher && "_decipherInstance" in cipher
    ? cipher._decipherInstance
    : undefined;
  try {
    running?.final();
  } catch {
    // The cipher is finished already, or has an incomplete packet; its memory is released in both cases.
  }
}

/** Deno's AES runs at half the speed of its ChaCha20; OpenSSH also prefers ChaCha20. */
function quickFirst(ciphers: readonly string[]): string[] {
  return ciphers.toSorted((a, b) => Number(b.startsWith("chacha20")) - Number(a.startsWith("chacha20")));
}

/** Algorithms that sign with SHA-1. */
const weakHostKeys: readonly string[] = ["ssh-rsa"];

function usualHostKeys({ DEFAULT_SERVER_HOST_KEY }: AlgorithmConstants): string[] {
  return DEFAULT_SERVER_HOST_KEY.filter((name) => !weakHostKeys.includes(name));
}

const administrativelyProhibited = 1;
const byApplication = 11;

/** Replaces ssh2's chacha20-poly1305 with ours after each key exchange, and releases the old cipher. */
function watchCiphers(protocol: Ssh2Protocol, tools: ChaChaTools): void {
  let out = protocol._cipher;
  let into = protocol._decipher;
  Object.defineProperties(protocol, {
    _cipher: {
      get: () => out,
      set: (made: Ssh2Cipher) => {
        release(out);
        const { _encKeyMain: main, _encKeyPktLen: lengths, outSeqno: sequence, _onWrite: write } = made;
        out = main && lengths ? new ChaChaPolyCipher({ main, lengths, sequence, write }, tools) : made;
      },
    },
    _decipher: {
      get: () => into,
      set: (made: Ssh2Decipher) => {
        release(into);
        const { _decKeyMain: main, _decKeyPktLen: lengths, inSeqno: sequence, _onPayload: onPayload } = made;
        into = main && lengths ? new ChaChaPolyDecipher({ main, lengths, sequence, onPayload }, tools) : made;
      },
    },
  });
}
