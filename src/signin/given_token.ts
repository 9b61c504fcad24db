import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { isFresh, readClaims } from "./sign_in_claims.ts";

/** The source of a token that the user got elsewhere. */
export type TokenSource = { readonly file: string } | "input";

/** Maximum length of a token in characters; longer ones do not fit into a header. */
const mostLength = 16 * 1024;

/**
 * Reads a token from a file or from standard input, for machines without a user to sign in. Checks only its
 * form and expiry, because any token that the API accepts is valid.
 */
export async function givenToken(
  source: TokenSource,
  { files, terminal, clock }: Pick<World, "files" | "terminal" | "clock">,
): Promise<string> {
  const name = source === "input" ? "standard input" : `"${source.file}"`;
  const text = source === "input"
    ? await terminal.readInput(mostLength)
    : await files.readText(source.file, { limit: mostLength });
  const token = text.trim();
  if (!/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) {
    const what = token === "" ? "it is empty" : "it is not a bearer token";
    throw new PosternError("config", `Cannot use the token from ${name}: ${what}`, {
      hint: "provide only the bearer token, without the word Bearer",
    });
  }
  const claims = readClaims(token);
  if (claims?.expires && !isFresh(claims, clock.date())) {
    throw new PosternError(
      "auth",
      `Cannot use the token from ${name}: it expired ${claims.expires.toISOString()}`,
      {
        hint: "get a new one, or sign in: postern login",
      },
    );
  }
  return token;
}

/**
 * Warns if other users can read the token's file, because they could act as you until it expires. A pipe also
 * has a mode, but only one reader.
 */
export async function tokenFileNote(
  source: TokenSource,
  { files }: { readonly files: Pick<World["files"], "info"> },
): Promise<string | undefined> {
  if (source === "input") return undefined;
  const { file } = source;
  const { kind, mode = 0 } = await files.info(file) ?? {};
  if (kind !== "file" || (mode & 0o077) === 0) return undefined;
  return `other users may read the token in "${file}": chmod 600 ${file}`;
}
