import type {
  Bucket,
  BucketSettings,
  EmergencySettings,
  PassboltSettings,
  PrivateKeys,
} from "../emergency/mod.ts";
import type { HttpClient } from "../http/mod.ts";
import type { Log } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";

/** A bucket that may have what is wanted. */
export interface EmergencyPlace {
  /** For messages. */
  readonly shown: string;
  /** The name of the object there. */
  readonly object: string;
  /** Reads the keys to it. */
  readonly open: () => Promise<{ readonly bucket: Bucket; readonly ca?: string }>;
}

/** The most bytes of a file with one key. */
const mostKey = 4096;

/** How often a person may mistype a code: Passbolt signs out who errs too often. */
const mostTries = 3;

/** The buckets of the configuration. */
export async function emergencyPlacesOf(
  { files }: Pick<World, "files">,
  { buckets }: EmergencySettings,
  clusterId: string,
): Promise<readonly EmergencyPlace[]> {
  const { emergencyObjectName, shownBucket } = await import("../emergency/mod.ts");
  const object = await emergencyObjectName(clusterId);
  return buckets.map((settings) => ({
    shown: shownBucket(settings),
    object,
    open: async () => {
      const { endpoint, region, bucket, ca } = settings;
      const [accessKey, secretKey] = await Promise.all([
        oneWord(files, settings, "accessKeyFile"),
        oneWord(files, settings, "secretKeyFile"),
      ]);
      return {
        bucket: { endpoint, region, bucket, accessKey, secretKey },
        ...(ca !== undefined && { ca: await files.readText(ca) }),
      };
    },
  }));
}

async function oneWord(
  files: World["files"],
  settings: BucketSettings,
  key: "accessKeyFile" | "secretKeyFile",
): Promise<string> {
  const path = settings[key];
  const word = (await files.readText(path, { limit: mostKey })).trim();
  if (/^[\x21-\x7e]+$/.test(word)) return word;
  const what = word === "" ? "it is empty" : "it is not one word";
  throw new PosternError("config", `Cannot use "${path}": ${what}`, {
    hint: `${key} holds the key in one line and nothing else`,
  });
}

export interface PassboltOptions {
  readonly client: HttpClient;
  readonly keys: PrivateKeys;
  readonly clusterId: string;
  readonly log: Log;
  /** Tells the person what is worth a word. */
  readonly say: (note: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** The buckets that a resource of Passbolt lists. */
export async function placesOfPassbolt(
  world: World,
  settings: PassboltSettings,
  { client, keys, clusterId, log, say, signal }: PassboltOptions,
): Promise<readonly EmergencyPlace[]> {
  const { passboltBuckets, shownBucket } = await import("../emergency/mod.ts");
  const { buckets, problems } = await passboltBuckets(settings, {
    client,
    keys,
    log,
    code: codeOf(world, signal),
  }, {
    signal,
  });
  for (const problem of problems) await say(`of the list of buckets in Passbolt: ${problem}`);
  const places: EmergencyPlace[] = [];
  for (const { objectName, ...bucket } of buckets) {
    places.push({
      shown: shownBucket(bucket),
      object: await objectName(clusterId),
      open: () => Promise.resolve({ bucket }),
    });
  }
  return places;
}

/** Where one-time codes are from: the environment gives one, a person as many as it takes. */
function codeOf({ process, terminal }: World, signal: AbortSignal): (tried: number) => Promise<string> {
  return async (tried) => {
    const given = process.env("KHARON_PASSBOLT_TOTP")?.trim();
    if (given) {
      if (tried === 0) return given;
      throw new PosternError(
        "auth",
        "Cannot sign in to Passbolt: it does not take the code of KHARON_PASSBOLT_TOTP",
        { hint: "a code is good for half a minute: set it anew; check this machine's clock" },
      );
    }
    const typed = tried < mostTries
      ? await terminal.ask({ text: "One-time code of your Passbolt: ", echo: false }, { signal })
      : undefined;
    if (typed) return typed.trim();
    throw new PosternError(
      "auth",
      tried === 0
        ? "Cannot sign in to Passbolt: it asks for a one-time code"
        : "Cannot sign in to Passbolt: it does not take the one-time code",
      { hint: "set KHARON_PASSBOLT_TOTP to the code that your authenticator shows" },
    );
  };
}
