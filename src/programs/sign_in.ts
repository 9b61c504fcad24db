import type { SignedIn } from "../signin/mod.ts";
import type { World } from "../world/mod.ts";
import { CatalogueAccess, catalogueSources, type SignInMethod } from "../fleet/mod.ts";
import type { ConfigSource } from "../plan/mod.ts";

export interface SignInRequest extends SignInMethod {
  /** Only for this catalogue. */
  readonly name?: string | undefined;
  readonly signal: AbortSignal;
}

/** A successful sign-in for a catalogue. */
export interface CatalogueSignIn extends Pick<SignedIn, "name" | "expires"> {
  readonly catalogue: string;
  /** The host of the provider. */
  readonly provider: string;
}

/** Makes the user sign in for each catalogue, even if tokens are stored. */
export async function signInToCatalogues(
  world: World,
  source: ConfigSource,
  request: SignInRequest,
): Promise<CatalogueSignIn[]> {
  const { signal } = request;
  const { catalogues, config } = await catalogueSources(world, source, request);
  const done: CatalogueSignIn[] = [];
  for (const settings of catalogues) {
    await using access = await CatalogueAccess.open(world, settings, { config, method: request });
    const { name, expires, provider } = await access.signIn({ signal });
    done.push({ catalogue: settings.name, name, expires, provider });
  }
  return done;
}

/** Removes the tokens of each catalogue, and revokes them at providers that support it. */
export async function signOutOfCatalogues(
  world: World,
  source: ConfigSource,
  request: SignInRequest,
): Promise<{ readonly signedOut: readonly string[]; readonly others: readonly string[] }> {
  const { signal } = request;
  const signedOut: string[] = [];
  const others: string[] = [];
  const { catalogues, config } = await catalogueSources(world, source, request);
  for (const settings of catalogues) {
    await using access = await CatalogueAccess.open(world, settings, { config, method: request });
    const had = await access.signOut({ signal });
    (had ? signedOut : others).push(settings.name);
  }
  return { signedOut, others };
}
