import { PosternError } from "../words/mod.ts";
import { messageOf } from "./open_pgp_message.ts";

type Library = typeof import("./open_pgp_library.ts");
type PrivateKey = Awaited<ReturnType<Library["readPrivateKeys"]>>[number];

/** The result of a decryption: the text, the keys of other recipients, or a problem. */
export type Opened =
  | { readonly text: string }
  | { readonly otherKeys: readonly string[] }
  | { readonly problem: string };

/** One armored key block; a file may contain several. */
const armor = /-----BEGIN PGP PRIVATE KEY BLOCK-----.*?-----END PGP PRIVATE KEY BLOCK-----/gs;

/** Maximum number of keys in a file; a user has one, or two during a change. */
const mostKeys = 20;

/** Maximum size of a decrypted message in bytes, against compression bombs. */
const mostText = 1024 * 1024;

/** A user's OpenPGP private keys, kept in memory only. */
export class PrivateKeys {
  readonly #library: Library;
  readonly #keys: readonly PrivateKey[];
  /** The source of the keys, for messages. */
  readonly #from: string;

  private constructor(library: Library, keys: readonly PrivateKey[], from: string) {
    this.#library = library;
    this.#keys = keys;
    this.#from = from;
  }

  /** Reads keys as `gpg --export-secret-keys` writes them, with or without `--armor`. */
  static async read(bytes: Uint8Array, { from }: { from: string }): Promise<PrivateKeys> {
    const library = await import("./open_pgp_library.ts");
    const text = new TextDecoder().decode(bytes);
    const blocks = text.match(armor);
    const keys: PrivateKey[] = [];
    try {
      if (!blocks) keys.push(...await library.readPrivateKeys({ binaryKeys: bytes }));
      for (const armoredKeys of blocks?.slice(0, mostKeys + 1) ?? []) {
        keys.push(...await library.readPrivateKeys({ armoredKeys }));
      }
    } catch {
      // The library's error may contain a part of the key.
      throw unusable(
        from,
        /BEGIN PGP PUBLIC KEY/.test(text) ? "it is a public key" : "it is not a private key",
      );
    }
    if (keys.length === 0) throw unusable(from, "it is not a private key");
    if (keys.length > mostKeys) throw unusable(from, `it has more than ${mostKeys} keys`);
    return new PrivateKeys(library, keys, from);
  }

  /** Whether the keys need a passphrase. */
  get isLocked(): boolean {
    return this.#keys.some((key) => !key.isDecrypted());
  }

  /** The fingerprint of the first key, which identifies its owner. */
  get fingerprint(): string {
    return this.#keys[0]?.getFingerprint().toUpperCase() ?? "";
  }

  /** The ids of all keys and their subkeys. */
  get ids(): readonly string[] {
    return this.#keys.flatMap((key) => key.getKeys().map((one) => one.getKeyID().toHex().toUpperCase()));
  }

  /** The keys that a passphrase decrypts; undefined if it decrypts none. */
  async unlocked(passphrase: string): Promise<PrivateKeys | undefined> {
    const keys: PrivateKey[] = [];
    for (const privateKey of this.#keys) {
      if (privateKey.isDecrypted()) keys.push(privateKey);
      else {
        const key = await this.#unlock(privateKey, passphrase);
        if (key) keys.push(key);
      }
    }
    return keys.length === 0 ? undefined : new PrivateKeys(this.#library, keys, this.#from);
  }

  async #unlock(privateKey: PrivateKey, passphrase: string): Promise<PrivateKey | undefined> {
    try {
      return await this.#library.decryptKey({ privateKey, passphrase });
    } catch (error) {
      if (/passphrase/i.test(String(error))) return undefined;
      throw unusable(this.#from, "it is damaged or of an unknown type");
    }
  }

  /** Decrypts a message, armored or binary as base64. */
  async open(data: string): Promise<Opened> {
    const message = await messageOf(this.#library, data);
    if (!message) return { problem: "it is not an OpenPGP message" };
    const ids = message.getEncryptionKeyIDs().map((id) => id.toHex().toUpperCase());
    if (ids.length === 0) return { problem: "it has no recipient" };
    const own = this.ids;
    // Key id zero hides the recipient, so the message must be tried.
    const isHidden = ids.some((id) => /^0+$/.test(id));
    if (!isHidden && !ids.some((id) => own.includes(id))) return { otherKeys: ids };
    try {
      const { data: text } = await this.#library.decrypt({
        message,
        decryptionKeys: [...this.#keys],
        config: { maxDecompressedMessageSize: mostText },
      });
      const opened = String(text);
      return opened.length > mostText ? { problem: "it is too long" } : { text: opened };
    } catch (error) {
      if (isHidden) return { otherKeys: ids };
      const isLong = /maximum decompressed/i.test(String(error));
      return { problem: isLong ? "it is too long" : "it is for your key but damaged" };
    }
  }
}

/** Encrypts a text for a public key; undefined if the text contains no key. */
export async function encryptedFor(
  armoredKey: string,
  text: string,
): Promise<{ readonly message: string; readonly fingerprint: string } | undefined> {
  const { createMessage, encrypt, readKey } = await import("./open_pgp_library.ts");
  try {
    const key = await readKey({ armoredKey });
    const message = await encrypt({ message: await createMessage({ text }), encryptionKeys: key });
    return { message: String(message), fingerprint: key.getFingerprint().toUpperCase() };
  } catch {
    // An invalid key is not the expected one either.
    return undefined;
  }
}

function unusable(from: string, why: string): PosternError {
  return new PosternError("config", `Cannot use the private key of ${from}: ${why}`, {
    hint: "export it: gpg --armor --export-secret-keys",
  });
}
