import { plainText } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** The desktops and systems whose proxy settings postern can change. */
export const desktopNames = ["gnome", "kde", "macos", "windows"] as const;
export type DesktopName = typeof desktopNames[number];

/** The proxy settings by name, in the order of writing; undefined for a setting with its default value. */
export type DesktopSettings = ReadonlyMap<string, string | undefined>;

/** Runs a program that must succeed, and returns its output. */
export type RunProgram = (
  command: readonly string[],
  env?: Readonly<Record<string, string>>,
) => Promise<string>;

/** Reads and writes the proxy settings of a desktop with its own programs. */
export interface Desktop {
  /** The name for people. */
  readonly title: string;
  /** Reads the settings that select a PAC file; throws if a program prints something unexpected. */
  readonly read: (run: RunProgram) => Promise<DesktopSettings>;
  /** The values for a PAC file. */
  readonly wanted: (url: string, now: DesktopSettings) => DesktopSettings;
  /** The commands that write a setting, or reset it to its default. */
  readonly write: (key: string, value: string | undefined) => readonly (readonly string[])[];
  /** The address of the PAC file in use; undefined without one. */
  readonly pacUrl: (now: DesktopSettings) => string | undefined;
  /** The command that announces a change to running programs; without it, they read the settings at their next start. */
  readonly announce?: readonly string[];
}

const gnomeSchema = "org.gnome.system.proxy";

const gnome: Desktop = {
  title: "GNOME",
  async read(run) {
    const settings = new Map<string, string | undefined>();
    for (const key of ["autoconfig-url", "mode"]) {
      const command = ["gsettings", "get", gnomeSchema, key];
      const value = gnomeText(await run(command));
      // An empty backend knows only the defaults.
      const standard = gnomeText(await run(command, { GSETTINGS_BACKEND: "memory" }));
      settings.set(key, value === standard ? undefined : value);
    }
    return settings;
  },
  wanted: (url) => new Map([["autoconfig-url", `'${url}'`], ["mode", "'auto'"]]),
  write: (key, value) => [
    value === undefined
      ? ["gsettings", "reset", gnomeSchema, key]
      : ["gsettings", "set", gnomeSchema, key, value],
  ],
  pacUrl: (now) => now.get("mode") === "'auto'" ? now.get("autoconfig-url")?.slice(1, -1) : undefined,
};

