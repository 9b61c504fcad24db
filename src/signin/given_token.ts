import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { isFresh, readClaims } from "./sign_in_claims.ts";

/** Where a token comes from that somebody else has fetched. */
export type TokenSource = { readonly file: string } | "input";

/** The most characters of a token: more fits into no header. */
const mostLength = 16 * 1024;

/**
 * A token from a file or from the standard input, for machines where nobody can sign in. Only what can be told from
 * its text is checked, since any token that the API takes will do.
 */
export async function givenToken(
  source: TokenSource,
  { files, terminal, clock }: Pick<World, "files" | "terminal" | "clock">,
): Promise<string> {
  const name = source === "input" ? "the standard input" : `"${source.file}"`;
  const text = source === "input"
    ? await terminal.readInput(mostLength)
    : await files.readText(source.file, { limit: mostLength });
  const token = text.trim();
  if (!/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) {
    const what = token === "" ? "nothing" : "something else";
    throw new PosternError("config", `Cannot use the token from ${name}: it holds ${what}`, {
      hint: "put the bearer token there and nothing else, without the word Bearer",
    });
  }
  const claims = readClaims(token);
  if (claims?.expires && !isFresh(claims, clock.date())) {
    throw new PosternError(
      "auth",
      `Cannot use the token from ${name}: expired ${claims.expires.toISOString()}`,
      {
        hint: "fetch a new one, or sign in: postern login",
      },
    );
  }
  return token;
}

/**
 * What a person should know of the file that a token came from: whoever can read it is us for as long as it counts. A
 * pipe has a mode too, but nobody else reads from it.
 */
export async function tokenFileNote(
  source: TokenSource,
  { files }: { readonly files: Pick<World["files"], "info"> },
): Promise<string | undefined> {
  if (source === "input") return undefined;
  const { file } = source;
  const { kind, mode = 0 } = await files.info(file) ?? {};
  if (kind !== "file" || (mode & 0o077) === 0) return undefined;
  return `others may read the token in "${file}": chmod 600 ${file}`;
}
