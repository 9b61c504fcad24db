import type { Places, World } from "../world/mod.ts";
import {
  commandGrants,
  type CommandLine,
  flagsFor,
  isConfinable,
  kindsFor,
  mayNeed,
  needsTable,
  optionNames,
  readCommandLine,
  runtimeFlags,
  sourceFacts,
  startedLater,
  valueOf,
  workerPermissions,
} from "../permissions/mod.ts";
import { Faults } from "./faults.ts";

export interface Program {
  readonly version: string;
  /** The URL of `main.ts`. */
  readonly main: string;
}

/** Runs one command line and ends the process with its exit code. */
export async function start(args: readonly string[], program: Program): Promise<void> {
  // A package for Node.js reads `__dirname` while it loads; a bundle does not define it.
  Object.assign(globalThis, { __dirname: "/" });
  const line = readCommandLine(args);
  const faults = new Faults(line);
  faults.catchAll();
  const code = await main(line, program).catch((reason: unknown) => {
    faults.tell(reason);
    // A failure here also ends a process that survives other uncaught errors: nothing is left to run.
    return 1;
  });
  // In a worker, this ends the process.
  const { exit } = await import("../runtime/mod.ts");
  exit(code);
}

/** Revokes unneeded permissions before it loads any package, then runs the command. */
async function main(line: CommandLine, { version, main }: Program): Promise<number> {
  const { command } = line;
  // ssh waits for `nc` at each connection. With an instance, it loads no package, and drops all permissions as soon as
  // it is connected.
  const quick = command === "nc" ? import("../cli/mod.ts").then(({ loadNc }) => loadNc()) : undefined;
  const runtime = await import("../runtime/mod.ts");
  const { createWorld, writeStderr } = runtime;
  const grants = commandGrants[command];
  runtime.copyEnvironment(grants?.env ?? []);
  let world = createWorld({ main, flags: [] });
  const code = await (await quick)?.(line, world);
  if (code !== undefined) return code;
  const directories = placesOf(world);
  const facts = directories && sourceFacts(
    { directories, self: Deno.execPath(), directory: () => world.process.directory, platform: Deno.build.os },
    (name) => grants?.env === "any" || grants?.env?.includes(name) ? world.process.env(name) : undefined,
  );
  const table = facts && needsTable(line, facts);
  const rights = new runtime.Rights(table);
  // Without an ssh configuration, a command loses the permission to start its programs.
  const text = grants?.run && await configText(world, line);
  const needs = mayNeed(line, text, {
    hasCatalogue: grants?.run !== undefined && await hasCatalogue(world),
    hasResolverFiles: await hasFiles(world, table?.resolver ?? []),
  });
  rights.keepOnly(needs);
  // In a compiled program, only a worker can narrow an unrestricted permission to a list.
  if (facts && world.process.isCompiled && !runtime.isConfined && isConfinable(line, needs, text)) {
    return await runtime.runConfined(main, workerPermissions(line, facts, needs));
  }
  runtime.hideEnvironment();
  runtime.keepOnly(kindsFor(line, { platform: Deno.build.os, usesSsh: needs.ssh }));
  const { LineWriter } = await import("../core/mod.ts");
  // Writes many lines at once: a busy instance logs thousands per second.
  const gather = () => new Promise<void>((resolve) => setTimeout(resolve, 20));
  const log = new LineWriter({ sink: writeStderr, gather });
  const { run } = await import("../cli/mod.ts");
  // Deno's flags for processes that start from source later: a background instance gets the flags of this command line,
  // a service the flags of an instance, an exec plugin in a kubeconfig the flags of the plugin, and a ProxyCommand
  // those of `nc`.
  const later = world.process.isCompiled ? undefined : startedLater(command);
  // Without --quiet, Deno logs a line for each permitted program that is missing.
  const flags = !facts || later === undefined ? [] : [
    ...[...runtimeFlags, "--quiet"],
    ...flagsFor(command === "proxy" ? line : readCommandLine([later]), facts),
  ];
  world = createWorld({ main, flags, rights });
  const flushLog = () => log.flush();
  try {
    return await run(line, world, { version, writeLogLine: log.write, flushLog });
  } finally {
    await flushLog();
  }
}

/** The text of the configuration; undefined if it cannot be read, which the command reports later. */
async function configText(world: World, line: CommandLine): Promise<string | undefined> {
  const { files, process } = world;
  // Like configPath(): an empty variable counts as unset.
  const named = valueOf(line, optionNames.config) ?? (process.env("POSTERN_CONFIG") || undefined);
  const directory = placesOf(world)?.config;
  const path = named ?? (directory && `${directory}/config.yaml`);
  return path && await files.readTextIfThere(path, { limit: 2_000_000 }).catch(() => undefined);
}

/** Whether a catalogue of postern or kharon is stored: catalogues name ssh hosts. */
async function hasCatalogue(world: World): Promise<boolean> {
  const { cache } = placesOf(world) ?? {};
  if (cache === undefined) return false;
  for (const directory of [`${cache}/catalogue`, `${cache.replace(/[\\/][^\\/]*$/, "")}/io.vshn.kharon`]) {
    if (await world.files.info(directory).catch(() => undefined)) return true;
  }
  return false;
}

/** Whether one of these directories contains a file. */
async function hasFiles({ files }: World, directories: readonly string[]): Promise<boolean> {
  for (const directory of directories) {
    const names = await files.list(directory).catch(() => []);
    if (names.length > 0) return true;
  }
  return false;
}

/** The platform's directories; undefined if the environment lacks them, which the command reports later. */
function placesOf(world: World): Places | undefined {
  try {
    return world.places;
  } catch {
    return undefined;
  }
}
