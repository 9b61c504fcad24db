import type { Clock } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type HttpAnswer, type HttpClient, placeOf } from "../http/mod.ts";
import { shownText } from "../clusters/mod.ts";
import { amzDate, awsAuthorization, emptyHash, encodeAws } from "./aws_signature.ts";

/** A bucket with the keys to it. */
export interface Bucket {
  readonly endpoint: URL;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface S3Parts {
  readonly client: HttpClient;
  readonly clock: Clock;
}

/** The most bytes of an object: a thousand messages of a kubeconfig each are less. */
const mostBytes = 4 * 1024 * 1024;

/** How long an error of S3 may be, in bytes; the rest is not looked at. */
const mostError = 64 * 1024;

/** A bucket for messages: `"b" at https://s3.example.net`. */
export function shownBucket({ endpoint, bucket }: Pick<Bucket, "endpoint" | "bucket">): string {
  return `"${bucket}" at ${endpoint.origin}`;
}

/** The bytes of an object; undefined where the bucket has none of that name. */
export async function readObject(
  bucket: Bucket,
  name: string,
  { client, clock }: S3Parts,
  { signal }: { signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { endpoint, accessKey, secretKey, region } = bucket;
  const path = `/${encodeAws(bucket.bucket)}/${name.split("/").map(encodeAws).join("/")}`;
  const url = new URL(path, endpoint.origin);
  if (url.pathname !== path) {
    throw new PosternError("config", `Cannot ask for ${shownText(name)}: no object can be called so`);
  }
  const date = amzDate(clock.date());
  const fields = [["x-amz-content-sha256", emptyHash], ["x-amz-date", date]] as const;
  const authorization = await awsAuthorization(
    { method: "GET", path, fields: [["Host", url.host], ...fields], bodyHash: emptyHash },
    { accessKey, secretKey, region, service: "s3", date },
  );
  const answer = await client.ask({
    url,
    fields: [...fields, ["Authorization", authorization]],
    limit: mostBytes,
  }, { signal });
  if (answer.status === 200) return answer.body;
  return refused(answer, bucket, clock);
}

/** What an answer without the object means: undefined where there is none, else it throws. */
function refused(answer: HttpAnswer, bucket: Bucket, clock: Clock): undefined {
  const { status } = answer;
  const told = new TextDecoder().decode(answer.body.subarray(0, mostError));
  const code = element(told, "Code");
  const where = shownBucket(bucket);
  if (code === "NoSuchKey") return undefined;
  if (code === "NoSuchBucket") {
    throw new PosternError("config", `Cannot read the bucket ${where}: there is no such bucket`, {
      hint: "check endpoint, region and bucket",
    });
  }
  if (code === "RequestTimeTooSkewed") {
    const server = element(told, "ServerTime") ?? answer.fields.get("date");
    const there = server === undefined ? "" : `, there ${shownText(server)}`;
    throw new PosternError(
      "auth",
      `Cannot read the bucket ${where}: the clocks differ too much (RequestTimeTooSkewed): here it is ` +
        `"${clock.date().toISOString()}"${there}`,
      { hint: "set this machine's clock: timedatectl" },
    );
  }
  if (
    code === "AuthorizationHeaderMalformed" || code === "PermanentRedirect" || (status >= 300 && status < 400)
  ) {
    throw redirected(answer, told, bucket);
  }
  const named = code === undefined ? `status ${status}` : `${shownText(code)}, status ${status}`;
  if (status === 401 || status === 403 || hints[code ?? ""]) {
    const hint = hints[code ?? ""] ?? "check the access key and what it may read in the bucket";
    throw new PosternError("auth", `Cannot read the bucket ${where}: it refuses us (${named})`, { hint });
  }
  if (status === 404 && code === undefined) {
    throw new PosternError(
      "protocol",
      `Cannot read the bucket ${where}: what answers there is no S3 (${named})`,
      {
        hint: "check the endpoint",
      },
    );
  }
  if (status >= 500) {
    throw new PosternError("unreachable", `Cannot read the bucket ${where}: it is out of order (${named})`, {
      hint: "try again later",
    });
  }
  throw new PosternError("protocol", `Cannot read the bucket ${where}: ${named}`);
}

/** What to do about the errors that are about keys. */
const hints: Readonly<Record<string, string>> = {
  AccessDenied:
    "the key may not read the object; for a key that may not list the bucket a missing one looks the same",
  InvalidAccessKeyId: "the service does not know the access key: check accessKeyFile",
  XAdminUserNotFound: "the service does not know the access key: check accessKeyFile",
  SignatureDoesNotMatch: "check secretKeyFile and region",
};

/** The bucket is elsewhere, or something between us and it wants a sign-in. */
function redirected({ url, status, fields }: HttpAnswer, told: string, bucket: Bucket): PosternError {
  const region = element(told, "Region");
  const location = URL.parse(fields.get("location") ?? "", url.href);
  const to = region !== undefined
    ? `it is in the region ${shownText(region)}`
    : location
    ? `it redirects to ${shownText(placeOf(location))}`
    : `it answers with status ${status} and says not where to go`;
  return new PosternError("config", `Cannot read the bucket ${shownBucket(bucket)}: ${to}`, {
    hint: "check endpoint and region; keys are sent nowhere else",
  });
}

/** The text of an element of S3's errors, which are flat. */
function element(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]{1,200})</${name}>`).exec(xml)?.[1];
}
