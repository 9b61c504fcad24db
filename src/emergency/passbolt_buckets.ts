import { describe } from "../words/mod.ts";
import type { Log } from "../core/mod.ts";
import type { HttpClient } from "../http/mod.ts";
import { type BucketList, readBucketList } from "./bucket_list.ts";
import type { PassboltSettings } from "./emergency_settings.ts";
import { passwordOf } from "./passbolt_resource.ts";
import { PassboltSession } from "./passbolt_session.ts";
import { signInToPassbolt } from "./passbolt_sign_in.ts";
import type { PrivateKeys } from "./private_keys.ts";

export interface PassboltParts {
  readonly client: HttpClient;
  /** The user's decrypted private keys. */
  readonly keys: PrivateKeys;
  /** Returns a one-time code; `tried` is the number of rejected codes. */
  readonly code: (tried: number) => Promise<string>;
  readonly log: Log;
}

/** Signs in to a Passbolt, reads the list of buckets from its resource, and signs out. */
export async function passboltBuckets(
  { url, resource, fingerprint }: PassboltSettings,
  { client, keys, code, log }: PassboltParts,
  { signal }: { signal: AbortSignal },
): Promise<BucketList> {
  const session = new PassboltSession({ url, client, code });
  await signInToPassbolt(session, { keys, fingerprint, signal });
  try {
    return await readBucketList(await passwordOf(session, resource, { keys, signal }));
  } finally {
    await session.signOut({ signal }).catch((error) => {
      // The list has been read; an open session expires.
      log.debug("passbolt.logout_failed", { reason: describe(error) });
    });
  }
}
