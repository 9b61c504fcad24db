import type { PrivateKey } from "./ssh_private_key.ts";

/**
 * Keys that the user has opened with a passphrase, kept until the next reload. A new session, or another host
 * with the same key, needs no prompt. The passphrases are not kept.
 */
export class UnlockedKeys {
  readonly #keys = new Map<string, PrivateKey>();

  /** Returns the opened key of a file with this text. */
  of(text: string): PrivateKey | undefined {
    return this.#keys.get(text);
  }

  keep(text: string, key: PrivateKey): void {
    this.#keys.set(text, key);
  }

  forget(): void {
    this.#keys.clear();
  }
}
