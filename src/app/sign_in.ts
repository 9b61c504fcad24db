import type { SignedIn } from "../clusters/mod.ts";
import { silentLog, type World } from "../core/mod.ts";
import { CatalogueAccess, catalogueSources, type SignInWay } from "./catalogue_access.ts";
import type { ConfigSource } from "./config_file.ts";

export interface SignInRequest extends SignInWay {
  /** Only for this catalogue. */
  readonly name?: string | undefined;
  readonly signal: AbortSignal;
}

/** Somebody who has signed in for a catalogue. */
export interface CatalogueSignIn extends Pick<SignedIn, "name" | "expires"> {
  readonly catalogue: string;
  /** The host of the provider. */
  readonly provider: string;
}

/** Has the person sign in for each catalogue, whatever is stored. */
export async function signInToCatalogues(
  world: World,
  source: ConfigSource,
  request: SignInRequest,
): Promise<CatalogueSignIn[]> {
  const { signal } = request;
  const { catalogues, config } = await catalogueSources(world, source, request);
  const done: CatalogueSignIn[] = [];
  for (const settings of catalogues) {
    await using access = await CatalogueAccess.open(world, settings, { config, way: request });
    const { name, expires, provider } = await access.signIn({ signal });
    done.push({ catalogue: settings.name, name, expires, provider });
  }
  return done;
}

/** Forgets the tokens of each catalogue, asking nobody; gives the names of those that had any. */
export async function signOutOfCatalogues(
  world: World,
  source: ConfigSource,
  request: { readonly name?: string | undefined },
): Promise<{ readonly signedOut: readonly string[]; readonly others: readonly string[] }> {
  const { TokenCache } = await import("../clusters/mod.ts");
  const cache = new TokenCache(world, silentLog);
  const signedOut: string[] = [];
  const others: string[] = [];
  for (const { name, lieutenant } of (await catalogueSources(world, source, request)).catalogues) {
    const had = await cache.forgetApi(lieutenant.href) > 0;
    (had ? signedOut : others).push(name);
  }
  return { signedOut, others };
}
