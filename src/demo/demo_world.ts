import { PosternError, type World } from "../core/mod.ts";
import { DemoFiles } from "./demo_files.ts";

/**
 * The world of the demo's door: network, clock and terminal are real; its files are in memory, its person is nobody,
 * and it can run no program. So no ssh configuration, key, agent or known host of the real person has a part in it.
 */
export function demoWorld(world: World, files: Readonly<Record<string, string>>): World {
  const { clock, network, terminal, places } = world;
  const none = () => Promise.reject(new PosternError("not_allowed", "The demo starts no program"));
  const process: World["process"] = Object.create(world.process, {
    hostName: { value: "demo" },
    env: { value: () => undefined },
    account: { value: () => Promise.resolve({ name: "demo", home: "/demo" }) },
    // Whether ssh may be taken up at a reload hangs on it.
    mayRun: { value: () => true },
    run: { value: none },
    pipe: { value: none },
  });
  const noStore = () => Promise.reject(new PosternError("not_allowed", "The demo stores nothing"));
  const stores = { open: noStore, setAside: noStore };
  return { clock, network, terminal, places, process, stores, files: new DemoFiles(files) };
}
