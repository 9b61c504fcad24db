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
    return "must end after the port: the bucket has a key of its own";
  }
  if (url.username !== "") return "must have no user inside: keys stand in files of their own";
  if (!isSecure(url)) {
    context.report("is spoken to without TLS: others see which cluster is asked for", "warning");
  }
  return undefined;
});

const passboltUrl = refine(url({ schemes: ["https", "http"] }), (url) => {
  if (url.search !== "" || url.hash !== "") return "must be the address of a Passbolt without ? and #";
  return isSecure(url)
    ? undefined
    : "must begin with https://: without TLS only this machine itself is asked";
});

const bucket = record({
  endpoint: described(endpoint, "The S3 service."),
  region: described(
    optional(
      text({ pattern: /^[A-Za-z0-9_-]{1,64}$/, describe: "the name of a region, as rma1 or us-east-1" }),
      "us-east-1",
    ),
    "Its region, as it wants it to be signed.",
  ),
  bucket: described(bucketName(), "The bucket."),
  accessKeyFile: described(file(), "A file with the access key, in one line."),
  secretKeyFile: described(file(), "A file with the secret key, in one line."),
  ca: described(optional(file()), "PEM certificates trusted besides the system's."),
});

/** How resources are called by the tools that fill them; the spelling is theirs. */
const usualResource = "emergency-cedentials-buckets";

const passbolt = record({
  url: described(passboltUrl, "The Passbolt in which the list of buckets is kept."),
  resource: described(
    optional(text({ max: 255 }), usualResource),
    "The resource whose password is that list: its name, or its id.",
  ),
  fingerprint: described(
    optional(text({
      pattern: /^[0-9A-Fa-f]{40}$/,
      describe: "a fingerprint: 40 hexadecimal digits",
    })),
    "The fingerprint of the server's own key, which it then has to prove.",
  ),
  ca: described(optional(file()), "PEM certificates trusted besides the system's."),
});

const settings = record({
  buckets: described(
    optional(list(bucket), []),
    "Where emergency credentials are, asked in this order.",
  ),
  privateKeyFile: described(
    optional(file()),
    "The OpenPGP private key that opens them, armored or not; else KHARON_PASSBOLT_KEY.",
  ),
  passphraseFile: described(
    optional(file()),
    "A file with its passphrase, in one line; else KHARON_PASSBOLT_PASSPHRASE, else you are asked.",
  ),
  passbolt: described(
    optional(passbolt),
    "Where the list of more buckets is; asked when none of the above has what is wanted.",
  ),
});

/** The section `emergency` of the configuration. */
export type EmergencySettings = Infer<typeof settings>;

/** A bucket of the configuration. */
export type BucketSettings = Infer<typeof bucket>;

/** The Passbolt of the configuration. */
export type PassboltSettings = Infer<typeof passbolt>;

/** The schema of the section `emergency`. */
export function emergencySchema(): Schema<EmergencySettings> {
  return refine(
    settings,
    ({ buckets, passbolt }) =>
      buckets.length > 0 || passbolt ? undefined : "must have buckets or passbolt: it says where to look",
  );
}

/** The name of a bucket, as services take them. */
export function bucketName(): Schema<string> {
  return text({
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/,
    describe: "the name of a bucket: at least three letters, digits, -, . and _",
  });
}

function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || isLoopbackHost(hostname);
}
