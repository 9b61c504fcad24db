import { isMapping } from "../config/mod.ts";
import { jsonIn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { shownText } from "../clusters/mod.ts";
import type { PassboltSession } from "./passbolt_session.ts";
import { PrivateKeys } from "./private_keys.ts";

export interface ResourceOptions {
  readonly keys: PrivateKeys;
  readonly signal: AbortSignal;
}

const id = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The password of a resource, which is called by its name or its id. It is a secret. */
export async function passwordOf(
  session: PassboltSession,
  resource: string,
  { keys, signal }: ResourceOptions,
): Promise<string> {
  const found = id.test(resource) ? resource : await idOf(session, resource, { keys, signal });
  const secret = await session.get(`/secrets/resource/${found}.json`, { signal });
  const data = isMapping(secret) ? secret.data : undefined;
  const opened = typeof data === "string" ? await keys.open(data) : undefined;
  if (!opened || !("text" in opened)) {
    throw new PosternError(
      "auth",
      `Cannot read the resource ${shownText(resource)} of Passbolt: it cannot be decrypted with our key`,
      { hint: "ask that it be shared with you anew" },
    );
  }
  // Kinds of resources with a description beside the password are JSON; the others are the password.
  const value = jsonIn(opened.text);
  return isMapping(value) && typeof value.password === "string" ? value.password : opened.text;
}

/** Looks for the one resource of a name; names are encrypted since Passbolt 5. */
async function idOf(session: PassboltSession, name: string, options: ResourceOptions): Promise<string> {
  const list = await session.get("/resources.json", options);
  const resources = (Array.isArray(list) ? list : []).filter(isMapping);
  const names = new EncryptedNames(session, options);
  const found: string[] = [];
  for (const resource of resources) {
    options.signal.throwIfAborted();
    const own = typeof resource.name === "string" ? resource.name : await names.of(resource);
    if (own === name && typeof resource.id === "string" && id.test(resource.id)) found.push(resource.id);
  }
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  const what = found.length === 0
    ? "none of that name is shared with you"
    : `there are ${found.length} of that name`;
  throw new PosternError("config", `Cannot find the resource ${shownText(name)} in Passbolt: ${what}`, {
    hint: "emergency.passbolt.resource may be the id of a resource, which stands in its address",
  });
}

/** The names of resources whose metadata are encrypted, for the person or with a key that many have. */
class EncryptedNames {
  readonly #session: PassboltSession;
  readonly #options: ResourceOptions;
  #shared: Promise<ReadonlyMap<string, PrivateKeys>> | undefined;

  constructor(session: PassboltSession, options: ResourceOptions) {
    this.#session = session;
    this.#options = options;
  }

  async of(resource: Readonly<Record<string, unknown>>): Promise<string | undefined> {
    const { metadata, metadata_key_id: keyId, metadata_key_type: type } = resource;
    if (typeof metadata !== "string") return undefined;
    const keys = type === "user_key" ? this.#options.keys : (await this.#sharedKeys()).get(String(keyId));
    const opened = await keys?.open(metadata);
    const value = opened && "text" in opened ? jsonIn(opened.text) : undefined;
    return isMapping(value) && typeof value.name === "string" ? value.name : undefined;
  }

  #sharedKeys(): Promise<ReadonlyMap<string, PrivateKeys>> {
    return this.#shared ??= this.#fetchShared();
  }

  async #fetchShared(): Promise<ReadonlyMap<string, PrivateKeys>> {
    const { keys, signal } = this.#options;
    const path = `/metadata/keys.json?${encodeURIComponent("contain[metadata_private_keys]")}=1`;
    const list = await this.#session.get(path, { signal });
    const found = new Map<string, PrivateKeys>();
    for (const key of (Array.isArray(list) ? list : []).filter(isMapping)) {
      const copies = Array.isArray(key.metadata_private_keys) ? key.metadata_private_keys : [];
      for (const copy of copies.filter(isMapping)) {
        const opened = typeof copy.data === "string" ? await keys.open(copy.data) : undefined;
        const value = opened && "text" in opened ? jsonIn(opened.text) : undefined;
        if (!isMapping(value) || typeof value.armored_key !== "string") continue;
        const bytes = new TextEncoder().encode(value.armored_key);
        found.set(String(key.id), await PrivateKeys.read(bytes, { from: "Passbolt's metadata" }));
      }
    }
    return found;
  }
}
