import type { EmergencySettings, PrivateKeys } from "../emergency/mod.ts";
import { isMapping, parseDocument } from "../config/mod.ts";
import { directoryOf, type World } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";

/** Files that a person has named, which go before what the configuration and the environment say. */
export interface KeySources {
  readonly privateKeyFile?: string | undefined;
  readonly passphraseFile?: string | undefined;
  /** Tells the person what is worth a word. */
  readonly say: (note: string) => Promise<void>;
}

/** The most bytes of a private key file: a key with a photo in it may be large. */
const mostKey = 1024 * 1024;

/** The most bytes of a passphrase. */
const mostPassphrase = 4096;

/** How often a person may mistype. */
const mostTries = 3;

/** The person's private keys, opened when they are first needed: nobody is asked for nothing. */
export class EmergencyKey {
  readonly #world: World;
  readonly #settings: Pick<EmergencySettings, "privateKeyFile" | "passphraseFile">;
  readonly #sources: KeySources;
  #unlocked: Promise<PrivateKeys> | undefined;

  constructor(
    world: World,
    settings: Pick<EmergencySettings, "privateKeyFile" | "passphraseFile">,
    sources: KeySources,
  ) {
    this.#world = world;
    this.#settings = settings;
    this.#sources = sources;
  }

  /** The keys, without a lock. */
  unlocked({ signal }: { signal: AbortSignal }): Promise<PrivateKeys> {
    return this.#unlocked ??= this.#unlock(signal);
  }

  async #unlock(signal: AbortSignal): Promise<PrivateKeys> {
    const { bytes, from } = await this.#written(signal);
    const { PrivateKeys } = await import("../emergency/mod.ts");
    const keys = await PrivateKeys.read(bytes, { from });
    if (!keys.isLocked) return keys;
    const given = await this.#givenPassphrase();
    if (given) {
      const unlocked = await keys.unlocked(given.passphrase);
      if (unlocked) return unlocked;
      throw new PosternError(
        "auth",
        `Cannot unlock the private key of ${from}: the passphrase of ${given.from} is not the right one`,
        { hint: "try it with gpg --import; then name the right one with --passphrase-file FILE" },
      );
    }
    for (let left = mostTries; left > 0; left--) {
      const passphrase = await this.#world.terminal.ask(
        { text: `Passphrase of the private key of ${from}: `, echo: false },
        { signal },
      );
      if (passphrase === undefined) break;
      const unlocked = await keys.unlocked(passphrase);
      if (unlocked) return unlocked;
      await this.#sources.say("that is not its passphrase");
    }
    throw new PosternError("auth", `Cannot unlock the private key of ${from}: its passphrase is not known`, {
      hint: "name a file with it: --passphrase-file FILE; or set KHARON_PASSBOLT_PASSPHRASE",
    });
  }

  /** The key as it was written, and by what it was found. */
  async #written(signal: AbortSignal): Promise<{ readonly bytes: Uint8Array; readonly from: string }> {
    const { files, process, places, terminal } = this.#world;
    const read = async (path: string) => {
      const bytes = await files.read(path, { limit: mostKey });
      await this.#tellIfOpen(path);
      return { bytes, from: `"${path}"` };
    };
    const named = this.#sources.privateKeyFile ?? this.#settings.privateKeyFile;
    if (named !== undefined) return await read(named);
    const ofEnvironment = process.env("KHARON_PASSBOLT_KEY");
    if (ofEnvironment) return { bytes: new TextEncoder().encode(ofEnvironment), from: "KHARON_PASSBOLT_KEY" };
    // Where kharon keeps it: who has used that has it there.
    const kharons = `${directoryOf(places.config)}/io.vshn.kharon/passbolt_key`;
    if (await files.info(kharons)) return await read(kharons);
    const older = await this.#keyOfOlderTool();
    if (older) return older;
    const typed = await terminal.ask({ text: "File of your OpenPGP private key: ", echo: true }, { signal });
    if (typed) return await read(typed.trim().replace(/^~(?=\/)/, places.home));
    throw new PosternError("config", "Cannot open emergency credentials: no private key is named", {
      hint: "name its file: --private-key FILE or emergency.privateKeyFile; or set KHARON_PASSBOLT_KEY",
    });
  }

  /** What emergency-credentials-receive has stored, the tool before kharon. */
  async #keyOfOlderTool(): Promise<{ readonly bytes: Uint8Array; readonly from: string } | undefined> {
    const { files, process, places } = this.#world;
    const directory = process.env("EMR_CONFIG_DIR") ||
      `${process.env("XDG_CONFIG_HOME") || `${places.home}/.config`}/emergency-credentials-receive`;
    const path = `${directory}/config.yaml`;
    const text = await files.readTextIfThere(path, { limit: mostKey });
    if (text === undefined) return undefined;
    const { value } = await parseDocument(text, { name: path });
    const key = isMapping(value) ? value["passbolt_key"] : undefined;
    if (typeof key !== "string" || key === "") return undefined;
    await this.#tellIfOpen(path);
    return { bytes: new TextEncoder().encode(key), from: `"${path}"` };
  }

  async #givenPassphrase(): Promise<{ readonly passphrase: string; readonly from: string } | undefined> {
    const { files, process } = this.#world;
    const path = this.#sources.passphraseFile ?? this.#settings.passphraseFile;
    if (path !== undefined) {
      const text = await files.readText(path, { limit: mostPassphrase });
      await this.#tellIfOpen(path);
      return { passphrase: text.replace(/\r?\n$/, ""), from: `"${path}"` };
    }
    const passphrase = process.env("KHARON_PASSBOLT_PASSPHRASE");
    return passphrase ? { passphrase, from: "KHARON_PASSBOLT_PASSPHRASE" } : undefined;
  }

  /** Says that others may read a secret: the emergency goes on. */
  async #tellIfOpen(path: string): Promise<void> {
    const { files, process } = this.#world;
    const info = await files.info(path);
    if (process.platform === "windows" || ((info?.mode ?? 0) & 0o077) === 0) return;
    await this.#sources.say(`others may read "${path}": chmod 600 it`);
  }
}
