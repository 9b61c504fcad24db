import { type Log, silentLog } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import type { LoadedConfig } from "../plan/mod.ts";
import { Instance } from "./instance.ts";

/** A door that is built and never opened: for questions that a configuration can answer. */
export function closedInstance(
  world: World,
  config: LoadedConfig,
  log: Log = silentLog,
  id = "default",
): Instance {
  const pages = () => () => Promise.resolve({ status: 404, fields: [], body: "" });
  return new Instance(world, config, { version: "", id, log, pages, asks: "anybody" });
}
