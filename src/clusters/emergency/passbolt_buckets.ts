import {
  configError,
  flag,
  formatPath,
  isError,
  isMapping,
  list,
  optional,
  parseDocument,
  record,
  refine,
  rootContext,
  secret,
  text,
} from "../../config/mod.ts";
import { describe, type Log, PosternError } from "../../core/mod.ts";
import type { HttpClient } from "../http_client.ts";
import { sha256Hex } from "./aws_signature.ts";
import { emergencyObjectName } from "./emergency_object.ts";
import { bucketName, type PassboltSettings } from "./emergency_settings.ts";
import { passwordOf } from "./passbolt_resource.ts";
import { PassboltSession } from "./passbolt_session.ts";
import { signInToPassbolt } from "./passbolt_sign_in.ts";
import type { PrivateKeys } from "./private_keys.ts";
import type { Bucket } from "./s3_object.ts";

export interface PassboltParts {
  readonly client: HttpClient;
  /** The person's keys, without a lock. */
  readonly keys: PrivateKeys;
  /** A one-time code; `tried` is how many were wrong. */
  readonly code: (tried: number) => Promise<string>;
  readonly log: Log;
}

/** A bucket of the list, which may call its objects in a way of its own. */
export interface ListedBucket extends Bucket {
  readonly objectName: (clusterId: string) => Promise<string>;
}

/** Signs in to a Passbolt, reads the list of buckets from its resource, and signs out. */
export async function passboltBuckets(
  { url, resource, fingerprint }: PassboltSettings,
  { client, keys, code, log }: PassboltParts,
  { signal }: { signal: AbortSignal },
): Promise<readonly ListedBucket[]> {
  const session = new PassboltSession({ url, client, code });
  await signInToPassbolt(session, { keys, fingerprint, signal });
  try {
    return await readBucketList(await passwordOf(session, resource, { keys, signal }));
  } finally {
    await session.signOut({ signal }).catch((error) => {
      // What was wanted is here; the session ends by itself.
      log.debug("passbolt.logout_failed", { reason: describe(error) });
    });
  }
}

/** The words in which a name of an object may be put together. */
const templates: Readonly<Record<string, (clusterId: string) => Promise<string>>> = {
  "{{ClusterId|sha256sum}}": sha256Hex,
  "{{ClusterId}}": (clusterId) => Promise.resolve(clusterId),
};

const word = () =>
  refine(secret(), (value) => /^[\x21-\x7e]{1,512}$/.test(value) ? undefined : "must be one word");

const bucketFields = {
  endpoint: text({ pattern: hostPattern(), describe: "a host, with a port where it has another one" }),
  bucket: bucketName(),
  accessKeyId: word(),
  secretAccessKey: word(),
  region: optional(text({ pattern: /^[A-Za-z0-9_-]{1,64}$/, describe: "the name of a region" }), "us-east-1"),
  insecure: optional(flag(), false),
  objectNameTemplate: optional(
    refine(
      text({ max: 500 }),
      (template) =>
        wordsOf(template)
          ? undefined
          : "must have .ClusterId, with | sha256sum or without, and no other words",
    ),
  ),
};

const schema = record({ buckets: list(record(bucketFields), { max: 100 }) });

function hostPattern(): RegExp {
  return /^(?:https?:\/\/)?(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?\/?$/;
}

/** What is known of the list: the tools that write it may add keys of their own. */
function knownParts(value: unknown): unknown {
  if (!isMapping(value)) return value;
  const { buckets } = value;
  if (!Array.isArray(buckets)) return { buckets };
  return {
    buckets: buckets.map((bucket: unknown) =>
      isMapping(bucket)
        ? Object.fromEntries(Object.entries(bucket).filter(([key]) => Object.hasOwn(bucketFields, key)))
        : bucket
    ),
  };
}

/** Reads the list as the tools write it that fill it: YAML with `buckets`. No message repeats a value. */
export async function readBucketList(yaml: string): Promise<readonly ListedBucket[]> {
  const { value, problems } = await parseDocument(yaml, { name: "the list" });
  if (problems.length > 0) throw unusable("it is not YAML");
  const context = rootContext({ base: "/" });
  const read = schema.parse(knownParts(value), context);
  const errors = context.problems.filter(isError);
  if (!read || errors.length > 0) {
    // A value under the wrong key may be a secret: what a message says after "current value" is left out.
    const lines = errors.map(({ path, message }) =>
      `${formatPath(path)}: ${message.replace(/: current value.*/s, "")}`
    );
    throw configError("the list of buckets in Passbolt", lines, {
      hint: "it is the password of the resource",
    });
  }
  return read.buckets.map(({ endpoint, bucket, accessKeyId, secretAccessKey, region, insecure, ...more }) => {
    const host = endpoint.replace(/^https?:\/\//, "");
    const words = more.objectNameTemplate === undefined ? undefined : wordsOf(more.objectNameTemplate);
    return {
      endpoint: new URL(`${insecure ? "http" : "https"}://${host}`),
      bucket,
      region,
      accessKey: accessKeyId,
      secretKey: secretAccessKey,
      objectName: words
        ? async (id) => (await Promise.all(words.map((word) => word(id)))).join("")
        : emergencyObjectName,
    };
  });
}

/** A template of Go as far as names of objects need it; undefined where it says more. */
function wordsOf(template: string): ((clusterId: string) => Promise<string>)[] | undefined {
  const words: ((clusterId: string) => Promise<string>)[] = [];
  for (const part of template.split(/(\{\{.*?\}\})/)) {
    if (!part.startsWith("{{")) {
      if (/[{}]/.test(part)) return undefined;
      words.push(() => Promise.resolve(part));
      continue;
    }
    const known = templates[part.replace(/[\s-]/g, "").replace(/\.(?:Context\.)?ClusterId/, "ClusterId")];
    if (!known) return undefined;
    words.push(known);
  }
  return words;
}

function unusable(why: string): PosternError {
  return new PosternError("config", `Cannot use the list of buckets in Passbolt: ${why}`, {
    hint: "it is the password of the resource",
  });
}
