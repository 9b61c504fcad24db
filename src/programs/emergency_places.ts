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

/** A bucket that may contain the credentials. */
export interface EmergencyPlace {
  /** The name in messages. */
  readonly shown: string;
  /** The name of the object in the bucket. */
  readonly object: string;
  /** Reads the bucket's access keys. */
  readonly open: () => Promise<{ readonly bucket: Bucket; readonly ca?: string }>;
}

/** Maximum size of a file with one key, in bytes. */
const mostKey = 4096;

/** How many codes the user may try; Passbolt signs the user out after too many errors. */
const mostTries = 3;

/** The buckets in the configuration. */
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
  const what = word === "" ? "it is empty" : "it is not a single word";
  throw new PosternError("config", `Cannot use "${path}": ${what}`, {
    hint: `write only the key into the file of ${key}, on one line`,
  });
}

export interface PassboltOptions {
  readonly client: HttpClient;
  readonly keys: PrivateKeys;
  readonly clusterId: string;
  readonly log: Log;
  /** Shows a note to the user. */
  readonly say: (note: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** The buckets in the list of a Passbolt resource. */
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
  for (const problem of problems) await say(`the list of buckets in Passbolt: ${problem}`);
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

/** The source of one-time codes: one from the environment, or several from the user. */
function codeOf({ process, terminal }: World, signal: AbortSignal): (tried: number) => Promise<string> {
  return async (tried) => {
    const given = process.env("KHARON_PASSBOLT_TOTP")?.trim();
    if (given) {
      if (tried === 0) return given;
      throw new PosternError(
        "auth",
        "Cannot sign in to Passbolt: it rejects the code in KHARON_PASSBOLT_TOTP",
        { hint: "set a new code, which is valid for 30 s, and check the clock of this machine" },
      );
    }
    const typed = tried < mostTries
      ? await terminal.ask({ text: "One-time code of your Passbolt: ", echo: false }, { signal })
      : undefined;
    if (typed) return typed.trim();
    throw new PosternError(
      "auth",
      tried === 0
        ? "Cannot sign in to Passbolt: it requires a one-time code"
        : "Cannot sign in to Passbolt: it rejects the one-time code",
      { hint: "set KHARON_PASSBOLT_TOTP to the code that your authenticator shows" },
    );
  };
}
