import settings from "./deno.json" with { type: "json" };
import type { Places, World } from "./src/world/mod.ts";
import {
  commandGrants,
  commandOf,
  configNamed,
  flagsFor,
  isConfinable,
  isDependedOn,
  kindsFor,
  mayNeed,
  needsTable,
  plugin,
  runtimeFlags,
  sourceFacts,
  startsDoors,
  workerPermissions,
  writesKubeconfigs,
} from "./src/permissions/mod.ts";

// A library of node's world asks for the directory of its own file while it loads, which a bundle does not have.
Object.assign(globalThis, { __dirname: "/" });

const { version } = settings;
const [word, ...more] = Deno.args;

// Where an error was made is shown only where somebody asks; to note it costs more than many a dial that fails.
const isDebug = /--log-level[ =]debug/.test(Deno.args.join(" "));
if (!isDebug) Error.stackTraceLimit = 0;

// One client's mishap must not end the connections of all others: a door says so and goes on.
const outlivesFaults = isDependedOn(Deno.args);

globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  tellFault(event.reason);
});
globalThis.addEventListener("error", (event) => {
  event.preventDefault();
  tellFault(event.error);
});

// The answer that programs ask for most often loads nothing at all.
if (more.length === 0 && (word === "version" || word === "--version")) console.log(`postern ${version}`);
else await end(await main(Deno.args).catch(failed));

/** Gives up what the command does not need before anything foreign is loaded, then runs it. */
async function main(args: readonly string[]): Promise<number> {
  const command = commandOf(args);
  const runtime = await import("./src/runtime/mod.ts");
  const { createWorld, writeStderr } = runtime;
  const grants = commandGrants[command];
  runtime.copyEnvironment(grants?.env ?? []);
  let world = createWorld({ main: import.meta.url, flags: [] });
  const directories = placesOf(world);
  const facts = directories && sourceFacts(
    { directories, self: Deno.execPath(), directory: () => world.process.directory, platform: Deno.build.os },
    (name) => grants?.env === "any" || grants?.env?.includes(name) ? world.process.env(name) : undefined,
  );
  const table = facts && needsTable(args, facts);
  const rights = new runtime.Rights(table);
  // Commands that could run what an ssh configuration names give that up where there is none.
  const text = grants?.run && await configText(world, args);
  const needs = mayNeed(args, text, {
    hasCatalogue: grants?.run !== undefined && await hasCatalogue(world),
    hasResolverFiles: await hasFiles(world, table?.resolver ?? []),
  });
  rights.keepOnly(needs);
  // Compiled, only a worker can have lists in the place of grants without one.
  if (facts && world.process.isCompiled && !runtime.isConfined && isConfinable(args, needs, text)) {
    return await runtime.runConfined(import.meta.url, workerPermissions(args, facts, needs));
  }
  runtime.hideEnvironment();
  runtime.keepOnly(kindsFor(args, { platform: Deno.build.os, usesSsh: needs.ssh }));
  const { LineWriter } = await import("./src/core/mod.ts");
  // One write for many lines: a busy door has thousands of them a second.
  const gather = () => new Promise<void>((resolve) => setTimeout(resolve, 20));
  const log = new LineWriter({ sink: writeStderr, gather });
  const { run } = await import("./src/cli/mod.ts");
  // From source, a door in the background gets the flags of this command line again, a service those of a door, and the
  // plugin that a kubeconfig names its own.
  const handsOn = (startsDoors(command) || writesKubeconfigs(command)) && !world.process.isCompiled;
  // Deno would write a line into the log for each program that may be run and is not there.
  const flags = !facts || !handsOn ? [] : [
    ...[...runtimeFlags, "--quiet"],
    ...flagsFor(command === "proxy" ? args : [writesKubeconfigs(command) ? plugin : "proxy"], facts),
  ];
  world = createWorld({ main: import.meta.url, flags, rights });
  const flushLog = () => log.flush();
  try {
    return await run(args, world, { version, writeLogLine: log.write, flushLog });
  } finally {
    await flushLog();
  }
}

/** The configuration as it is written, where it can be read: whoever needs it says what is wrong with it. */
async function configText(world: World, args: readonly string[]): Promise<string | undefined> {
  const { files, process } = world;
  // As configPath() has it: a variable that is empty names none.
  const named = configNamed(args) ?? (process.env("POSTERN_CONFIG") || undefined);
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

/** Ends the program, also where it runs in a worker. */
async function end(code: number): Promise<void> {
  const { exit } = await import("./src/runtime/mod.ts");
  exit(code);
}

/** Ends with a failure also what outlives the faults of others: nothing of it is left. */
function failed(reason: unknown): number {
  tellFault(reason);
  return 1;
}

/** What nobody caught is our own fault: one sentence, and out, unless others depend on this process. */
function tellFault(reason: unknown): void {
  console.error(
    `postern: error: Unexpected failure: ${reason instanceof Error ? reason.message : String(reason)}`,
  );
  console.error(
    "postern: hint: this is a fault of postern: run it with --log-level debug, report what it prints",
  );
  if (isDebug && reason instanceof Error) console.error(reason.stack);
  if (!outlivesFaults) Deno.exit(1);
}
