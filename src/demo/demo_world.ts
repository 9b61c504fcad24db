import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { DemoFiles } from "./demo_files.ts";
import { DemoStores } from "./demo_stores.ts";
import { visit } from "./played_browser.ts";

/**
 * The world of the demo's door: network, clock and terminal are real; its files and stores are in memory, its person is
 * nobody, and it can run no program but a browser that is played. So no ssh configuration, key, agent or known host of the real person has a part in it.
 */
export function demoWorld(world: World, files: Readonly<Record<string, string>>): World {
  const { clock, network, terminal } = world;
  const none = () => Promise.reject(new PosternError("not_allowed", "The demo starts no program"));
  const process: World["process"] = Object.create(world.process, {
    hostName: { value: "demo" },
    env: { value: (name: string) => name === "POSTERN_BROWSER" ? "played" : undefined },
    account: { value: () => Promise.resolve({ name: "demo", home: "/demo" }) },
    // Its ssh starts no program, so a reload may bring it.
    missing: { value: () => undefined },
    mayRun: { value: () => true },
    run: { value: none },
    // The one program that it seems to have is the browser, and that is played.
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

/** Where its person has everything: nothing of that is on a disk. */
const places: World["places"] = {
  home: "/demo",
  temporary: "/demo/tmp",
  config: "/demo/config",
  state: "/demo/state",
  cache: "/demo/cache",
  runtime: "/demo/run",
};
