import type { Bucket, EmergencySettings } from "../emergency/mod.ts";
import type { HttpClient } from "../http/mod.ts";
import { asPosternError, PosternError } from "../words/mod.ts";
import { counted, type Log } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import { type ConfigSource, loadConfig, Transports } from "../plan/mod.ts";
import { type EmergencyPlace, emergencyPlacesOf, placesOfPassbolt } from "./emergency_places.ts";
import { EmergencyKey, type KeySources } from "./emergency_key.ts";

export interface EmergencyOptions extends ConfigSource, KeySources {
  /** The id of the cluster, which determines the object's name. */
  readonly clusterId: string;
  readonly log: Log;
}

/** Decrypted credentials, which are secret. */
export interface EmergencyCredentials {
  readonly text: string;
  /** Failures before the credentials were found. */
  readonly notes: readonly string[];
}

/** Timeout of one exchange, in ms; the user may have to type the passphrase of an ssh key. */
const timeout = 120_000;

/**
 * Fetches and decrypts the emergency credentials of a cluster, from the first bucket whose object our key
 * decrypts: first those in the configuration, then those in Passbolt. Connects as an instance would; writes
 * nothing.
 */
export async function fetchEmergencyCredentials(
  world: World,
  { clusterId, log, privateKeyFile, passphraseFile, say, ...source }: EmergencyOptions,
  { signal }: { signal: AbortSignal },
): Promise<EmergencyCredentials> {
  const config = await loadConfig(world, source);
  const { emergency } = config.settings;
  if (!emergency) {
    throw new PosternError("config", "Cannot get emergency credentials: no bucket is configured", {
      hint: "add to the configuration: emergency: { buckets: [{ endpoint: …, bucket: … }] }",
    });
  }
  await using transports = new Transports(world, config, { log });
  const { HttpClient } = await import("../http/mod.ts");
  const search = new Search(world, emergency, {
    clusterId,
    log,
    say,
    key: new EmergencyKey(world, emergency, { privateKeyFile, passphraseFile, say }),
    clientFor: (ca) =>
      new HttpClient({ clock: world.clock, network: world.network, dial: transports.dial }, { timeout, ca }),
    signal,
  });
  return await search.run();
}

interface SearchOptions {
  readonly clusterId: string;
  readonly log: Log;
  readonly key: EmergencyKey;
  readonly clientFor: (ca: string | undefined) => HttpClient;
  readonly say: (note: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Searches the places one by one and collects the results. */
class Search {
  readonly #world: World;
  readonly #settings: EmergencySettings;
  readonly #options: SearchOptions;
  readonly #failures: PosternError[] = [];
  /** The places without credentials. */
  readonly #empty: string[] = [];

  constructor(world: World, settings: EmergencySettings, options: SearchOptions) {
    this.#world = world;
    this.#settings = settings;
    this.#options = options;
  }

  async run(): Promise<EmergencyCredentials> {
    const { clusterId } = this.#options;
    const text = await this.#firstOf(await emergencyPlacesOf(this.#world, this.#settings, clusterId)) ??
      await this.#firstOf(await this.#ofPassbolt());
    if (text === undefined) throw this.#nothing();
    const missing = this.#empty.map((place) => `${place} has no credentials of ${clusterId}`);
    return { text, notes: [...missing, ...this.#failures.map(({ message }) => message)] };
  }

  async #firstOf(places: readonly EmergencyPlace[]): Promise<string | undefined> {
    const { key, clientFor, log, signal } = this.#options;
    const { clock } = this.#world;
    const { openSecrets, readObject, readSecrets } = await import("../emergency/mod.ts");
    for (const { shown, object, open } of places) {
      const found = await this.#trying(async () => {
        const { bucket, ca }: { readonly bucket: Bucket; readonly ca?: string } = await open();
        const bytes = await readObject(bucket, object, { client: clientFor(ca), clock }, { signal });
        log.info("emergency.asked", { bucket: shown, object, found: bytes !== undefined });
        if (!bytes) this.#empty.push(shown);
        return bytes && readSecrets(bytes, { from: shown });
      });
      if (!found) continue;
      // An unusable key is not a fault of this bucket, and no other bucket would help.
      const keys = await key.unlocked({ signal });
      const text = await this.#trying(() => openSecrets(found, keys, { from: shown, clock, signal }));
      if (text !== undefined) return text;
    }
    return undefined;
  }

  async #ofPassbolt(): Promise<readonly EmergencyPlace[]> {
    const { passbolt } = this.#settings;
    if (!passbolt) return [];
    const { key, clientFor, log, clusterId, say, signal } = this.#options;
    const keys = await key.unlocked({ signal });
    const found = await this.#trying(async () => {
      const ca = passbolt.ca === undefined ? undefined : await this.#world.files.readText(passbolt.ca);
      return await placesOfPassbolt(this.#world, passbolt, {
        client: clientFor(ca),
        keys,
        clusterId,
        log,
        say,
        signal,
      });
    });
    return found ?? [];
  }

  /** Runs `work`; keeps a failure for the final error. */
  async #trying<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#options.signal.throwIfAborted();
      const failure = asPosternError(error);
      // After an internal error or a cancellation, the search must end.
      if (failure.code === "internal" || failure.code === "cancelled") throw error;
      this.#failures.push(failure);
      return undefined;
    }
  }

  #nothing(): PosternError {
    const { clusterId } = this.#options;
    const places = this.#empty.join(", ");
    const [failure, ...more] = this.#failures;
    if (!failure) {
      const asked = this.#empty.length === 0 ? "Passbolt's list is empty" : `they are not in ${places}`;
      return new PosternError(
        "name_not_found",
        `Cannot find emergency credentials of ${clusterId}: ${asked}`,
        {
          hint:
            "check the id of the cluster (postern clusters), and that the cluster stores its credentials there",
        },
      );
    }
    if (more.length === 0 && this.#empty.length === 0) return failure;
    const told = [
      ...this.#failures.map(({ message }) => message),
      ...(places === "" ? [] : [`nothing in ${places}`]),
    ];
    return new PosternError(
      failure.code,
      `Cannot get the emergency credentials of ${clusterId}: ${counted(told.length, "place")} searched\n${
        told.join("\n")
      }`,
      { cause: failure, hint: failure.hint },
    );
  }
}
