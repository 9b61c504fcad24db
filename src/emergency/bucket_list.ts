import {
  flag,
  formatPath,
  isError,
  isMapping,
  optional,
  parseDocument,
  record,
  refine,
  rootContext,
  secret,
  text,
} from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { sha256Hex } from "./aws_signature.ts";
import { emergencyObjectName } from "./emergency_object.ts";
import { bucketName } from "./emergency_settings.ts";
import type { Bucket } from "./s3_object.ts";

/** A bucket of a list, with its own scheme for object names. */
export interface ListedBucket extends Bucket {
  readonly objectName: (clusterId: string) => Promise<string>;
}

/** The usable buckets, and the problems of the others. */
export interface BucketList {
  readonly buckets: readonly ListedBucket[];
  readonly problems: readonly string[];
}

type NamePart = (clusterId: string) => Promise<string>;

/** Maximum number of buckets in a list. */
const mostBuckets = 100;

const word = () =>
  refine(secret(), (value) => /^[\x21-\x7e]{1,512}$/.test(value) ? undefined : "must be a single word");

const fields = {
  endpoint: refine(
    text({ describe: "a host, optionally with a port" }),
    (endpoint) => endpointOf(endpoint, true) ? undefined : "must be a host, optionally with a port",
  ),
  bucket: bucketName(),
  accessKeyId: word(),
  secretAccessKey: word(),
  region: optional(text({ pattern: /^[A-Za-z0-9_-]{1,64}$/, describe: "the name of a region" }), "us-east-1"),
  insecure: optional(flag(), false),
  objectNameTemplate: optional(
    refine(
      text({ max: 500 }),
      (template) =>
        namePartsOf(template)
          ? undefined
          : "must contain .ClusterId, optionally with | sha256sum, and no other template code",
    ),
  ),
};

const schema = record(fields);

/**
 * Reads the bucket list in the YAML form of the tools that write it, with the key `buckets`. No message
 * repeats a value.
 */
export async function readBucketList(yaml: string): Promise<BucketList> {
  const { value, problems: faults } = await parseDocument(yaml, { name: "the list" });
  const list = isMapping(value) ? value.buckets : undefined;
  if (faults.length > 0 || !Array.isArray(list)) throw unusable("it is not YAML with a list of buckets");
  if (list.length > mostBuckets) throw unusable(`it has more than ${mostBuckets} buckets`);
  const buckets: ListedBucket[] = [];
  const problems: string[] = [];
  for (const [index, written] of list.entries()) {
    const context = rootContext({ base: "/" });
    const bucket = schema.parse(knownPart(written), context.at("buckets").at(index));
    const wrong = context.problems.filter(isError).map(({ path, message }) =>
      // A value under a wrong key may be secret.
      `${formatPath(path)} ${message.replace(/: current value.*/s, "")}`
    );
    problems.push(...wrong);
    if (bucket && wrong.length === 0) buckets.push(listed(bucket));
  }
  if (buckets.length === 0 && problems.length > 0) throw unusable(problems.join("; "));
  return { buckets, problems };
}

/** The known fields of a bucket; the tools may add further keys. */
function knownPart(written: unknown): unknown {
  if (!isMapping(written)) return written;
  return Object.fromEntries(Object.entries(written).filter(([key]) => Object.hasOwn(fields, key)));
}

function listed(
  { endpoint, bucket, accessKeyId, secretAccessKey, region, insecure, ...more }: NonNullable<
    ReturnType<typeof schema.parse>
  >,
): ListedBucket {
  const url = endpointOf(endpoint, insecure);
  if (!url) throw unusable("an endpoint is not a host");
  const parts = more.objectNameTemplate === undefined ? undefined : namePartsOf(more.objectNameTemplate);
  return {
    endpoint: url,
    bucket,
    region,
    accessKey: accessKeyId,
    secretKey: secretAccessKey,
    objectName: parts
      ? async (id) => (await Promise.all(parts.map((part) => part(id)))).join("")
      : emergencyObjectName,
  };
}

/** A URL from a host with an optional port; another key sets the scheme. */
function endpointOf(endpoint: string, insecure: boolean): URL | undefined {
  const host = endpoint.replace(/^https?:\/\//, "").replace(/\/$/, "");
  if (!/^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?$/.test(host)) return undefined;
  return URL.parse(`${insecure ? "http" : "https"}://${host}`) ?? undefined;
}

/** The expressions that the template of an object name may use. */
const knownWords: Readonly<Record<string, NamePart>> = {
  "{{ClusterId|sha256sum}}": sha256Hex,
  "{{ClusterId}}": (clusterId) => Promise.resolve(clusterId),
};

/** Parses the subset of Go templates that object names need; undefined for any other template. */
function namePartsOf(template: string): readonly NamePart[] | undefined {
  const parts: NamePart[] = [];
  for (const part of template.split(/(\{\{.*?\}\})/)) {
    if (part.startsWith("{{")) {
      const known = knownWords[part.replace(/[\s-]/g, "").replace(/\.(?:Context\.)?ClusterId/, "ClusterId")];
      if (!known) return undefined;
      parts.push(known);
    } else if (/[{}]/.test(part)) return undefined;
    else parts.push(() => Promise.resolve(part));
  }
  return parts;
}

function unusable(why: string): PosternError {
  return new PosternError("config", `Cannot use the list of buckets in Passbolt: ${why}`, {
    hint: "check the password of the resource, which contains the list",
  });
}
