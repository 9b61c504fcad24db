import { type Directories, flagsFor, programsVariable, sourceFacts } from "./permissions.ts";
import { places } from "./directories.ts";
import { runtimeFlags } from "./runtime_flags.ts";

/** Runs a command from source with exactly its permissions: `deno task postern status`. */
if (import.meta.main) Deno.exit(await runFromSource(Deno.args));

/** Takes `--allow-run=PROGRAM` off the front of a command line. */
export function splitFlags(words: readonly string[]): { programs: string[]; args: string[] } {
  const end = words.findIndex((word) => !word.startsWith("--allow-run="));
  const flags = end < 0 ? words : words.slice(0, end);
  return {
    programs: flags.flatMap((flag) => flag.slice("--allow-run=".length).split(",")).filter(Boolean),
    args: words.slice(flags.length),
  };
}

/** Starts `main.ts`, hands on terminal and signals, and answers its exit code. */
async function runFromSource(words: readonly string[]): Promise<number> {
  const main = new URL("../main.ts", import.meta.url);
  const { programs, args } = splitFlags(words);
  // An instance in the background and a service are to have them too.
  const allowed = [Deno.env.get(programsVariable) ?? [], programs].flat().join(",");
  const env = (name: string) => name === programsVariable ? allowed : Deno.env.get(name);
  const command = sourceCommand(args, places(), env);
  const child = new Deno.Command(Deno.execPath(), {
    args: [...command, main.href, ...args],
    env: { [programsVariable]: allowed },
  }).spawn();
  for (const signal of forwardedSignals()) {
    Deno.addSignalListener(signal, () => tell(child, signal));
  }
  return (await child.status).code;
}

/** What precedes the program and its arguments. */
export function sourceCommand(
  args: readonly string[],
  directories: Directories,
  env: (name: string) => string | undefined = (name) => Deno.env.get(name),
): string[] {
  const config = filePath(new URL("../deno.json", import.meta.url));
  const sockets = [...socketsIn(directories.runtime)];
  const { os: platform } = Deno.build;
  const facts = sourceFacts({ directories, sockets, self: Deno.execPath(), platform }, env);
  return ["run", ...runtimeFlags, "--quiet", "--config", config, ...flagsFor(args, facts)];
}

/** The control sockets there are: Deno grants each by its path. */
function* socketsIn(directory: string): Generator<string> {
  try {
    for (const { name } of Deno.readDirSync(directory)) {
      if (name.endsWith(".sock")) yield `${directory}/${name}`;
    }
  } catch (error) {
    // No door has run yet, or the directory is not ours: the command will say so.
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied)) {
      throw error;
    }
  }
}

/** A terminal sends SIGINT to the whole group: passing it on would make two of one. */
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
    // It has just ended: its exit code follows.
    if (!(error instanceof TypeError)) throw error;
  }
}

function filePath(url: URL): string {
  return decodeURIComponent(url.pathname).replace(/^\/(?=[A-Za-z]:)/, "");
}
