import { group, object } from "@optique/core/constructs";
import { map, multiple, optional } from "@optique/core/modifiers";
import { message } from "@optique/core/message";
import { flag, option } from "@optique/core/primitives";
import { choice } from "@optique/core/valueparser";
import { createLog, type Log, type LogLevel, logLevels } from "../../core/mod.ts";
import { optionNames } from "../../permissions/mod.ts";
import type { World } from "../../world/mod.ts";
import { pathValue } from "./options.ts";

/** What the options that every command takes have said. */
export interface Globals {
  /** The configuration file that was named; undefined for the usual one. */
  readonly config: string | undefined;
  readonly logFormat: "text" | "json";
  readonly verbosity: number;
  readonly logLevel: LogLevel | undefined;
  /** The log as asked for; `level` stands where neither --log-level nor -v does. */
  createLog(world: World, options: { level: "info" | "warn"; write: (line: string) => void }): Log;
}

/** Options that stand before or after the name of any command. */
export const globalOptions = group(
  "Global options",
  map(
    object({
      config: optional(option(optionNames.config, pathValue("FILE"), {
        description: message`The configuration file (else POSTERN_CONFIG, else the usual place).`,
      })),
      logLevel: optional(
        option(optionNames.logLevel, choice(["debug", "info", "warn", "error"], { metavar: "LEVEL" }), {
          description: message`The least severe lines to log: debug, info, warn or error.`,
        }),
      ),
      logFormat: optional(option(optionNames.logFormat, choice(["text", "json"], { metavar: "FORMAT" }), {
        description: message`How to write log lines: text or json.`,
      })),
      verbose: multiple(flag(...optionNames.verbose, { description: message`Log more; may be repeated.` })),
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
