import { Buffer } from "node:buffer";
import {
  ChaChaPolyCipher,
  ChaChaPolyDecipher,
  type ChaChaTools,
  type Poly1305,
} from "./chacha20_poly1305.ts";

/** Algorithm names in the order of preference; absent lists are the defaults. */
export interface SshAlgorithms {
  readonly kex?: readonly string[] | undefined;
  readonly hostKey?: readonly string[] | undefined;
  readonly ciphers?: readonly string[] | undefined;
  readonly macs?: readonly string[] | undefined;
}

/** What ssh2 tells of the messages it has read. The first argument is ssh2's own object. */
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
  /** Takes bytes for the server; they must be used or copied at once. */
  readonly onOutput: (bytes: Uint8Array) => void;
  /** Told once, of what ends the conversation. */
  readonly onFailure: (error: Error) => void;
  /**
   * Asked for each key exchange whether the server's key is right; undefined when `decide` tells it later. That is for
   * the first one only: in a later one, ssh2 would go on sending under the old keys meanwhile.
   */
  readonly onHostKey: (
    key: Uint8Array<ArrayBuffer>,
    decide: (isRight: boolean) => void,
  ) => boolean | undefined;
  /** Told after each key exchange. */
  readonly onKeysExchanged: () => void;
}

/**
 * The ssh protocol as ssh2 speaks it: key exchange, encryption, framing and the reading of messages. Sign-in,
 * channels and time are ours. This file alone knows ssh2's insides; a test fails when they move.
 */
export class SshEngine {
  readonly #protocol: Ssh2Protocol;
  readonly #library: Library;

