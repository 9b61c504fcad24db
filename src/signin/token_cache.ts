import { isMapping } from "../config/mod.ts";
import { type Clock, hexText, jsonIn, type Log, pause, sha256 } from "../core/mod.ts";
import { describe, isPosternError, PosternError } from "../words/mod.ts";
import type { Files, World } from "../world/mod.ts";

/** Identifies tokens by issuer, client and API. */
export interface TokenKey {
  readonly issuer: string;
  readonly clientId: string;
  readonly apiUrl: string;
}

export interface StoredTokens {
  /** The bearer token: an id_token, which contains its expiry, or an OpenShift token. */
  readonly idToken: string;
  readonly refreshToken?: string;
  /** The expiry of a token that does not contain it, in RFC 3339. */
  readonly expires?: string;
  /** When the cluster last accepted it, in RFC 3339. */
  readonly checked?: string;
}

/** Maximum size of a token file in bytes. */
const mostBytes = 256 * 1024;
const version = 1;

/**
 * The tokens of earlier sign-ins, in one private file each, in a private directory. A file is replaced
 * atomically, so concurrent readers see the old tokens or the new ones.
 */
export class TokenCache {
  readonly #files: Files;
  readonly #directory: string;
  readonly #uid: number | undefined;
  readonly #log: Log;

  constructor({ files, places, process }: Pick<World, "files" | "places" | "process">, log: Log) {
    this.#files = files;
    this.#directory = `${places.cache}/tokens`;
    this.#uid = process.uid;
    this.#log = log;
  }

  /**
   * Reads stored tokens; undefined also for a damaged file and for one that other users could read or write.
   */
  async read(key: TokenKey): Promise<StoredTokens | undefined> {
    const path = await this.#path(key);
    const found = await this.#files.info(path);
    if (!found) return undefined;
    const reason = this.#fault(found) ?? await this.#readChecked(path, key);
    if (typeof reason !== "string") return reason;
    this.#log.warn("sign_in.cache_ignored", { file: path, reason });
    return undefined;
  }

  async write(key: TokenKey, tokens: StoredTokens): Promise<void> {
    await this.#files.privateDirectory(this.#directory);
    const { issuer, clientId, apiUrl } = key;
    const { idToken, refreshToken, expires, checked } = tokens;
    const content = { version, issuer, clientId, apiUrl, idToken, refreshToken, expires, checked };
    await this.#files.replace(await this.#path(key), `${JSON.stringify(content, undefined, 2)}\n`, {
      mode: 0o600,
    });
  }

  /** Stores tokens; if the disk is full or read-only, only the next sign-in is affected. */
  async keep(key: TokenKey, tokens: StoredTokens): Promise<void> {
    try {
      await this.write(key, tokens);
    } catch (error) {
      this.#log.warn("sign_in.not_stored", { reason: describe(error) });
    }
  }

  async forget(key: TokenKey): Promise<void> {
    await this.#files.remove(await this.#path(key));
  }

  /** The stored sign-ins for an API, of any provider. */
  async keysFor(apiUrl: string): Promise<TokenKey[]> {
    const key = keyUrl(apiUrl);
    const names = await this.#files.info(this.#directory) ? await this.#files.list(this.#directory) : [];
    const keys: TokenKey[] = [];
    for (const name of names.filter((name) => name.endsWith(".json"))) {
      const path = `${this.#directory}/${name}`;
      const content = jsonIn(
        await this.#files.readTextIfThere(path, { limit: mostBytes }).catch(() => "") ?? "",
      );
      const { issuer, clientId, apiUrl } = isMapping(content) ? content : {};
      if (typeof issuer !== "string" || typeof clientId !== "string" || apiUrl !== key) continue;
      keys.push({ issuer, clientId, apiUrl: key });
    }
    return keys;
  }

  /** Takes the lock for one sign-in; undefined while another process holds it. */
  async lock(key: TokenKey): Promise<Disposable | undefined> {
    await this.#files.privateDirectory(this.#directory);
    return await this.#files.lock(`${await this.#path(key)}.lock`, { removes: true });
  }

  /**
   * Waits for another process's sign-in, takes the lock, and logs if it must wait. Undefined after `patience`
   * ms, and if locks do not work here, because that must not prevent a sign-in.
   */
  async turn(
    key: TokenKey,
    { clock, signal, patience = Infinity, onWait }: {
      readonly clock: Clock;
      readonly signal: AbortSignal;
      readonly patience?: number;
      readonly onWait?: () => Promise<void>;
    },
  ): Promise<Disposable | undefined> {
    const end = clock.now() + patience;
    try {
      for (let isTold = false;; isTold = true) {
        const lock = await this.lock(key);
        if (lock) return lock;
        if (!isTold) {
          this.#log.info("sign_in.waiting", { reason: "another postern process is signing in" });
          await onWait?.();
        }
        if (clock.now() >= end) return undefined;
        await pause(clock, 200, { signal });
      }
    } catch (error) {
      signal.throwIfAborted();
      this.#log.warn("sign_in.not_locked", { reason: describe(error) });
      return undefined;
    }
  }

  #fault({ kind, mode, owner }: { kind: string; mode: number | undefined; owner: number | undefined }) {
    if (kind !== "file") return "it is not a regular file";
    if (owner !== undefined && this.#uid !== undefined && owner !== this.#uid) {
      return "it belongs to another user";
    }
    if (mode !== undefined && (mode & 0o077) !== 0) return "other users may read or write it";
    return undefined;
  }

  async #readChecked(path: string, key: TokenKey): Promise<StoredTokens | string | undefined> {
    let text: string | undefined;
    try {
      text = await this.#files.readTextIfThere(path, { limit: mostBytes });
    } catch (error) {
      if (isPosternError(error, "config")) return describe(error);
      throw error;
    }
    if (text === undefined) return undefined;
    return storedTokens(text, key) ?? (isNewer(text) ? "a newer postern wrote it" : "it is damaged");
  }

  async #path({ issuer, clientId, apiUrl }: TokenKey): Promise<string> {
    const hash = await sha256(JSON.stringify([issuer, clientId, apiUrl]));
    return `${this.#directory}/${hexText(hash).slice(0, 32)}.json`;
  }
}

/** A URL in canonical form for keys: letter case, a default port and a trailing slash do not matter. */
export function keyUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !["https:", "http:"].includes(url.protocol)) {
    throw new PosternError("config", "Cannot sign in: a configured URL is invalid", {
      hint: "begin the URL with https://",
    });
  }
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, "")}${url.search}`;
}

/** Reads tokens and checks that the file belongs to this key, although its name should guarantee it. */
function storedTokens(text: string, key: TokenKey): StoredTokens | undefined {
  const content = jsonIn(text);
  if (!isMapping(content) || content["version"] !== version) return undefined;
  const { issuer, clientId, apiUrl, idToken, refreshToken, expires, checked } = content;
  if (issuer !== key.issuer || clientId !== key.clientId || apiUrl !== key.apiUrl) return undefined;
  if (typeof idToken !== "string") return undefined;
  return {
    idToken,
    ...(typeof refreshToken === "string" && { refreshToken }),
    ...(typeof expires === "string" && { expires }),
    ...(typeof checked === "string" && { checked }),
  };
}

/**
 * Whether a newer postern wrote the file; replacing it is safe, because the newer postern can read our
 * format.
 */
function isNewer(text: string): boolean {
  const content = jsonIn(text);
  return isMapping(content) && typeof content["version"] === "number" && content["version"] > version;
}
