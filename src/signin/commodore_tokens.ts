import { isMapping } from "../config/mod.ts";
import { describe } from "../words/mod.ts";
import type { Log } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import { keyUrl, type StoredTokens } from "./token_cache.ts";

const mostBytes = 1024 * 1024;

/**
 * Reads commodore's stored tokens for an API: a map of API URLs to the response of the token endpoint, or, in
 * older versions, to the id_token. The file is only read, and a problem with it is not an error.
 */
export async function commodoreTokens(
  apiUrl: string,
  { files, places, process }: Pick<World, "files" | "places" | "process">,
  log: Log,
): Promise<StoredTokens | undefined> {
  const base = process.env("XDG_CACHE_HOME");
  const path = `${base?.startsWith("/") ? base : `${places.home}/.cache`}/commodore/token`;
  try {
    const found = await files.info(path);
    if (!found) return undefined;
    // Commodore leaves the file readable to other users; but a user who can write it could choose our
    // identity.
    const isForeign = found.owner !== undefined && process.uid !== undefined && found.owner !== process.uid;
    if (isForeign || (found.mode ?? 0) & 0o022) {
      log.warn("sign_in.commodore_ignored", { file: path, reason: "other users may write it" });
      return undefined;
    }
    return tokensFor(JSON.parse(await files.readText(path, { limit: mostBytes })), apiUrl);
  } catch (error) {
    // A SyntaxError quotes the text, which may be secret.
    const reason = error instanceof SyntaxError ? "it is not JSON" : describe(error);
    log.info("sign_in.commodore_ignored", { file: path, reason });
    return undefined;
  }
}

function tokensFor(cache: unknown, apiUrl: string): StoredTokens | undefined {
  if (!isMapping(cache)) return undefined;
  // A text without a scheme may parse as a URL too, but not as a web address.
  const isApi = (url: string) => /^https?:/i.test(url) && URL.canParse(url) && keyUrl(url) === apiUrl;
  const [, entry] = Object.entries(cache).find(([url]) => isApi(url)) ?? [];
  if (typeof entry === "string") return { idToken: entry };
  if (!isMapping(entry) || typeof entry["id_token"] !== "string") return undefined;
  const refreshToken = entry["refresh_token"];
  return { idToken: entry["id_token"], ...(typeof refreshToken === "string" && { refreshToken }) };
}
