import type { Buffer } from "node:buffer";
import type { ChaChaPolyCipher, ChaChaPolyDecipher, ChaChaTools, Poly1305 } from "./chacha20_poly1305.ts";

/** The part of ssh2's `Protocol` that we use. */
export interface Ssh2Protocol {
  /** Private in ssh2: signatures that ssh2 cannot make need the session id. */
  readonly _kex: { readonly sessionID: Uint8Array };
  /** Private in ssh2: our offer during a key exchange; ssh2 queues all data until its end, without a bound. */
  readonly _kexinit: Uint8Array | undefined;
  /** Private in ssh2: the current ciphers, which hold memory outside the isolate. */
  _cipher?: Ssh2Cipher | ChaChaPolyCipher;
  _decipher?: Ssh2Decipher | ChaChaPolyDecipher;
  /** Private in ssh2: the method of the next answer. */
  readonly _authsQueue: string[];
  /** Private in ssh2: for messages that ssh2 has no method for. */
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

/** The state of ssh2's ciphers; the keys are set for chacha20-poly1305. */
export interface Ssh2Cipher {
  readonly outSeqno: number;
  readonly _onWrite: (bytes: Uint8Array) => void;
  readonly _cipherInstance?: { final(): unknown };
  readonly _encKeyMain?: Uint8Array;
  readonly _encKeyPktLen?: Uint8Array;
}

/** The state of ssh2's deciphers. */
export interface Ssh2Decipher {
  readonly inSeqno: number;
  readonly _onPayload: (payload: Buffer) => unknown;
  readonly _decipherInstance?: { final(): unknown } | null;
  readonly _decKeyMain?: Uint8Array;
  readonly _decKeyPktLen?: Uint8Array;
}

/** The algorithm names that ssh2 knows, best first. */
export interface AlgorithmConstants {
  readonly DEFAULT_KEX: string[];
  readonly SUPPORTED_KEX: string[];
  readonly DEFAULT_SERVER_HOST_KEY: string[];
  readonly SUPPORTED_SERVER_HOST_KEY: string[];
  readonly DEFAULT_CIPHER: string[];
  readonly SUPPORTED_CIPHER: string[];
  readonly DEFAULT_MAC: string[];
  readonly SUPPORTED_MAC: string[];
}

/** The parts of ssh2 and of the system's crypto that we use. */
export interface Ssh2Library {
  readonly Protocol: new (options: object) => Ssh2Protocol;
  readonly constants: AlgorithmConstants;
  readonly tools: ChaChaTools;
  sendPacket(protocol: Ssh2Protocol, packet: Uint8Array): boolean;
}

let library: Promise<Ssh2Library> | undefined;

/** Loads ssh2 on first use: loading takes 0.1 s, which an instance without ssh saves. */
export function loadSsh2(): Promise<Ssh2Library> {
  return library ??= importLibrary();
}

async function importLibrary(): Promise<Ssh2Library> {
  const [protocol, constants, utils, crypto, poly1305]: [
    { default: Ssh2Library["Protocol"] },
    { default: AlgorithmConstants },
    { default: Pick<Ssh2Library, "sendPacket"> },
    { default: { init: Promise<void> } },
    { default: () => Promise<PolyModule> },
  ] = await Promise.all([
    import("ssh2/lib/protocol/Protocol.js"),
    import("ssh2/lib/protocol/constants.js"),
    import("ssh2/lib/protocol/utils.js"),
    import("ssh2/lib/protocol/crypto.js"),
    import("ssh2/lib/protocol/crypto/poly1305.js"),
  ]);
  // Without this, ssh2 would keep initializing after the first session.
  await crypto.default.init;
  const system = await import("node:crypto");
  const unusable = unusableWith(system);
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

/** ssh2's Poly1305 in WebAssembly. */
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
    throw new Error("no memory for poly1305");
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

/**
 * The algorithms that ssh2 offers but Deno's crypto lacks; older versions fail with AES-GCM only when a
 * message arrives.
 */
function unusableWith(
  { createCipheriv, createDecipheriv }: Pick<
    typeof import("node:crypto"),
    "createCipheriv" | "createDecipheriv"
  >,
): ReadonlySet<string> {
  const names = new Set(["ecdh-sha2-nistp521"]);
  const [key, iv] = [new Uint8Array(16), new Uint8Array(12)];
  const cipher = createCipheriv("aes-128-gcm", key, iv);
  cipher.final();
  try {
    createDecipheriv("aes-128-gcm", key, iv).setAutoPadding(false).setAuthTag(cipher.getAuthTag()).final();
  } catch {
    for (const bits of [128, 256]) names.add(`aes${bits}-gcm`).add(`aes${bits}-gcm@openssh.com`);
  }
  return names;
}