/** A text in GVariant's form; `gsettings set` gets nothing else. */
function gnomeText(output: string): string {
  const value = output.trim();
  if (isPlain(value) && /^(['"]).*\1$/.test(value)) return value;
  throw unreadable("gsettings", output);
}

const kdeFile = ["--file", "kioslaverc", "--group", "Proxy Settings"];
/** The answer for a key without a value. */
const kdeUnset = "postern:unset";

/** `version` is the number in the names of KDE's programs. */
function kde(version: "5" | "6"): Desktop {
  return {
    title: "KDE",
    async read(run) {
      const settings = new Map<string, string | undefined>();
      for (const key of ["Proxy Config Script", "ProxyType"]) {
        const command = [`kreadconfig${version}`, ...kdeFile, "--key", key, "--default", kdeUnset];
        const value = oneLine(await run(command), `kreadconfig${version}`);
        settings.set(key, value === kdeUnset ? undefined : value);
      }
      return settings;
    },
    wanted: (url) => new Map([["Proxy Config Script", url], ["ProxyType", "2"]]),
    write: (key, value) => [
      [
        `kwriteconfig${version}`,
        ...kdeFile,
        "--key",
        key,
        ...value === undefined ? ["--delete"] : ["--", value],
      ],
    ],
    pacUrl: (now) => now.get("ProxyType") === "2" ? now.get("Proxy Config Script") : undefined,
    announce: [
      "dbus-send",
      "--type=signal",
      "/KIO/Scheduler",
      "org.kde.KIO.Scheduler.reparseSlaveConfiguration",
      "string:",
    ],
  };
}

/** The most network services that postern looks at. */
const mostServices = 100;

const macos: Desktop = {
  title: "macOS",
  async read(run) {
    const settings = new Map<string, string | undefined>();
    for (const service of networkServices(await run(["networksetup", "-listallnetworkservices"]))) {
      settings.set(service, autoProxy(await run(["networksetup", "-getautoproxyurl", service])));
    }
    return settings;
  },
  wanted: (url, now) => new Map([...now.keys()].map((service) => [service, `on ${url}`])),
  write(service, value = "off ") {
    const [state = "off"] = value.split(" ", 1);
    const url = value.slice(state.length + 1);
    return [
      ["networksetup", "-setautoproxyurl", service, url],
      // An address turns the setting on.
      ["networksetup", "-setautoproxystate", service, state],
    ];
  },
  pacUrl: (now) => [...now.values()].find((value) => value?.startsWith("on "))?.slice(3),
};

/** The names in `networksetup -listallnetworkservices`: an explanation, then one a line, `*` for a disabled one. */
export function networkServices(output: string): readonly string[] {
  const names = output.split(/\r?\n/).slice(1).map((line) => line.replace(/^\*/, "")).filter((line) =>
    line !== ""
  );
  if (names.length === 0 || names.length > mostServices || names.some((name) => !isPlain(name))) {
    throw unreadable("networksetup", output);
  }
  return names;
}

/** `on URL` or `off URL`; undefined for the default: off without an address. */
export function autoProxy(output: string): string | undefined {
  const url = /^URL: ?(.*?)\r?$/m.exec(output)?.[1];
  const state = /^Enabled: (Yes|No)\r?$/m.exec(output)?.[1];
  if (url === undefined || state === undefined || !isPlain(url)) throw unreadable("networksetup", output);
  const known = url === "(null)" ? "" : url;
  return state === "No" && known === "" ? undefined : `${state === "Yes" ? "on" : "off"} ${known}`;
}

const registryKey = "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Internet Settings";
const registryName = "AutoConfigURL";

const windows: Desktop = {
  title: "Windows",
  read: async (run) => new Map([[registryName, registryValue(await run(["reg", "query", registryKey]))]]),
  wanted: (url) => new Map([[registryName, `REG_SZ ${url}`]]),
  write(name, value) {
    if (value === undefined) return [["reg", "delete", registryKey, "/v", name, "/f"]];
    const [type = ""] = value.split(" ", 1);
    const data = value.slice(type.length + 1);
    return [["reg", "add", registryKey, "/v", name, "/t", type, "/d", data, "/f"]];
  },
  pacUrl: (now) => now.get(registryName)?.replace(/^\S+ /, ""),
};

/** `TYPE DATA` of AutoConfigURL in the values of the key; undefined without it. */
export function registryValue(output: string): string | undefined {
  if (!/^HKEY_CURRENT_USER\\/m.test(output)) throw unreadable("reg", output);
  const [, type, data] = /^ +AutoConfigURL +(\S+) +(.*?)\r?$/im.exec(output) ?? [];
  if (type === undefined || data === undefined) return undefined;
  if (!/^REG_(EXPAND_)?SZ$/.test(type) || !isPlain(data)) throw unreadable("reg", output);
  return `${type} ${data}`;
}

/** The desktop with this name; `env` has the version of KDE. */
export function desktop(name: DesktopName, env: (name: string) => string | undefined): Desktop {
  if (name === "kde") return kde(env("KDE_SESSION_VERSION") === "5" ? "5" : "6");
  return { gnome, macos, windows }[name];
}

/** The desktop of this session. Desktops that are neither KDE nor known use GNOME's settings. */
export function desktopOf(platform: string, env: (name: string) => string | undefined): DesktopName {
  if (platform === "darwin") return "macos";
  if (platform === "windows") return "windows";
  return /(^|:)KDE(:|$)/i.test(env("XDG_CURRENT_DESKTOP") ?? "") ? "kde" : "gnome";
}

function oneLine(output: string, program: string): string {
  const line = output.replace(/\r?\n$/, "");
  if (isPlain(line)) return line;
  throw unreadable(program, output);
}

/** One line of bounded length without control characters and without bytes that are not UTF-8. */
function isPlain(text: string): boolean {
  return text.length <= 4000 && !/[\p{Cc}\ufffd]/u.test(text);
}

function unreadable(program: string, output: string): PosternError {
  return new PosternError("protocol", `Cannot read the output of ${program}`, {
    reason: `unexpected text "${plainText(output.trim(), { limit: 80 })}"`,
  });
}
