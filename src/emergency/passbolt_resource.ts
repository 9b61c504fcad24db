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

/** Reads the password of a resource, given by its name or id. The password is secret. */
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
      `Cannot read the resource ${shownText(resource)} of Passbolt: your key cannot decrypt it`,
      { hint: "ask the owner to share it again" },
    );
  }
  // A resource with a description contains JSON; any other contains the bare password.
  const value = jsonIn(opened.text);
  return isMapping(value) && typeof value.password === "string" ? value.password : opened.text;
}

/** Finds the resource with a name; since Passbolt 5, names are encrypted. */
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
    ? "no resource with this name is shared with you"
    : `${found.length} resources have this name`;
  throw new PosternError("config", `Cannot find the resource ${shownText(name)} in Passbolt: ${what}`, {
    hint: "set emergency.passbolt.resource to the id in the resource's URL",
  });
}

/** The encrypted names of resources, encrypted for the user's key or for a shared metadata key. */
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
