import assert from "node:assert/strict";
import { runPeer } from "./peer_program.ts";

/** A key of somebody, as the real gpg has made it. */
export interface GpgKey {
  readonly name: string;
  readonly passphrase: string;
  /** The private key, armored. */
  readonly secret: string;
  readonly public: string;
  readonly fingerprint: string;
}

/** What kinds of keys people have. */
const kinds = {
  rsa: ["Key-Type: RSA", "Key-Length: 2048", "Subkey-Type: RSA", "Subkey-Length: 2048"],
  ecc: ["Key-Type: EDDSA", "Key-Curve: ed25519", "Subkey-Type: ECDH", "Subkey-Curve: cv25519"],
} as const;

/** The real gpg with a home of its own, whose agent ends when the directory is removed. */
export class GpgHome {
  readonly #gpg: string;
  readonly #directory: string;

  private constructor(gpg: string, directory: string) {
    this.#gpg = gpg;
    this.#directory = directory;
  }

  /** `directory` has to be short: a socket is in there. */
  static async open(gpg: string, directory: string): Promise<GpgHome> {
    await Deno.mkdir(directory, { mode: 0o700 });
    return new GpgHome(gpg, directory);
  }

  /** Makes a key; an empty passphrase leaves it without a lock. */
  async key(name: string, kind: keyof typeof kinds, passphrase: string): Promise<GpgKey> {
    const lock = passphrase === "" ? "%no-protection" : `Passphrase: ${passphrase}`;
    const address = `${name}@example.net`;
    const order = [...kinds[kind], `Name-Real: ${name}`, `Name-Email: ${address}`, lock, "%commit", ""];
    await this.#run(["--generate-key"], order.join("\n"));
    const secret = await this.#run(["--armor", "--export-secret-keys", address], passphrase, [
      ...["--pinentry-mode", "loopback", "--passphrase-fd", "0"],
    ]);
    const listed = await this.#run(["--list-keys", "--with-colons", address]);
    const fingerprint = /^fpr:+([0-9A-F]{40}):/m.exec(listed)?.[1] ?? assert.fail(listed);
    return {
      name,
      passphrase,
      secret,
      public: await this.#run(["--armor", "--export", address]),
      fingerprint,
    };
  }

  /** The private subkeys alone, of somebody whose primary key is kept elsewhere. */
  subkeys({ fingerprint, passphrase }: GpgKey): Promise<string> {
    return this.#run(["--armor", "--export-secret-subkeys", fingerprint], passphrase, [
      ...["--pinentry-mode", "loopback", "--passphrase-fd", "0"],
    ]);
  }

  /** Encrypts for some people: armored, or binary as base64; `hidden` leaves out for whom it is. */
  async encrypt(
    text: string,
    keys: readonly GpgKey[],
    { form = "armor", hidden = false }: { form?: "armor" | "base64"; hidden?: boolean } = {},
  ): Promise<string> {
    const recipients = keys.flatMap(({ fingerprint }) => [hidden ? "-R" : "-r", fingerprint]);
    const armored = await this.#run(["--trust-model", "always", "--armor", ...recipients, "--encrypt"], text);
    if (form === "armor") return armored;
    // Between the head and the checksum of the armor is the message in base64.
    return /\r?\n\r?\n([^=]+={0,2})\r?\n=/.exec(armored)?.[1]?.replaceAll(/\s/g, "") ?? assert.fail(armored);
  }

  /** Decrypts with a key of this home that has no lock. */
  decrypt(message: string): Promise<string> {
    return this.#run(["--decrypt"], message);
  }

  async #run(args: readonly string[], stdin = "", before: readonly string[] = []): Promise<string> {
    const all = ["--homedir", this.#directory, "--batch", "--yes", ...before, ...args];
    const { code, stdout, stderr } = await runPeer(this.#gpg, all, {
      stdin,
      env: { HOME: this.#directory, GNUPGHOME: this.#directory },
    });
    assert.equal(code, 0, stderr);
    return stdout;
  }
}
