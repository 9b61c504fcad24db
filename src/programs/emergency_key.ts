import type { EmergencySettings, PrivateKeys } from "../emergency/mod.ts";
import { isMapping, parseDocument } from "../config/mod.ts";
import { directoryOf, type World } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";

/** Files from the command line; they take precedence over the configuration and the environment. */
export interface KeySources {
  readonly privateKeyFile?: string | undefined;
  readonly passphraseFile?: string | undefined;
  /** Shows a note to the user. */
  readonly say: (note: string) => Promise<void>;
}

/** Maximum size of a private key file in bytes; a key with a photo may be large. */
const mostKey = 1024 * 1024;

/** Maximum size of a passphrase in bytes. */
const mostPassphrase = 4096;

/** How many times the user may type the passphrase. */
const mostTries = 3;

/** The user's private keys, unlocked on first use so that postern prompts only when necessary. */
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
        `Cannot unlock the private key of ${from}: the passphrase from ${given.from} is wrong`,
        { hint: "test the passphrase with gpg --import, then give the right one: --passphrase-file FILE" },
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
      await this.#sources.say("wrong passphrase");
    }
    throw new PosternError("auth", `Cannot unlock the private key of ${from}: no passphrase is given`, {
      hint: "give a file with the passphrase (--passphrase-file FILE), or set KHARON_PASSBOLT_PASSPHRASE",
    });
  }

  /** The key as written, with its source. */
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
    // The place where kharon stores its key.
    const kharons = `${directoryOf(places.config)}/io.vshn.kharon/passbolt_key`;
    if (await files.info(kharons)) return await read(kharons);
    const older = await this.#keyOfOlderTool();
    if (older) return older;
    const typed = await terminal.ask({ text: "File of your OpenPGP private key: ", echo: true }, { signal });
    if (typed) return await read(typed.trim().replace(/^~(?=\/)/, places.home));
    throw new PosternError("config", "Cannot decrypt emergency credentials: no private key is configured", {
      hint:
        "give the key's file (--private-key FILE or emergency.privateKeyFile), or set KHARON_PASSBOLT_KEY",
    });
  }

  /** The key stored by emergency-credentials-receive, the predecessor of kharon. */
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

  /** Warns that other users may read a secret; does not stop, because this is an emergency. */
  async #tellIfOpen(path: string): Promise<void> {
    const { files, process } = this.#world;
    const info = await files.info(path);
    if (process.platform === "windows" || ((info?.mode ?? 0) & 0o077) === 0) return;
    await this.#sources.say(`other users may read "${path}": chmod 600 "${path}"`);
  }
}
