import type { Duplex } from "node:stream";
import { DuplexConn, type DuplexConnOptions, isSameBytes } from "../core/mod.ts";

/** The server part of ssh2, which only the demo uses. */
export interface Ssh2Server {
  readonly Server: new (options: object, onClient: (client: Ssh2Client) => void) => {
    injectSocket(socket: Duplex): void;
  };
  /** A new ed25519 key in OpenSSH's formats. */
  makeKey(): Ssh2KeyPair;
  isSignedBy(key: Ssh2KeyPair, attempt: SignInAttempt): boolean;
}

export interface Ssh2KeyPair {
  readonly public: string;
  readonly private: string;
}

export interface SignInAttempt {
  readonly method: string;
  readonly key?: { readonly data: Uint8Array };
  /**
   * The signed data, its algorithm and the signature; without a signature the client only asks whether the
   * key is accepted.
   */
  readonly blob?: Uint8Array;
  readonly signature?: Uint8Array;
  readonly hashAlgo?: string;
  accept(): void;
  reject(methods: readonly string[]): void;
}

export interface Ssh2Client {
  on(event: "authentication", handle: (attempt: SignInAttempt) => void): void;
  on(event: "error", handle: (error: Error) => void): void;
  on(
    event: "tcpip",
    handle: (
      accept: () => Ssh2Channel,
      reject: (reason: number) => void,
      target: { readonly destIP: string; readonly destPort: number },
    ) => void,
  ): void;
}

export interface Ssh2Channel extends Duplex {
  eof(): void;
}

/** Loads ssh2's server on first use. */
export async function loadSsh2Server(): Promise<Ssh2Server> {
  const [server, keygen, parser]: [
    { default: Ssh2Server["Server"] },
    { default: { generateKeyPairSync(type: string): Ssh2KeyPair } },
    { default: { parseKey(text: string): ParsedKey | Error } },
  ] = await Promise.all([
    import("ssh2/lib/server.js"),
    import("ssh2/lib/keygen.js"),
    import("ssh2/lib/protocol/keyParser.js"),
  ]);
  const { parseKey } = parser.default;
  // Its keepalive timer needs node's timers, which an older runtime does not give to a bundle; the client
  // sends keepalives.
  Object.assign(server.default, { KEEPALIVE_CLIENT_INTERVAL: 0 });
  return {
    Server: server.default,
    makeKey() {
      while (true) {
        const key = keygen.default.generateKeyPairSync("ed25519");
        // About one in a hundred keys that ssh2 generates is unreadable for ssh2.
        if (!(parseKey(key.private) instanceof Error)) return key;
      }
    },
    isSignedBy(pair, { key, blob, signature, hashAlgo }) {
      const known = parseKey(pair.public);
      if (known instanceof Error || !key || !isSameBytes(known.getPublicSSH(), key.data)) return false;
      return signature === undefined || known.verify(blob, signature, hashAlgo) === true;
    },
  };
}

interface ParsedKey {
  getPublicSSH(): Uint8Array;
  verify(data: Uint8Array | undefined, signature: Uint8Array, hash: string | undefined): boolean | Error;
}

/**
 * The server side of a channel. ssh2's `end` would close both directions, so half-close is implemented here.
 */
export class ServerChannel extends DuplexConn {
  readonly #channel: Ssh2Channel;

  constructor(channel: Ssh2Channel, options: DuplexConnOptions) {
    super(channel, options);
    this.#channel = channel;
  }

  override closeWrite(): Promise<void> {
    this.#channel.eof();
    return Promise.resolve();
  }

  /** ssh2 emits "close" only after a channel was read to its end, so disposal does not wait. */
  override [Symbol.asyncDispose](): Promise<void> {
    this.drop(new Error("The connection was closed"));
    return Promise.resolve();
  }
}
