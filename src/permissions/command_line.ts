import { commandGrants } from "./command_grants.ts";
import { directoryOf } from "./source_facts.ts";

/** Options that name a file or socket to be made: its directory, because files are replaced by renaming. */
const writingOptions: Readonly<Record<string, readonly string[]>> = {
  proxy: ["--listen-unix", "--ready-file", "--log-file"],
  config: ["--config"],
  clusters: ["--file"],
  kubeconfig: ["--file"],
  "emergency-credentials": ["--file"],
  konnectivity: ["--uds-name", "--proxy-uds"],
  // A cluster may be called as one of its verbs is.
  shell: ["--file"],
};

/** Options whose value is the next word, so that it is not taken for the command. */
const valuedOptions = ["--config", "--log-level", "--log-format"];

/** A file of suffix to jump host alone is a door; all else is a mistake. */
function otherwise(word: string): string {
  return word.endsWith(".json") ? "proxy" : "help";
}

/** The command a command line asks for; "help" when it names none that we know. */
export function commandOf(args: readonly string[]): string {
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (valuedOptions.includes(word)) at++;
    else if (word === "--version") return "version";
    else if (word === "clusters") return clustersForm(args.slice(at + 1));
    else if (!word.startsWith("-")) return Object.hasOwn(commandGrants, word) ? word : otherwise(word);
  }
  return "help";
}

/** `postern clusters` may be one of the forms that start a program or ask services: words of it alone do not tell. */
function clustersForm(words: readonly string[]): string {
  if (words.some((word) => ["shell", "kubectl", "oc", "console", "--each"].includes(word))) return "shell";
  return words.includes("emergency-credentials") ? "emergency-credentials" : "clusters";
}

/** Whether others depend on what a command line runs, for as long as it does. */
export function isDependedOn(args: readonly string[]): boolean {
  return ["proxy", "proxy-out", "konnectivity", "shell", "kubectl", "oc"].includes(commandOf(args));
}

/** Commands whose words behind the name of a cluster are another program's. */
const wrapping = ["kubectl", "oc", "shell", "kubelogin"];

/** Whether a command line asks for the log level `debug`, and so for stack traces. */
export function wantsTraces(args: readonly string[]): boolean {
  const isWrapping = wrapping.includes(commandOf(args)) || args.includes("--each");
  for (const [at, word] of args.entries()) {
    // What stands behind belongs to another program, which may have such an option too.
    if (word === "--" || (isWrapping && wrapping.includes(word))) return false;
    if (word === "--log-level=debug" || (word === "--log-level" && args[at + 1] === "debug")) return true;
  }
  return false;
}

/** The file a command line names with `--config`. */
export function configNamed(args: readonly string[]): string | undefined {
  for (const [at, word] of args.entries()) {
    if (word === "--config") return args[at + 1];
    if (word.startsWith("--config=")) return word.slice("--config=".length);
  }
  return undefined;
}

/** The directories of what the command line has written. */
export function placesNamed(args: readonly string[]): string[] {
  return [...directoriesNamed(args, writingOptions[commandOf(args)] ?? []), ...directoryToMake(args)];
}

function directoriesNamed(args: readonly string[], options: readonly string[]): string[] {
  return args.flatMap((word, at) => {
    const [option = "", value] = word.split(/=(.*)/s);
    if (!options.includes(option)) return [];
    const path = value ?? args[at + 1];
    return path === undefined || path === "" ? [] : [directoryOf(path)];
  });
}

/** Certificates are made in a directory that is named without an option. */
function directoryToMake(args: readonly string[]): string[] {
  const at = args.indexOf("certs");
  if (at < 0 || args[at - 1] !== "konnectivity") return [];
  const words = args.slice(at + 1);
  return words.filter((word, at) => !word.startsWith("-") && !/^--(san|days)$/.test(words[at - 1] ?? ""))
    .slice(0, 1);
}
