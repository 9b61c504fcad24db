import assert from "node:assert/strict";
import {
  type DesktopName,
  pacAddress,
  readProxyState,
  restoreDeadProxy,
  restoreSystemProxy,
  setSystemProxy,
  systemProxy,
} from "../../../../src/resolver/mod.ts";
import { desktop } from "../../../../src/resolver/proxy/desktops.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const { signal } = new AbortController();
const url = "http://127.0.0.1:12000/proxy.pac";
const other = "http://127.0.0.1:13000/proxy.pac";

/** A desktop whose programs read and write a table; `fails` is the number of the command that fails. */
class FakeDesktop {
  readonly world: MemoryWorld;
  readonly values = new Map<string, string>();
  readonly ran: string[] = [];
  fails: number | undefined;
  /** Whether writing has no effect, as without a desktop session. */
  isDeaf = false;

  constructor(platform: "linux" | "darwin" | "windows", session = "GNOME") {
    this.world = new MemoryWorld({ platform, env: { XDG_CURRENT_DESKTOP: session } });
    this.world.process.run = (command, { env }) => {
      this.ran.push(command.join(" "));
      if (this.ran.length === this.fails) {
        return Promise.resolve({ code: 1, stdout: "", stderr: "it broke\n" });
      }
      return Promise.resolve({
        code: 0,
        stdout: this.#answer(command, env?.["GSETTINGS_BACKEND"]),
        stderr: "",
      });
    };
  }

  #answer([program = "", ...args]: readonly string[], backend?: string): string {
    const [verb = "", subject = "", ...rest] = args;
    if (program === "gsettings") {
      const [name = "", value] = rest;
      const standard = name === "mode" ? "'none'" : "''";
      if (verb === "get") return `${backend === "memory" ? standard : this.values.get(name) ?? standard}\n`;
      return this.#put(name, value);
    }
    if (program === "reg") {
      if (verb === "query") {
        const value = this.values.get("AutoConfigURL")?.replace(" ", "    ");
        return `\r\nHKEY_CURRENT_USER\\X\r\n${
          value === undefined ? "" : `    AutoConfigURL    ${value}\r\n`
        }`;
      }
      return this.#put("AutoConfigURL", verb === "delete" ? undefined : `${args[5]} ${args[7]}`);
    }
    if (program === "networksetup") {
      if (verb === "-listallnetworkservices") return "An asterisk\nWi-Fi\n*LAN\n";
      const [state = "off", address = ""] = (this.values.get(subject) ?? "off ").split(" ");
      if (verb === "-getautoproxyurl") {
        return `URL: ${address || "(null)"}\nEnabled: ${state === "on" ? "Yes" : "No"}\n`;
      }
      const [value = ""] = rest;
      const next = verb === "-setautoproxyurl" ? `on ${value}` : `${value} ${address}`;
      return this.#put(subject, next === "off " ? undefined : next);
    }
    const name = args[args.indexOf("--key") + 1] ?? "";
    if (program.startsWith("kreadconfig")) return `${this.values.get(name) ?? args.at(-1)}\n`;
    if (program.startsWith("kwriteconfig")) {
      return this.#put(name, args.includes("--delete") ? undefined : args.at(-1));
    }
    throw new PosternError("config", `Cannot run "${program}": no such program`, { detail: "no_program" });
  }

  #put(name: string, value: string | undefined): string {
    if (this.isDeaf) return "";
    if (value === undefined) this.values.delete(name);
    else this.values.set(name, value);
    return "";
  }

  async set(to = url): Promise<boolean> {
    return (await setSystemProxy(this.world, { id: "default", url: to }, { signal })).isChanged;
  }
}

const places = [
  {
    name: "gnome",
    platform: "linux",
    session: "GNOME",
    before: { mode: "'manual'", "autoconfig-url": "'http://x/'" },
  },
  { name: "kde", platform: "linux", session: "KDE", before: { ProxyType: "4" } },
  {
    name: "macos",
    platform: "darwin",
    session: "",
    before: { "Wi-Fi": "on http://x/", LAN: "off http://y/" },
  },
  { name: "windows", platform: "windows", session: "", before: { AutoConfigURL: "REG_EXPAND_SZ http://x/" } },
] as const;

for (const { name, platform, session, before } of places) {
  for (const former of [{}, before] as readonly Readonly<Record<string, string>>[]) {
    const settings = JSON.stringify(former);
    const start = () => {
      const fake = new FakeDesktop(platform, session);
      for (const [key, value] of Object.entries(former)) fake.values.set(key, value);
      return fake;
    };
    const restored = (fake: FakeDesktop) =>
      assert.deepEqual(Object.fromEntries(fake.values), former, fake.ran.join("\n"));

    Deno.test(`setSystemProxy() on ${name} restores ${settings} exactly, also after another address`, async () => {
      const fake = start();
      const { world } = fake;
      assert.equal(await fake.set(), true);
      assert.equal((await systemProxy(world, {}, { signal })).pacUrl, url);
      assert.equal(await fake.set(), false);
      assert.equal(await fake.set(other), true);
      const now = await systemProxy(world, {}, { signal });
      assert.deepEqual([now.pacUrl, now.state?.url, now.changed], [other, other, []]);
      const result = await restoreSystemProxy(world, { signal });
      assert.deepEqual(result?.left, []);
      restored(fake);
      assert.equal(await restoreSystemProxy(world, { signal }), undefined);
      assert.equal(await readProxyState(world), undefined);
    });

    for (const first of [undefined, other]) {
      const after = first === undefined ? "" : ", also after another address";
      Deno.test(`setSystemProxy() on ${name} with ${settings} can be undone after a failure of any command${after}`, async () => {
        const begun = async () => {
          const fake = start();
          if (first !== undefined) await fake.set(first);
          fake.ran.length = 0;
          return fake;
        };
        const whole = await begun();
        await whole.set();
        for (let fails = 1; fails <= whole.ran.length; fails++) {
          for (const isRepeated of [false, true]) {
            const fake = await begun();
            fake.fails = fails;
            const failed = await fake.set().then(() => false, () => true);
            fake.fails = undefined;
            // Only the message to running programs may fail.
            assert.equal(failed, !whole.ran[fails - 1]?.startsWith("dbus-send"), whole.ran[fails - 1]);
            if (isRepeated) await fake.set();
            await restoreSystemProxy(fake.world, { signal });
            restored(fake);
          }
        }
      });
    }
  }
}