  private constructor(library: Library, options: SshEngineOptions) {
    this.#library = library;
    const { algorithms } = options;
    const { constants } = library;
    const pick = (wanted: readonly string[] | undefined, usual: string[], known: string[]) =>
      wanted ? wanted.filter((name) => known.includes(name)) : usual;
    const streams = {
      cipher: pick(algorithms.ciphers, quickFirst(constants.DEFAULT_CIPHER), constants.SUPPORTED_CIPHER),
      mac: pick(algorithms.macs, constants.DEFAULT_MAC, constants.SUPPORTED_MAC),
      // Compressing what is mostly TLS costs time and gains nothing.
      compress: ["none"],
      lang: [],
    };
    this.#protocol = new library.Protocol({
      ident: "postern",
      offer: {
        kex: pick(algorithms.kex, constants.DEFAULT_KEX, constants.SUPPORTED_KEX),
        serverHostKey: pick(
          algorithms.hostKey,
          constants.DEFAULT_SERVER_HOST_KEY.filter((name) => name !== "ssh-rsa"),
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

  /** Loads ssh2 on first use: it takes a tenth of a second that a door without ssh need not spend. */
  static async create(options: SshEngineOptions): Promise<SshEngine> {
    return new SshEngine(await loadLibrary(), options);
  }

  /** The kinds of host keys it can check, best first. */
  static async hostKeyAlgorithms(): Promise<readonly string[]> {
    const { constants } = await loadLibrary();
    return constants.DEFAULT_SERVER_HOST_KEY.filter((name) => name !== "ssh-rsa");
  }

  /** Names a list of which nothing is known here. */
  static async unknownAlgorithms(algorithms: SshAlgorithms): Promise<string | undefined> {
    const { constants } = await loadLibrary();
    const lists = [
      ["KexAlgorithms", algorithms.kex, constants.SUPPORTED_KEX],
      ["Ciphers", algorithms.ciphers, constants.SUPPORTED_CIPHER],
      ["MACs", algorithms.macs, constants.SUPPORTED_MAC],
    ] as const;
    return lists.find(([, wanted, known]) => wanted && !wanted.some((name) => known.includes(name)))?.[0];
  }

  /** What the exchange hash of the first key exchange was: signatures are bound to it. */
  get sessionId(): Uint8Array {
    return this.#protocol._kex.sessionID;
  }

  /** Says who we are. */
  start(): void {
    this.#protocol.start();
  }

  /** Takes bytes of the server; throws where they make no sense. Not kept once the first keys are exchanged. */
  receive({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): void {
    this.#protocol.parse(Buffer.from(buffer, byteOffset, byteLength), 0, byteLength);
  }

  requestService(name: string): void {
    this.#protocol.service(name);
  }

  /** Sends a whole message of the sign-in; `method` decides how an ambiguous answer is read (RFC 4252, section 5). */
  sendSignIn(method: string, payload: Uint8Array): void {
    this.#protocol._authsQueue.push(method);
    this.#send(payload);
  }

  /** Sends a whole message for which no method of ssh2 fits. */
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

  /** Encrypts at once: `bytes` may be reused after. */
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

  /** A request that every server answers, be it with "unknown". */
  sendPing(): void {
    this.#protocol.ping();
  }

  refuseRequest(): void {
    this.#protocol.requestFailure();
  }

  refuseChannelRequest(channel: number): void {
    this.#protocol.channelFailure(channel);
  }

  /** Refuses a channel that the server wants to open: we asked for none. */
  refuseChannel(channel: number): void {
    this.#protocol.channelOpenFail(channel, administrativelyProhibited, "");
  }

  disconnect(): void {
    this.#protocol.disconnect(byApplication);
  }

  /** Ends all use of it. */
  free(): void {
    const { _cipher, _decipher } = this.#protocol;
    this.#protocol.cleanup();
    release(_cipher);
    release(_decipher);
  }
}

/** A cipher that lives as long as its keys is the system's until it is told to finish. */
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
    // Finished already, or in the middle of a packet that will never be whole: released in any case.
  }
}

/** Deno's AES runs at half the speed of its ChaCha20; as it happens, OpenSSH prefers the same. */
function quickFirst(ciphers: readonly string[]): string[] {
  return ciphers.toSorted((a, b) => Number(b.startsWith("chacha20")) - Number(a.startsWith("chacha20")));
}

const administrativelyProhibited = 1;
const byApplication = 11;

/** The part of ssh2's `Protocol` that is used here. */
interface Ssh2Protocol {
  /** Private: the session id is needed for signatures that ssh2 cannot make. */
  readonly _kex: { readonly sessionID: Uint8Array };
  /** Private: the running ciphers, which hold memory outside of the isolate. */
  _cipher?: Ssh2Cipher | ChaChaPolyCipher;
  _decipher?: Ssh2Decipher | ChaChaPolyDecipher;
  /** Private: whose answer comes next. */
  readonly _authsQueue: string[];
  /** Private: for messages that ssh2 has no method for. */
  readonly _packetRW: {
    readonly write: {
      readonly allocStart: number;
      alloc(size: number): Uint8Array;
      finalize(packet: Uint8Array): Uint8Array;
    };
  };
  start(): void;
  parse(bytes: Buffer, from: number, to: number): void;
  service(name: string): void;
  ping(): void;
  disconnect(reason: number): void;
  cleanup(): void;
  requestFailure(): void;
  directTcpip(
    channel: number,
    window: number,
    packetSize: number,
    ends: { dstIP: string; dstPort: number; srcIP: string; srcPort: number },
  ): void;
  channelData(channel: number, bytes: Buffer): void;
  channelWindowAdjust(channel: number, amount: number): void;
  channelEOF(channel: number): void;
  channelClose(channel: number): void;
  channelFailure(channel: number): void;
  channelOpenFail(channel: number, reason: number, description: string): void;
}

/** Puts our chacha20-poly1305 in the place of ssh2's own whenever a key exchange makes one, and releases the old. */
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

/** What ssh2's ciphers hold; the keys where the cipher is chacha20-poly1305. */
interface Ssh2Cipher {
  readonly outSeqno: number;
  readonly _onWrite: (bytes: Uint8Array) => void;
  readonly _cipherInstance?: { final(): unknown };
  readonly _encKeyMain?: Uint8Array;
  readonly _encKeyPktLen?: Uint8Array;
}

interface Ssh2Decipher {
  readonly inSeqno: number;
  readonly _onPayload: (payload: Buffer) => unknown;
  readonly _decipherInstance?: { final(): unknown } | null;
  readonly _decKeyMain?: Uint8Array;
  readonly _decKeyPktLen?: Uint8Array;
}

interface AlgorithmConstants {
  readonly DEFAULT_KEX: string[];
  readonly SUPPORTED_KEX: string[];
  readonly DEFAULT_SERVER_HOST_KEY: string[];
  readonly SUPPORTED_SERVER_HOST_KEY: string[];
  readonly DEFAULT_CIPHER: string[];
  readonly SUPPORTED_CIPHER: string[];
  readonly DEFAULT_MAC: string[];
  readonly SUPPORTED_MAC: string[];
}

interface Library {
  readonly Protocol: new (options: object) => Ssh2Protocol;
  readonly constants: AlgorithmConstants;
  readonly tools: ChaChaTools;
  sendPacket(protocol: Ssh2Protocol, packet: Uint8Array): boolean;
}

let library: Promise<Library> | undefined;

function loadLibrary(): Promise<Library> {
  return library ??= importLibrary();
}

async function importLibrary(): Promise<Library> {
  const [protocol, constants, utils, crypto, poly1305]: [
    { default: Library["Protocol"] },
    { default: AlgorithmConstants },
    { default: Pick<Library, "sendPacket"> },
    { default: { init: Promise<void> } },
    { default: () => Promise<PolyModule> },
  ] = await Promise.all([
    import("ssh2/lib/protocol/Protocol.js"),
    import("ssh2/lib/protocol/constants.js"),
    import("ssh2/lib/protocol/utils.js"),
    import("ssh2/lib/protocol/crypto.js"),
    import("ssh2/lib/protocol/crypto/poly1305.js"),
  ]);
  // Else ssh2 would go on initializing behind the first session.
  await crypto.default.init;
  const system = await import("node:crypto");
  const lists = Object.entries(constants.default)
    .filter((entry): entry is [keyof AlgorithmConstants, string[]] => Array.isArray(entry[1]));
  return {
    Protocol: protocol.default,
    constants: Object.fromEntries(
      lists.map(([name, list]) => [name, list.filter((algorithm) => !unusable.has(algorithm))]),
    ) as Record<keyof AlgorithmConstants, string[]>,
    tools: { poly1305: authenticatorOf(await poly1305.default()), createCipheriv: system.createCipheriv },
    sendPacket: utils.default.sendPacket,
  };
}

/** Poly1305 as ssh2 has it in WebAssembly. */
interface PolyModule {
  readonly HEAPU8: Uint8Array;
  _malloc(size: number): number;
  _poly1305_auth(
    out: number,
    head: number,
    headLength: number,
    body: number,
    bodyLength: number,
    key: number,
  ): void;
}

function authenticatorOf(module: PolyModule): Poly1305 {
  const [out, key, head, body] = [16, 32, 4, 40_000].map((size) => module._malloc(size));
  if (out === undefined || key === undefined || head === undefined || body === undefined) {
    throw new Error("there is no memory for poly1305");
  }
  return (headBytes, bodyBytes, keyBytes) => {
    const heap = module.HEAPU8;
    heap.set(keyBytes, key);
    heap.set(headBytes, head);
    heap.set(bodyBytes, body);
    module._poly1305_auth(out, head, headBytes.length, body, bodyBytes.length, key);
    return heap.subarray(out, out + 16);
  };
}

/** What ssh2 offers and Deno's crypto does not do. */
const unusable: ReadonlySet<string> = new Set(["ecdh-sha2-nistp521"]);
