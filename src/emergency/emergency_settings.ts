import {
  described,
  file,
  type Infer,
  list,
  optional,
  record,
  refine,
  type Schema,
  text,
  url,
} from "../config/mod.ts";
import { isLoopbackHost } from "../words/mod.ts";

const endpoint = refine(url({ schemes: ["https", "http"] }), (url, context) => {
  if (!/^\/?$/.test(url.pathname) || url.search !== "" || url.hash !== "") {
    return "must end after the port: set the bucket with the key bucket";
  }
  if (url.username !== "") {
    return "must not contain a user: set the keys with accessKeyFile and secretKeyFile";
  }
  if (!isSecure(url)) {
    context.report("uses no TLS: the network can see which cluster you request", "warning");
  }
  return undefined;
});

const passboltUrl = refine(url({ schemes: ["https", "http"] }), (url) => {
  if (url.search !== "" || url.hash !== "") return "must be the URL of a Passbolt without ? and #";
  return isSecure(url) ? undefined : "must begin with https:// unless the host is this machine";
});

const bucket = record({
  endpoint: described(endpoint, "The URL of the S3 service."),
  region: described(
    optional(
      text({ pattern: /^[A-Za-z0-9_-]{1,64}$/, describe: "the name of a region, such as rma1 or us-east-1" }),
      "us-east-1",
    ),
    "The region of the S3 service, for the request signature.",
  ),
  bucket: described(bucketName(), "The name of the bucket."),
  accessKeyFile: described(file(), "A file with the access key on one line."),
  secretKeyFile: described(file(), "A file with the secret key on one line."),
  ca: described(optional(file()), "PEM certificates to trust in addition to the system's."),
});

/** The default resource name of the tools that write the list; the misspelling is theirs. */
const usualResource = "emergency-cedentials-buckets";

const passbolt = record({
  url: described(passboltUrl, "The URL of the Passbolt server."),
  resource: described(
    optional(text({ max: 255 }), usualResource),
    "The name or id of the resource whose password is the list.",
  ),
  fingerprint: described(
    optional(text({
      pattern: /^[0-9A-Fa-f]{40}$/,
      describe: "a fingerprint: 40 hexadecimal digits",
    })),
    "The fingerprint of the server's key; if set, the server must prove that it has this key.",
  ),
  ca: described(optional(file()), "PEM certificates to trust in addition to the system's."),
});

const settings = record({
  buckets: described(
    optional(list(bucket), []),
    "The buckets with emergency credentials, searched in this order.",
  ),
  privateKeyFile: described(
    optional(file()),
    "A file with the OpenPGP private key that decrypts the credentials, armored or binary; default: the key in $KHARON_PASSBOLT_KEY, else kharon's key file.",
  ),
  passphraseFile: described(
    optional(file()),
    "A file with the key's passphrase on one line; default: $KHARON_PASSBOLT_PASSPHRASE, otherwise postern prompts.",
  ),
  passbolt: described(
    optional(passbolt),
    "The Passbolt server with a list of more buckets, for credentials that are not in emergency.buckets.",
  ),
});

/** The section `emergency` of the configuration. */
export type EmergencySettings = Infer<typeof settings>;

export type BucketSettings = Infer<typeof bucket>;

export type PassboltSettings = Infer<typeof passbolt>;

export function emergencySchema(): Schema<EmergencySettings> {
  return refine(
    settings,
    ({ buckets, passbolt }) =>
      buckets.length > 0 || passbolt ? undefined : "must contain buckets or passbolt",
  );
}

/** The name of a bucket, as S3 services accept it. */
export function bucketName(): Schema<string> {
  return text({
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/,
    describe: "the name of a bucket: at least three letters, digits, -, . and _",
  });
}

function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || isLoopbackHost(hostname);
}
