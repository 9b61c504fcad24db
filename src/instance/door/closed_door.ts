import { type Log, silentLog } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";
import type { LoadedConfig } from "../../plan/mod.ts";
import { Door } from "./door.ts";

/** A door that is built and never opened: for questions that a configuration can answer. */
export function closedDoor(world: World, config: LoadedConfig, log: Log = silentLog, id = "default"): Door {
  const pages = () => () => Promise.resolve({ status: 404, fields: [], body: "" });
  return new Door(world, config, { version: "", id, log, pages, asks: "anybody" });
}
