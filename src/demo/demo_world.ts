import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { DemoFiles } from "./demo_files.ts";
import { DemoStores } from "./demo_stores.ts";
import { visit } from "./played_browser.ts";

/**
 * The world of the demo's instance. Network, clock and terminal are real. Files, stores and the user are
 * simulated, and the only program is a simulated browser. The demo therefore does not use your ssh
 * configuration, keys, agent or known hosts.
 */
export function demoWorld(world: World, files: Readonly<Record<string, string>>): World {
  const { clock, network, terminal } = world;
  const none = () => Promise.reject(new PosternError("not_allowed", "Cannot start a program in the demo"));
  const process: World["process"] = Object.create(world.process, {
    hostName: { value: "demo" },
    env: { value: (name: string) => name === "POSTERN_BROWSER" ? "played" : undefined },
    account: { value: () => Promise.resolve({ name: "demo", home: "/demo" }) },
    // The demo's ssh starts no program, so a reload may add ssh.
    missing: { value: () => undefined },
    mayRun: { value: () => true },
    run: { value: none },
    // The only program is the simulated browser.
    background: {
      value: ([, address = ""]: readonly string[], { signal }: { readonly signal: AbortSignal }) => {
        const ended = visit({ clock, network }, new URL(address), { signal }).then(() => 0, () => 1);
        return Promise.resolve({ pid: 0, ended, release() {} });
      },
    },
    pipe: { value: none },
  });
  return { clock, network, terminal, places, process, stores: new DemoStores(), files: new DemoFiles(files) };
}

/** Directories of the simulated user; none exists on disk. */
const places: World["places"] = {
  home: "/demo",
  temporary: "/demo/tmp",
  config: "/demo/config",
  state: "/demo/state",
  cache: "/demo/cache",
  runtime: "/demo/run",
};
