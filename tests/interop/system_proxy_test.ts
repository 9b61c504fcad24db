import assert from "node:assert/strict";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

/** A household whose desktop settings are in a file below it. */
async function openDesktop(session: string): Promise<
  AsyncDisposable & {
    home: Household;
    run: (...args: string[]) => ReturnType<Household["run"]>;
    env: Record<string, string>;
  }
> {
  const home = await Household.open();
  await home.configure("default: direct\n");
  const { directory } = home;
  const env = {
    GSETTINGS_BACKEND: "keyfile",
    XDG_CURRENT_DESKTOP: session,
    KDE_SESSION_VERSION: "5",
    XDG_CONFIG_HOME: `${directory}/config`,
    HOME: directory,
  };
  return {
    home,
    env,
    run: (...args) => home.run(args, { env }),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

const schema = "org.gnome.system.proxy";

peerTest(
  "system-proxy changes GNOME's settings, and restores them after a crash",
  ["gsettings"],
  async (paths) => {
    await using desktop = await openDesktop("GNOME");
    const { home, run, env } = desktop;
    const gsettings = async (...args: string[]) => {
      const { code, stdout, stderr } = await runPeer(paths.gsettings, args, { env });
      assert.equal(code, 0, stderr);
      return stdout.trim();
    };
    const now =
      async () => [await gsettings("get", schema, "mode"), await gsettings("get", schema, "autoconfig-url")];
    const keyfile = () => Deno.readTextFile(`${env.XDG_CONFIG_HOME}/glib-2.0/settings/keyfile`);
    await gsettings("set", schema, "autoconfig-url", "'http://before.example/\u00fc.pac'");
    const before = await keyfile();

    const refused = await run("system-proxy", "on");
    assert.deepEqual([refused.code, await keyfile()], [3, before], refused.stderr);
    assert.match(refused.stderr, /is not running\n/);

    const instance = await home.instance();
    const url = `http://${await instance.address()}/proxy.pac`;
    assert.equal((await run("system-proxy", "on")).code, 0);
    assert.deepEqual(await now(), ["'auto'", `'${url}'`]);
    const { stdout } = await run("system-proxy", "status");
    assert.equal(stdout, `desktop   GNOME\nPAC file  ${url}\nset by    postern (instance default)\n`);
    assert.match((await run("system-proxy", "on")).stderr, /nothing to change/);
    assert.match((await run("cleanup")).stderr, /nothing to change/);

    instance.kill("SIGKILL");
    await instance.ended;
    assert.match(
      (await run("doctor")).stdout,
      new RegExp(`failed +system proxy: uses ${url}, but nothing answers`),
    );
    const cleaned = await run("cleanup");
    assert.deepEqual([cleaned.code, await keyfile()], [0, before], cleaned.stderr);
    assert.match(cleaned.stderr, /restored GNOME: mode\n/);
    assert.match((await run("system-proxy", "off")).stderr, /nothing to restore/);
  },
);

peerTest("stop names a system proxy that still uses the instance", ["gsettings"], async () => {
  await using desktop = await openDesktop("GNOME");
  const { home, run } = desktop;
  await using _instance = await home.instance();
  assert.equal((await run("system-proxy", "on")).code, 0);
  const stopped = await run("stop");
  assert.deepEqual(
    [stopped.code, /system proxy still uses it/.test(stopped.stderr)],
    [0, true],
    stopped.stderr,
  );
  assert.match((await run("system-proxy", "off")).stderr, /restored GNOME: mode\n/);
  assert.doesNotMatch((await run("system-proxy", "status")).stdout, /proxy\.pac/);
});

peerTest("system-proxy changes and restores KDE's settings", ["kreadconfig5"], async () => {
  await using desktop = await openDesktop("KDE");
  const { home, run, env } = desktop;
  const file = `${env.XDG_CONFIG_HOME}/kioslaverc`;
  const before = "[Other]\na=b\n\n[Proxy Settings]\nProxyType=4\n";
  await Deno.writeTextFile(file, before);
  await using instance = await home.instance();
  const url = `http://${await instance.address()}/proxy.pac`;
  const on = await run("system-proxy", "on");
  assert.equal(on.code, 0, on.stderr);
  assert.match(await Deno.readTextFile(file), new RegExp(`Proxy Config Script=${url}\nProxyType=2\n`));
  assert.equal((await run("system-proxy", "off")).code, 0);
  assert.equal(await Deno.readTextFile(file), before);
});

peerTest("the commands for Windows do what reg.exe of Wine expects", ["wine"], async ({ wine }) => {
  const directory = await Deno.makeTempDir();
  const env = { WINEPREFIX: `${directory}/prefix`, WINEDEBUG: "-all", HOME: directory };
  try {
    const { desktop } = await import("../../src/resolver/proxy/desktops.ts");
    const { read, wanted, write } = desktop("windows", () => undefined);
    const run = async (command: readonly string[]) => {
      const { code, stdout } = await runPeer(wine, command, { env });
      assert.equal(code, 0, command.join(" "));
      return stdout;
    };
    const now = await read(run);
    assert.deepEqual([...now.values()], [undefined]);
    const set = wanted("http://127.0.0.1:12000/proxy.pac", now);
    for (const values of [set, now]) {
      for (const [key, value] of values) for (const command of write(key, value)) await run(command);
      assert.deepEqual(await read(run), values);
    }
  } finally {
    await runPeer(wine, ["wineboot", "--kill"], { env });
    await Deno.remove(directory, { recursive: true });
  }
});
