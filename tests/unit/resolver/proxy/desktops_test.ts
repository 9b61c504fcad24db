import assert from "node:assert/strict";
import fc from "fast-check";
import { PosternError } from "../../../../src/words/mod.ts";
import {
  autoProxy,
  desktop,
  type DesktopName,
  desktopOf,
  networkServices,
  registryValue,
} from "../../../../src/resolver/proxy/desktops.ts";

const url = "http://127.0.0.1:12000/proxy.pac";
const kioslaverc = "--file kioslaverc --group Proxy Settings --key";
const key = "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Internet Settings";

/** The commands that set the PAC file and reset each setting, one a line. */
const commands: Readonly<Record<DesktopName, { readonly on: string; readonly reset: string }>> = {
  gnome: {
    on: `gsettings set org.gnome.system.proxy autoconfig-url '${url}'
gsettings set org.gnome.system.proxy mode 'auto'`,
    reset: `gsettings reset org.gnome.system.proxy autoconfig-url
gsettings reset org.gnome.system.proxy mode`,
  },
  kde: {
    on: `kwriteconfig6 ${kioslaverc} Proxy Config Script -- ${url}
kwriteconfig6 ${kioslaverc} ProxyType -- 2`,
    reset: `kwriteconfig6 ${kioslaverc} Proxy Config Script --delete
kwriteconfig6 ${kioslaverc} ProxyType --delete`,
  },
  macos: {
    on: `networksetup -setautoproxyurl Wi-Fi ${url}
networksetup -setautoproxystate Wi-Fi on
networksetup -setautoproxyurl USB LAN ${url}
networksetup -setautoproxystate USB LAN on`,
    reset: `networksetup -setautoproxyurl Wi-Fi 
networksetup -setautoproxystate Wi-Fi off
networksetup -setautoproxyurl USB LAN 
networksetup -setautoproxystate USB LAN off`,
  },
  windows: {
    on: `reg add ${key} /v AutoConfigURL /t REG_SZ /d ${url} /f`,
    reset: `reg delete ${key} /v AutoConfigURL /f`,
  },
};
for (const name of Object.keys(commands) as DesktopName[]) {
  Deno.test(`desktop() has the commands of ${name}`, () => {
    const { wanted, write, pacUrl } = desktop(name, () => undefined);
    const set = wanted(url, new Map([["Wi-Fi", undefined], ["USB LAN", "off http://x/"]]));
    const written = (value: (key: string) => string | undefined) =>
      [...set.keys()].flatMap((key) => write(key, value(key))).map((command) => command.join(" ")).join("\n");
    assert.equal(written((key) => set.get(key)), commands[name].on);
    assert.equal(written(() => undefined), commands[name].reset);
    assert.equal(pacUrl(set), url);
    assert.equal(pacUrl(new Map()), undefined);
  });
}

Deno.test("desktop() uses the programs of KDE's version", () => {
  const [[program] = []] = desktop("kde", () => "5").write("ProxyType", undefined);
  assert.equal(program, "kwriteconfig5");
});

Deno.test("desktopOf() knows the system and the session", () => {
  const cases: readonly (readonly [platform: string, session: string | undefined, name: DesktopName])[] = [
    ["darwin", undefined, "macos"],
    ["windows", "KDE", "windows"],
    ["linux", "KDE", "kde"],
    ["linux", "custom:KDE", "kde"],
    ["linux", "ubuntu:GNOME", "gnome"],
    ["linux", "X-Cinnamon", "gnome"],
    ["linux", undefined, "gnome"],
  ];
  for (const [platform, session, name] of cases) assert.equal(desktopOf(platform, () => session), name);
});

Deno.test("networkServices() and autoProxy() read what networksetup prints", () => {
  const list =
    "An asterisk (*) denotes that a network service is disabled.\nWi-Fi\n*USB 10/100 LAN\niPhone's VPN\n";
  assert.deepEqual(networkServices(list), ["Wi-Fi", "USB 10/100 LAN", "iPhone's VPN"]);
  assert.equal(autoProxy("URL: (null)\nEnabled: No\n"), undefined);
  assert.equal(autoProxy("URL: \nEnabled: No\n"), undefined);
  assert.equal(autoProxy(`URL: ${url}\nEnabled: Yes\n`), `on ${url}`);
  assert.equal(autoProxy(`URL: ${url}\r\nEnabled: No\r\n`), `off ${url}`);
  assert.equal(autoProxy("URL: (null)\nEnabled: Yes\n"), "on ");
});

Deno.test("registryValue() reads what reg prints", () => {
  const head = "\r\nHKEY_CURRENT_USER\\Software\\Microsoft\\Windows\\CurrentVersion\\Internet Settings\r\n";
  const other = "    User Agent    REG_SZ    Mozilla/4.0\r\n    ProxyEnable    REG_DWORD    0x0\r\n";
  assert.equal(registryValue(head + other), undefined);
  assert.equal(registryValue(`${head}    AutoConfigURL    REG_SZ    ${url}\r\n${other}`), `REG_SZ ${url}`);
  const expanding = `${head}${other}    AutoConfigURL    REG_EXPAND_SZ    %X% y\r\n`;
  assert.equal(registryValue(expanding), "REG_EXPAND_SZ %X% y");
  assert.equal(registryValue(`${head}    AutoConfigURL    REG_SZ    \r\n`), "REG_SZ ");
});

/** The readers of the programs' answers. */
const readers: readonly ((text: string) => unknown)[] = [networkServices, autoProxy, registryValue];

Deno.test("answers that no program prints are refused, in one short line", () => {
  const odd = [
    "",
    "\n\n",
    "** Error: The parameters were not valid.",
    "x".repeat(300_000),
    "URL: a\0\nEnabled: Yes\n",
  ];
  const head = "HKEY_CURRENT_USER\\X\n    AutoConfigURL    REG_";
  for (const text of [...odd, `${head}DWORD    0x1\n`, `${head}SZ    ${"x".repeat(5000)}\n`]) {
    for (const reader of readers) {
      try {
        reader(text);
      } catch (error) {
        assert.ok(error instanceof PosternError && error.code === "protocol");
        assert.match(error.message, /^[\x20-\x7e]{1,150}$/);
        continue;
      }
      // networkServices() takes any lines after the first.
      assert.equal(reader === networkServices && text.includes("\n"), true, text.slice(0, 60));
    }
  }
});

Deno.test("a read of any answer gives plain settings or a protocol error", async () => {
  const anything = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(
      fc.constantFrom(
        "'auto'",
        "\n",
        "URL: ",
        "Enabled: Yes",
        "HKEY_CURRENT_USER\\",
        "    AutoConfigURL    REG_SZ    x",
        "\0",
        "*",
      ),
    )
      .map((parts) => parts.join("")),
  );
  const names = fc.constantFrom<DesktopName>("gnome", "kde", "macos", "windows");
  await fc.assert(
    fc.asyncProperty(names, fc.array(anything, { minLength: 1, maxLength: 5 }), async (name, answers) => {
      let asked = 0;
      const { read, write } = desktop(name, () => undefined);
      try {
        const now = await read(() => Promise.resolve(answers[asked++ % answers.length] ?? ""));
        for (const [key, value] of now) {
          for (const word of write(key, value).flat()) assert.doesNotMatch(word, /\p{Cc}/u);
        }
      } catch (error) {
        assert.ok(error instanceof PosternError && error.code === "protocol", String(error));
      }
    }),
  );
});
