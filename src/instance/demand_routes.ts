import { PosternError } from "../words/mod.ts";
import type { LoadedConfig } from "../plan/mod.ts";

/** Throws if the instance would send everything direct, because that start is a mistake. */
export function demandRoutes({ path, rules, settings, catalogues }: LoadedConfig): void {
  if (rules.length > 0 || settings.default !== "direct") return;
  if (settings.catalogues?.length && catalogues.every(({ fetchedAt }) => fetchedAt === undefined)) {
    throw new PosternError(
      "config",
      "Cannot start the instance: no catalogue is stored, so nothing would be routed",
      {
        hint: "fetch it: postern update",
      },
    );
  }
  if (path !== undefined || catalogues.length > 0) return;
  throw new PosternError(
    "config",
    "Cannot start the instance: there is no configuration, no --route and no catalogue, so nothing would be routed",
    {
      hint:
        "fetch a catalogue: postern update; write a configuration for this machine: postern setup; or try: " +
        "postern proxy --route .corp.example=proxy:http://127.0.0.1:3128",
    },
  );
}
