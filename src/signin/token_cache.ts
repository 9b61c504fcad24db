import { isMapping } from "../config/mod.ts";
import { type Clock, hexText, jsonIn, type Log, pause, sha256 } from "../core/mod.ts";
import { describe, isPosternError, PosternError } from "../words/mod.ts";
import type { Files, World } from "../world/mod.ts";

/** Whose tokens: of a client at an issuer, for one API. */
export interface TokenKey {
  readonly issuer: string;
  readonly clientId: string;
  readonly apiUrl: string;
}

export interface StoredTokens {
  /** The bearer token: an id_token, which tells by itself how long it is good, or what a cluster takes. */
  readonly idToken: string;
  readonly refreshToken?: string;
  /** How long a token is good that does not tell, in RFC 3339. */
  readonly expires?: string;
  /** When the cluster last took it, in RFC 3339. */
  readonly checked?: string;
}

/** The most bytes of a file with tokens. */
const mostBytes = 256 * 1024;
const version = 1;

/**
 * The tokens of earlier sign-ins: one file each, for us alone, in a directory for us alone. A file is replaced whole,
 * so that whoever reads beside us sees the old tokens or the new ones.
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

  /** What is stored; undefined also for a file that is damaged or that others could have read or written. */
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

  /** A full or read-only disk costs the next sign-in, not this one. */
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

  /** The sign-ins for an API, whichever provider they are from. */
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

  /** Takes the lock on one sign-in; undefined while another process has it. */
  async lock(key: TokenKey): Promise<Disposable | undefined> {
    await this.#files.privateDirectory(this.#directory);
    return await this.#files.lock(`${await this.#path(key)}.lock`, { removes: true });
  }

  /**
   * Takes the lock once whoever signs in now is done, and says so where it must wait; undefined where locks cannot be
   * had, which must not keep anybody out, and after `patience` ms.
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
          this.#log.info("sign_in.waiting", { reason: "another postern signs in now" });
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
    if (mode !== undefined && (mode & 0o077) !== 0) return "others may read or write it";
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
    return storedTokens(text, key) ?? (isNewer(text) ? "a newer postern has written it" : "it is damaged");
  }

  async #path({ issuer, clientId, apiUrl }: TokenKey): Promise<string> {
    const hash = await sha256(JSON.stringify([issuer, clientId, apiUrl]));
    return `${this.#directory}/${hexText(hash).slice(0, 32)}.json`;
  }
}

/** A URL in the one form that keys have: case, default port and a slash at the end make no other API. */
export function keyUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !["https:", "http:"].includes(url.protocol)) {
    throw new PosternError("config", "Cannot sign in: what is named as a URL is none", {
      hint: "write it with https:// before the host",
    });
  }
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, "")}${url.search}`;
}

/** A name of a file may stand for one key only, but what it says is checked all the same. */
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

/** Nothing is lost when it is replaced: what we write the newer postern can read. */
function isNewer(text: string): boolean {
  const content = jsonIn(text);
  return isMapping(content) && typeof content["version"] === "number" && content["version"] > version;
}
