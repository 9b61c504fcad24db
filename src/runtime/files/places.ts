import type { Places, Process } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";

export interface PlacesOptions {
  readonly platform: Process["platform"];
  readonly env: (name: string) => string | undefined;
  readonly uid: number | undefined;
}

/**
 * Returns the platform's directories for postern: XDG on Linux, the Library on macOS, the profile on Windows.
 */
export function placesFor(options: PlacesOptions): Places {
  const system = absolute(options.env("POSTERN_ROOT"))?.replace(/\/+$/, "");
  return { ...ownPlaces(options), ...(system && { system }) };
}

function ownPlaces({ platform, env, uid }: PlacesOptions): Places {
  if (platform === "windows") return windowsPlaces(env);
  const home = absolute(env("HOME"));
  if (home === undefined) throw homeless("HOME");
  const temporary = (absolute(env("TMPDIR")) ?? "/tmp").replace(/(.)\/+$/, "$1");
  // Another user can create this directory first, so postern only searches it for an instance of an earlier
  // version.
  const formerRuntime = `${temporary}/postern-${uid ?? "user"}`;
  if (platform === "darwin") {
    return {
      home,
      config: `${home}/Library/Application Support/postern`,
      state: `${home}/Library/Application Support/postern/state`,
      cache: `${home}/Library/Caches/postern`,
      // macOS removes files from $TMPDIR that were unused for three days.
      runtime: `${home}/Library/Application Support/postern/run`,
      formerRuntime,
      temporary,
    };
  }
  // Ignore relative paths in these variables (XDG Base Directory Specification, "Basics").
  const xdg = (name: string, otherwise: string) => `${absolute(env(name)) ?? `${home}/${otherwise}`}/postern`;
  const runtime = absolute(env("XDG_RUNTIME_DIR"));
  const state = xdg("XDG_STATE_HOME", ".local/state");
  return {
    home,
    config: xdg("XDG_CONFIG_HOME", ".config"),
    state,
    cache: xdg("XDG_CACHE_HOME", ".cache"),
    ...(runtime === undefined
      ? { runtime: `${state}/run`, formerRuntime }
      : { runtime: `${runtime}/postern` }),
    temporary,
  };
}

function windowsPlaces(env: PlacesOptions["env"]): Places {
  const home = env("USERPROFILE");
  if (!home) throw homeless("USERPROFILE");
  const local = env("LOCALAPPDATA") || `${home}\\AppData\\Local`;
  return {
    home,
    config: `${env("APPDATA") || `${home}\\AppData\\Roaming`}\\postern`,
    state: `${local}\\postern\\state`,
    cache: `${local}\\postern\\cache`,
    runtime: `${local}\\postern\\run`,
    temporary: env("TEMP") || `${local}\\Temp`,
  };
}

function absolute(path: string | undefined): string | undefined {
  return path?.startsWith("/") ? path : undefined;
}

function homeless(name: string): PosternError {
  return new PosternError("config", `Cannot determine the directories for files: ${name} is not set`, {
    hint: `set ${name} to your home directory`,
  });
}
