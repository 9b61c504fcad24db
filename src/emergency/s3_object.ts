import type { Clock } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type HttpAnswer, type HttpClient, placeOf } from "../http/mod.ts";
import { shownText } from "../clusters/mod.ts";
import { amzDate, awsAuthorization, emptyHash, encodeAws } from "./aws_signature.ts";

/** A bucket with its access keys. */
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

/** Maximum size of an object in bytes; a thousand encrypted kubeconfigs fit. */
const mostBytes = 4 * 1024 * 1024;

/** Maximum size of an S3 error that is read, in bytes. */
const mostError = 64 * 1024;

/** The name of a bucket in messages: `"b" at https://s3.example.net`. */
export function shownBucket({ endpoint, bucket }: Pick<Bucket, "endpoint" | "bucket">): string {
  return `"${bucket}" at ${endpoint.origin}`;
}

/** Reads an object; undefined if the bucket does not contain it. */
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
    throw new PosternError("config", `Cannot read the object ${shownText(name)}: the name is invalid`);
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

/** Interprets a response without the object: undefined if the object does not exist, otherwise throws. */
function refused(answer: HttpAnswer, bucket: Bucket, clock: Clock): undefined {
  const { status } = answer;
  const told = new TextDecoder().decode(answer.body.subarray(0, mostError));
  const code = element(told, "Code");
  const where = shownBucket(bucket);
  if (code === "NoSuchKey") return undefined;
  if (code === "NoSuchBucket") {
    throw new PosternError("config", `Cannot read the bucket ${where}: it does not exist`, {
      hint: "check endpoint, region and bucket",
    });
  }
  if (code === "RequestTimeTooSkewed") {
    const server = element(told, "ServerTime") ?? answer.fields.get("date");
    const there = server === undefined ? "" : `, server time ${shownText(server)}`;
    throw new PosternError(
      "auth",
      `Cannot read the bucket ${where}: the clocks differ too much (RequestTimeTooSkewed): local time is ` +
        `"${clock.date().toISOString()}"${there}`,
      { hint: "set the clock of this machine: timedatectl" },
    );
  }
  if (
    code === "AuthorizationHeaderMalformed" || code === "PermanentRedirect" || (status >= 300 && status < 400)
  ) {
    throw redirected(answer, told, bucket);
  }
  const named = code === undefined ? `status ${status}` : `${shownText(code)}, status ${status}`;
  if (status === 401 || status === 403 || hints[code ?? ""]) {
    const hint = hints[code ?? ""] ?? "check the access key and its permissions for the bucket";
    throw new PosternError("auth", `Cannot read the bucket ${where}: the service denies access (${named})`, {
      hint,
    });
  }
  if (status === 404 && code === undefined) {
    throw new PosternError(
      "protocol",
      `Cannot read the bucket ${where}: the server is not an S3 service (${named})`,
      {
        hint: "check the endpoint",
      },
    );
  }
  if (status >= 500) {
    throw new PosternError(
      "unreachable",
      `Cannot read the bucket ${where}: the service has failed (${named})`,
      {
        hint: "try again later",
      },
    );
  }
  throw new PosternError("protocol", `Cannot read the bucket ${where}: ${named}`);
}

/** Hints for errors about keys. */
const hints: Readonly<Record<string, string>> = {
  AccessDenied:
    "allow the key to read the object and list the bucket; without the list right, a missing object looks the same",
  InvalidAccessKeyId: "check accessKeyFile; the service does not know the access key",
  XAdminUserNotFound: "check accessKeyFile; the service does not know the access key",
  SignatureDoesNotMatch: "check secretKeyFile and region",
};

/** The error for a redirect: the bucket is elsewhere, or a proxy requires a sign-in. */
function redirected({ url, status, fields }: HttpAnswer, told: string, bucket: Bucket): PosternError {
  const region = element(told, "Region");
  const location = URL.parse(fields.get("location") ?? "", url.href);
  const to = region !== undefined
    ? `the bucket is in the region ${shownText(region)}`
    : location
    ? `the server redirects to ${shownText(placeOf(location))}`
    : `the server returned status ${status} without a location`;
  return new PosternError("config", `Cannot read the bucket ${shownBucket(bucket)}: ${to}`, {
    hint: "check endpoint and region; postern does not follow redirects",
  });
}

/** The text of an element in an S3 error, which has no nested elements. */
function element(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]{1,200})</${name}>`).exec(xml)?.[1];
}
