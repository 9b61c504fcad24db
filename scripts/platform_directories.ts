import type { Directories } from "./permissions.ts";

/** What decides where a program keeps its files. */
export interface PlatformFacts {
  readonly os: string;
  readonly uid: number | null;
  readonly env: (name: string) => string | undefined;
}

/** The directories `src/runtime` will use, needed before it runs to narrow its permissions to them. */
export function platformDirectories(facts: PlatformFacts = realFacts()): Directories {
  if (facts.os === "windows") return windowsDirectories(facts);
  const { env, uid } = facts;
  const home = env("HOME") || "/";
  const temporary = (env("TMPDIR") || "/tmp").replace(/(.)\/+$/, "$1");
  const runtimeHome = env("XDG_RUNTIME_DIR");
  const runtime = runtimeHome ? `${runtimeHome}/postern` : `${temporary}/postern-${uid ?? 0}`;
  if (facts.os === "darwin") {
    const support = `${home}/Library/Application Support/postern`;
    return { config: support, state: `${support}/state`, cache: `${home}/Library/Caches/postern`, runtime };
  }
  return {
    config: `${env("XDG_CONFIG_HOME") || `${home}/.config`}/postern`,
    state: `${env("XDG_STATE_HOME") || `${home}/.local/state`}/postern`,
    cache: `${env("XDG_CACHE_HOME") || `${home}/.cache`}/postern`,
    runtime,
  };
}

/** Where scripts keep what they fetch or build: never in the tree. */
export function cacheDirectory(name: string): string {
  return platformDirectories().cache.replace(/postern$/, name);
}

function windowsDirectories({ env }: PlatformFacts): Directories {
  const home = env("USERPROFILE") || "C:\\";
  const local = `${env("LOCALAPPDATA") || `${home}\\AppData\\Local`}\\postern`;
  return {
    config: `${env("APPDATA") || `${home}\\AppData\\Roaming`}\\postern`,
    state: `${local}\\state`,
    cache: `${local}\\cache`,
    runtime: `${local}\\runtime`,
  };
}

function realFacts(): PlatformFacts {
  return { os: Deno.build.os, uid: Deno.uid(), env: (name) => Deno.env.get(name) };
}
