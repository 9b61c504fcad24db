import { group, object } from "@optique/core/constructs";
import { map, multiple, optional } from "@optique/core/modifiers";
import { message } from "@optique/core/message";
import { flag, option } from "@optique/core/primitives";
import {} from "@optique/core/valueparser";
import { createLog, type Log, type LogLevel, logLevels } from "../../core/mod.ts";
import { optionNames } from "../../permissions/mod.ts";
import type { World } from "../../world/mod.ts";
import { oneOf, pathValue } from "./options.ts";

export interface Globals {
  /** The path from `--config`; undefined for the default configuration file. */
  readonly config: string | undefined;
  readonly logFormat: "text" | "json";
  readonly verbosity: number;
  readonly logLevel: LogLevel | undefined;
  /** Creates the log; `level` is the default when the line has neither `--log-level` nor `-v`. */
  createLog(world: World, options: { level: "info" | "warn"; write: (line: string) => void }): Log;
}

/** The options that every command accepts, before or after its name. */
export const globalOptions = group(
  "Global options",
  map(
    object({
      config: optional(option(optionNames.config, pathValue("FILE"), {
        description:
          message`Configuration file (default: $POSTERN_CONFIG, else postern/config.yaml in your configuration directory).`,
      })),
      logLevel: optional(
        option(optionNames.logLevel, oneOf(["debug", "info", "warn", "error"], "LEVEL"), {
          description:
            message`Minimum level to log: debug, info, warn or error (default: warn; info for proxy, konnectivity, egress).`,
        }),
      ),
      logFormat: optional(option(optionNames.logFormat, oneOf(["text", "json"], "FORMAT"), {
        description: message`Format of log lines: text or json (default: text).`,
      })),
      verbose: multiple(
        flag(...optionNames.verbose, { description: message`Lower the log level by one step; repeatable.` }),
      ),
    }),
    ({ config, logLevel, logFormat = "text", verbose }): Globals => ({
      config,
      logLevel,
      logFormat,
      verbosity: verbose.length,
      createLog: (world, { level, write }) =>
        createLog({
          level: logLevel ?? louder(level, verbose.length),
          format: logFormat,
          date: () => world.clock.date(),
          write,
        }),
    }),
  ),
);

function louder(level: LogLevel, steps: number): LogLevel {
  return logLevels[Math.max(0, logLevels.indexOf(level) - steps)] ?? level;
}
