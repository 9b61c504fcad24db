import type { PrivateKey } from "./ssh_private_key.ts";

/**
 * Keys that a person has opened with a passphrase, kept open until the configuration is read again: a session that
 * comes back, or another host with the same key, asks nobody. The passphrases themselves are not kept.
 */
export class UnlockedKeys {
  readonly #keys = new Map<string, PrivateKey>();

  /** The key of a file with this text, where it was opened before. */
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
