import { placesFor } from "../src/runtime/files/places.ts";
import type { Places } from "../src/world/mod.ts";

/** The platform's directories for postern, which limit the permissions of a command run from source. */
export function places(): Places {
  const platform = Deno.build.os === "windows" || Deno.build.os === "darwin" ? Deno.build.os : "linux";
  return placesFor({ platform, env: (name) => Deno.env.get(name), uid: Deno.uid() ?? undefined });
}

/** The directory for downloads and builds of scripts: next to postern's cache, never in the repository. */
export function scriptCache(name: string): string {
  return places().cache.replace(/postern(?=[\\/]cache$|$)/, name);
}
