import assert from "node:assert/strict";
import type { Places } from "../../../../src/world/mod.ts";
import type { PosternError } from "../../../../src/words/mod.ts";
import { placesFor, type PlacesOptions } from "../../../../src/runtime/files/places.ts";

interface Case {
  readonly name: string;
  readonly platform: PlacesOptions["platform"];
  readonly env: Record<string, string>;
  readonly expected: { readonly [Name in keyof Places]?: Places[Name] | undefined };
}

const cases: readonly Case[] = [
  {
    name: "the defaults of Linux",
    platform: "linux",
    env: { HOME: "/home/me" },
    expected: {
      home: "/home/me",
      config: "/home/me/.config/postern",
      state: "/home/me/.local/state/postern",
      cache: "/home/me/.cache/postern",
      runtime: "/home/me/.local/state/postern/run",
      formerRuntime: "/tmp/postern-1000",
      temporary: "/tmp",
    },
  },
  {
    name: "the XDG variables",
    platform: "linux",
    env: {
      HOME: "/home/me",
      XDG_CONFIG_HOME: "/c",
      XDG_STATE_HOME: "/s",
      XDG_CACHE_HOME: "/k",
      XDG_RUNTIME_DIR: "/run/user/1000",
    },
    expected: {
      config: "/c/postern",
      state: "/s/postern",
      cache: "/k/postern",
      runtime: "/run/user/1000/postern",
      formerRuntime: undefined,
    },
  },
  {
    name: "XDG variables that are relative or empty",
    platform: "linux",
    env: { HOME: "/home/me", XDG_CONFIG_HOME: "c", XDG_RUNTIME_DIR: "" },
    expected: { config: "/home/me/.config/postern", runtime: "/home/me/.local/state/postern/run" },
  },
  {
    name: "TMPDIR with a slash at its end",
    platform: "linux",
    env: { HOME: "/home/me", TMPDIR: "/var/tmp/" },
    expected: { temporary: "/var/tmp", formerRuntime: "/var/tmp/postern-1000" },
  },
  {
    name: "macOS",
    platform: "darwin",
    env: { HOME: "/Users/me", TMPDIR: "/var/folders/ab/cd/T/", XDG_CONFIG_HOME: "/c" },
    expected: {
      config: "/Users/me/Library/Application Support/postern",
      cache: "/Users/me/Library/Caches/postern",
      runtime: "/Users/me/Library/Application Support/postern/run",
      formerRuntime: "/var/folders/ab/cd/T/postern-1000",
    },
  },
  {
    name: "Windows",
    platform: "windows",
    env: {
      USERPROFILE: "C:\\Users\\me",
      APPDATA: "D:\\Roaming",
      LOCALAPPDATA: "D:\\Local",
      TEMP: "D:\\Temp",
    },
    expected: {
      home: "C:\\Users\\me",
      config: "D:\\Roaming\\postern",
      state: "D:\\Local\\postern\\state",
      runtime: "D:\\Local\\postern\\run",
      temporary: "D:\\Temp",
    },
  },
  {
    name: "Windows with a minimal environment",
    platform: "windows",
    env: { USERPROFILE: "C:\\Users\\me" },
    expected: { config: "C:\\Users\\me\\AppData\\Roaming\\postern" },
  },
];

for (const { name, platform, env, expected } of cases) {
  Deno.test(`placesFor() returns ${name}`, () => {
    const places = placesFor({ platform, env: (variable) => env[variable], uid: 1000 });
    for (const [name, path] of Object.entries(expected)) {
      assert.equal(places[name as keyof Places], path, name);
    }
  });
}

for (const platform of ["linux", "windows"] as const) {
  Deno.test(`placesFor() names the variable to set when ${platform} has no home`, () => {
    assert.throws(
      () => placesFor({ platform, env: () => undefined, uid: 1000 }),
      (error: PosternError) => error.code === "config" && /^set (HOME|USERPROFILE) /.test(error.hint ?? ""),
    );
  });
}
