import { placesFor } from "../src/runtime/files/places.ts";
import type { Places } from "../src/world/mod.ts";

/** The platform's directories for postern: a command run from source is confined to them before it starts. */
export function places(): Places {
  const platform = Deno.build.os === "windows" || Deno.build.os === "darwin" ? Deno.build.os : "linux";
  return placesFor({ platform, env: (name) => Deno.env.get(name), uid: Deno.uid() ?? undefined });
}

/** Where scripts keep what they fetch or build: beside postern's own cache, never in the tree. */
export function scriptCache(name: string): string {
  return places().cache.replace(/postern(?=[\\/]cache$|$)/, name);
}
