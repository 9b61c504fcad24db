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
  plugin,
  readCommandLine,
  runtimeFlags,
  sourceFacts,
  startsInstances,
  valueOf,
  workerPermissions,
  writesKubeconfigs,
} from "../permissions/mod.ts";
import { Faults } from "./faults.ts";

/** What is started. */
export interface Program {
  readonly version: string;
  /** Where `main.ts` is: its `import.meta.url`. */
  readonly main: string;
}

/** Runs one command line and ends the process with its exit code. */
export async function start(args: readonly string[], program: Program): Promise<void> {
  // A library of node's world asks for the directory of its own file while it loads, which a bundle does not have.
  Object.assign(globalThis, { __dirname: "/" });
  const line = readCommandLine(args);
  const faults = new Faults(line);
  faults.catchAll();
  const code = await main(line, program).catch((reason: unknown) => {
    faults.tell(reason);
    // A failure ends also a process that outlives the faults of its clients: nothing of it is left.
    return 1;
  });
  // A worker has its process end.
  const { exit } = await import("../runtime/mod.ts");
  exit(code);
}

/** Gives up what the command does not need before anything foreign is loaded, then runs it. */
async function main(line: CommandLine, { version, main }: Program): Promise<number> {
  const { command } = line;
  const runtime = await import("../runtime/mod.ts");
  const { createWorld, writeStderr } = runtime;
  const grants = commandGrants[command];
  runtime.copyEnvironment(grants?.env ?? []);
  let world = createWorld({ main, flags: [] });
  const directories = placesOf(world);
  const facts = directories && sourceFacts(
    { directories, self: Deno.execPath(), directory: () => world.process.directory, platform: Deno.build.os },
    (name) => grants?.env === "any" || grants?.env?.includes(name) ? world.process.env(name) : undefined,
  );
  const table = facts && needsTable(line, facts);
  const rights = new runtime.Rights(table);
  // Commands that could run what an ssh configuration names give that up where there is none.
  const text = grants?.run && await configText(world, line);
  const needs = mayNeed(line, text, {
    hasCatalogue: grants?.run !== undefined && await hasCatalogue(world),
    hasResolverFiles: await hasFiles(world, table?.resolver ?? []),
  });
  rights.keepOnly(needs);
  // Compiled, only a worker can have lists in the place of grants without one.
  if (facts && world.process.isCompiled && !runtime.isConfined && isConfinable(line, needs, text)) {
    return await runtime.runConfined(main, workerPermissions(line, facts, needs));
  }
  runtime.hideEnvironment();
  runtime.keepOnly(kindsFor(line, { platform: Deno.build.os, usesSsh: needs.ssh }));
  const { LineWriter } = await import("../core/mod.ts");
  // One write for many lines: a busy door has thousands of them a second.
  const gather = () => new Promise<void>((resolve) => setTimeout(resolve, 20));
  const log = new LineWriter({ sink: writeStderr, gather });
  const { run } = await import("../cli/mod.ts");
  // From source, a door in the background gets the flags of this command line again, a service those of a door, and the
  // plugin that a kubeconfig names its own.
  const handsOn = (startsInstances(command) || writesKubeconfigs(command)) && !world.process.isCompiled;
  // Deno would write a line into the log for each program that may be run and is not there.
  const flags = !facts || !handsOn ? [] : [
    ...[...runtimeFlags, "--quiet"],
    ...flagsFor(
      command === "proxy" ? line : readCommandLine([writesKubeconfigs(command) ? plugin : "proxy"]),
      facts,
    ),
  ];
  world = createWorld({ main, flags, rights });
  const flushLog = () => log.flush();
  try {
    return await run(line, world, { version, writeLogLine: log.write, flushLog });
  } finally {
    await flushLog();
  }
}

/** The configuration as it is written, where it can be read: whoever needs it says what is wrong with it. */
async function configText(world: World, line: CommandLine): Promise<string | undefined> {
  const { files, process } = world;
  // As configPath() has it: a variable that is empty names none.
  const named = valueOf(line, optionNames.config) ?? (process.env("POSTERN_CONFIG") || undefined);
  const directory = placesOf(world)?.config;
  const path = named ?? (directory && `${directory}/config.yaml`);
  return path && await files.readTextIfThere(path, { limit: 2_000_000 }).catch(() => undefined);
}

/** Whether a catalogue is stored, ours or kharon's, which names ssh hosts. */
async function hasCatalogue(world: World): Promise<boolean> {
  const { cache } = placesOf(world) ?? {};
  if (cache === undefined) return false;
  for (const directory of [`${cache}/catalogue`, `${cache.replace(/[\\/][^\\/]*$/, "")}/io.vshn.kharon`]) {
    if (await world.files.info(directory).catch(() => undefined)) return true;
  }
  return false;
}

/** Whether there is anything in one of these directories. */
async function hasFiles({ files }: World, directories: readonly string[]): Promise<boolean> {
  for (const directory of directories) {
    const names = await files.list(directory).catch(() => []);
    if (names.length > 0) return true;
  }
  return false;
}

/** The platform's directories; where the environment does not tell them, whoever needs them says so. */
function placesOf(world: World): Places | undefined {
  try {
    return world.places;
  } catch {
    return undefined;
  }
}