Deno.test("the previous settings are stored for the user alone before the first change", async () => {
  const fake = new FakeDesktop("linux");
  fake.isDeaf = true;
  await assert.rejects(fake.set(), {
    message: "Cannot change the proxy settings of GNOME: autoconfig-url, mode kept the old value",
  });
  const state = await readProxyState(fake.world);
  assert.deepEqual(state?.settings.map(({ before }) => before), [null, null]);
  assert.equal((await fake.world.files.info("/state/system-proxy.json"))?.mode, 0o600);
});

Deno.test("restoreSystemProxy() leaves a setting that another program changed, and says so", async () => {
  const fake = new FakeDesktop("linux");
  await fake.set();
  fake.values.set("mode", "'manual'");
  assert.deepEqual((await systemProxy(fake.world, {}, { signal })).changed, ["mode"]);
  const result = await restoreSystemProxy(fake.world, { signal });
  assert.deepEqual(result, { title: "GNOME", restored: ["autoconfig-url"], left: ["mode"] });
  assert.deepEqual([...fake.values], [["mode", "'manual'"]]);
});

Deno.test("setSystemProxy() takes what another program set meanwhile as the previous settings", async () => {
  const fake = new FakeDesktop("linux");
  await fake.set();
  fake.values.set("mode", "'manual'");
  await fake.set();
  await restoreSystemProxy(fake.world, { signal });
  assert.deepEqual([...fake.values], [["mode", "'manual'"]]);
});

Deno.test("restoreSystemProxy() skips a network service that is gone", async () => {
  const fake = new FakeDesktop("darwin");
  await fake.set();
  const { run } = fake.world.process;
  fake.world.process.run = async (command, options) => {
    if (command[1] === "-listallnetworkservices") {
      return { code: 0, stdout: "An asterisk\nWi-Fi\n", stderr: "" };
    }
    return await run(command, options);
  };
  assert.deepEqual((await restoreSystemProxy(fake.world, { signal }))?.restored, ["Wi-Fi"]);
});

Deno.test("setSystemProxy() does not mix the settings of two desktops", async () => {
  const fake = new FakeDesktop("linux");
  await fake.set();
  await assert.rejects(setSystemProxy(fake.world, { name: "kde", id: "default", url }, { signal }), {
    message: "Cannot set the system proxy: postern has set it in GNOME",
  });
});

Deno.test("restoreDeadProxy() keeps the settings while something answers at the address", async () => {
  const fake = new FakeDesktop("linux");
  await fake.set();
  const listening = fake.world.network.listen({ host: "127.0.0.1", port: 12000 });
  assert.equal(await restoreDeadProxy(fake.world, { signal }), undefined);
  assert.equal(fake.values.get("mode"), "'auto'");
  listening.close();
  assert.deepEqual((await restoreDeadProxy(fake.world, { signal }))?.restored, ["mode", "autoconfig-url"]);
  assert.equal(fake.values.size, 0);
});

Deno.test("restoreDeadProxy() changes nothing if it may not connect to the address", async () => {
  const fake = new FakeDesktop("linux");
  await fake.set();
  const refused = new PosternError("not_allowed", "Cannot connect: missing permission --allow-net");
  fake.world.network.connect = () => Promise.reject(refused);
  await assert.rejects(restoreDeadProxy(fake.world, { signal }), { code: "not_allowed" });
  assert.equal(fake.values.get("mode"), "'auto'");
});

Deno.test("readProxyState() refuses a damaged file and another version", async () => {
  for (
    const text of [
      "",
      "{",
      "[]",
      '{"version":2}',
      '{"version":1,"desktop":"gnome","id":"a","url":"b","settings":[{}]}',
    ]
  ) {
    const world = new MemoryWorld({ files: { "/state/system-proxy.json": text } });
    await assert.rejects(readProxyState(world), { detail: "damaged" });
  }
});

Deno.test("pacAddress() takes only loopback, and prefers it without a password", () => {
  const listener = (kind: string, address: string, auth = false) => ({ kind, address, auth });
  assert.equal(
    pacAddress([
      listener("socks", "127.0.0.1:1"),
      listener("unix", "/run/x"),
      listener("dns", "127.0.0.1:53"),
      listener("mixed", "192.0.2.1:2"),
      listener("http", "127.0.0.1:0"),
    ]),
    undefined,
  );
  const all = [
    listener("http", "192.0.2.1:2"),
    listener("mixed", "127.0.0.1:3", true),
    listener("http", "[::]:4"),
  ];
  for (
    const expected of [
      "http://[::1]:4/proxy.pac",
      "http://127.0.0.1:3/proxy.pac",
    ]
  ) {
    assert.equal(pacAddress(all), expected);
    all.splice(
      all.findIndex(({ address }) => expected.endsWith(`${address.split(":").at(-1)}/proxy.pac`)),
      1,
    );
  }
});

Deno.test("every desktop can be named", () => {
  for (const name of ["gnome", "kde", "macos", "windows"] satisfies DesktopName[]) {
    assert.ok(desktop(name, () => "").title);
  }
});
