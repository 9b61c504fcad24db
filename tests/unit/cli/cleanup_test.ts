import assert from "node:assert/strict";
import { runCommandLine } from "../../../src/cli/line/command_line.ts";
import { readCommandLine } from "../../../src/permissions/mod.ts";
import { commandGroups } from "../../../src/cli/line/all_commands.ts";
import { applyDns, readProxyState, setSystemProxy } from "../../../src/resolver/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const context = { groups: commandGroups, version: "1.2.3", writeLogLine: () => {} };
const { signal } = new AbortController();

/** A machine that a killed instance left with DNS files and a system proxy. */
async function afterCrash() {
  const world = new MemoryWorld({ env: { XDG_CURRENT_DESKTOP: "GNOME" } });
  const values = new Map<string, string>();
  let isBroken = false;
  world.process.run = ([program, verb, , key = "", value = ""], { env }) => {
    if (program === "gsettings" && isBroken) {
      throw new PosternError("config", "Cannot run gsettings: it broke");
    }
    if (verb === "set") values.set(key, value);
    if (verb === "reset") values.delete(key);
    const set = env?.["GSETTINGS_BACKEND"] === undefined ? values.get(key) : undefined;
    const stdout = program === "gsettings" ? set ?? "''" : "systemd 252 (252.1)\n";
    return Promise.resolve({ code: 0, stdout, stderr: "" });
  };
  let said = "";
  Object.assign(world.terminal, { err: (text: string) => Promise.resolve(void (said += text)) });
  await applyDns(world, { server: { host: "127.0.0.1", port: 1053 }, domains: ["corp.example"] }, { signal });
  await setSystemProxy(world, { id: "default", url: "http://127.0.0.1:12000/proxy.pac" }, { signal });
  return {
    world,
    breakDesktop: () => void (isBroken = true),
    async cleanUp() {
      said = "";
      const code = await runCommandLine(readCommandLine(["cleanup"]), world, context);
      return { code, said };
    },
  };
}

Deno.test("cleanup reports the removed DNS files also if the desktop fails", async () => {
  const { breakDesktop, cleanUp } = await afterCrash();
  breakDesktop();
  const { code, said } = await cleanUp();
  assert.notEqual(code, 0);
  assert.match(said, /removed \/etc\/systemd[^]*Cannot run gsettings: it broke/);
});

Deno.test("cleanup restores the system proxy also if only root can remove the DNS files", async () => {
  const { world, cleanUp } = await afterCrash();
  const { files } = world;
  const remove = files.remove.bind(files);
  files.remove = (path) =>
    path.startsWith("/etc/")
      ? Promise.reject(new PosternError("not_allowed", `Cannot remove ${path}: permission denied`))
      : remove(path);
  const { code, said } = await cleanUp();
  assert.notEqual(code, 0);
  assert.match(said, /restored GNOME: mode\n[^]*sudo postern cleanup/);
  assert.equal(await readProxyState(world), undefined);
});
