import { exitCode, PosternError } from "../src/words/mod.ts";
import type { Places } from "../src/world/mod.ts";
import { checkOwned } from "../src/runtime/files/ownership.ts";
import { readCommandLine } from "../src/permissions/command_line.ts";
import { flagsFor } from "../src/permissions/flags.ts";
import { isControlClient } from "../src/permissions/needs.ts";
import { programsVariable, sourceFacts } from "../src/permissions/source_facts.ts";
import { places } from "./directories.ts";
import { runtimeFlags } from "../src/permissions/runtime_flags.ts";

/** Runs a command from source with exactly its permissions: `deno task postern status`. */
if (import.meta.main) Deno.exit(await runFromSource(Deno.args));

/** Removes leading `--allow-run=PROGRAM` flags from a command line. */
export function splitFlags(words: readonly string[]): { programs: string[]; args: string[] } {
  const end = words.findIndex((word) => !word.startsWith("--allow-run="));
  const flags = end < 0 ? words : words.slice(0, end);
  return {
    programs: flags.flatMap((flag) => flag.slice("--allow-run=".length).split(",")).filter(Boolean),
    args: words.slice(flags.length),
  };
}

/** Starts `main.ts`, forwards terminal and signals, and returns its exit code. */
async function runFromSource(words: readonly string[]): Promise<number> {
  const main = new URL("../main.ts", import.meta.url);
  const { programs, args } = splitFlags(words);
  const directories = places();
  const flaw = distrust(directories.runtime);
  // The command itself may not read the parents of its directories, so this script checks them.
  if (flaw && isControlClient(readCommandLine(args))) {
    console.error(`postern: error: ${flaw.message}`);
    if (flaw.hint !== undefined) console.error(`postern: hint: ${flaw.hint}`);
    return exitCode(flaw);
  }
  // A background instance and a service need these permissions too.
  const allowed = [Deno.env.get(programsVariable) ?? [], programs].flat().join(",");
  const env = (name: string) => name === programsVariable ? allowed : Deno.env.get(name);
  const command = sourceCommand(args, directories, env);
  const child = new Deno.Command(Deno.execPath(), {
    args: [...command, main.href, ...args],
    env: { [programsVariable]: allowed },
  }).spawn();
  for (const signal of forwardedSignals()) {
    Deno.addSignalListener(signal, () => tell(child, signal));
  }
  return (await child.status).code;
}

/** The arguments of deno before the program. */
export function sourceCommand(
  args: readonly string[],
  directories: Places,
  env: (name: string) => string | undefined = (name) => Deno.env.get(name),
): string[] {
  const config = filePath(new URL("../deno.json", import.meta.url));
  const former = formerPlace(directories);
  const sockets = [...socketsIn(directories.runtime), ...(former?.isOurs ? socketsIn(former.path) : [])];
  const { os: platform } = Deno.build;
  const facts = sourceFacts({ directories, sockets, former, self: Deno.execPath(), platform }, env);
  return ["run", ...runtimeFlags, "--quiet", "--config", config, ...flagsFor(readCommandLine(args), facts)];
}

/**
 * Yields the existing control sockets, because Deno grants each by its path; none if other users can change
 * the directory.
 */
function* socketsIn(directory: string): Generator<string> {
  if (distrust(directory)) return;
  try {
    for (const { name } of Deno.readDirSync(directory)) {
      if (name.endsWith(".sock")) yield `${directory}/${name}`;
    }
  } catch (error) {
    // No instance has ever run.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** The socket directory of an earlier postern, which commands check even if it does not exist. */
function formerPlace({ formerRuntime: path }: Places): { path: string; isOurs: boolean } | undefined {
  if (path === undefined) return undefined;
  try {
    return { path, isOurs: checkOwned(path, "directory") };
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    return { path, isOurs: false };
  }
}

/** Returns why other users could change a directory; undefined if they cannot, or if it does not exist. */
function distrust(directory: string): PosternError | undefined {
  try {
    checkOwned(directory, "directory");
    return undefined;
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    return error;
  }
}

/**
 * The signals to forward. A terminal sends SIGINT to the whole group, so forwarding it would deliver it
 * twice.
 */
function forwardedSignals(): Deno.Signal[] {
  if (Deno.build.os === "windows") return [];
  const ignored: Deno.Signal[] = ["SIGINT", "SIGQUIT"];
  if (!Deno.stdin.isTerminal()) return ["SIGHUP", "SIGTERM", ...ignored];
  for (const signal of ignored) Deno.addSignalListener(signal, () => {});
  return ["SIGHUP", "SIGTERM"];
}

function tell(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch (error) {
    // The child has just ended; its exit code follows.
    if (!(error instanceof TypeError)) throw error;
  }
}

function filePath(url: URL): string {
  return decodeURIComponent(url.pathname).replace(/^\/(?=[A-Za-z]:)/, "");
}
