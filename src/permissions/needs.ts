import type { NeedsTable } from "../runtime/mod.ts";
import type { Needs } from "../world/mod.ts";
import {
  commandGrants,
  grantsFor,
  instance,
  type PermissionKind,
  permissionKinds,
  signInPrograms,
  sshPrograms,
} from "./command_grants.ts";
import type { CommandLine } from "./command_line.ts";
import { placesNamed } from "./named_places.ts";
import { fill, type SourceFacts } from "./source_facts.ts";

/**
 * The kinds a command line needs: the program gives up the rest first of all. `usesSsh` is whether the configuration
 * may name an ssh host.
 */
export function kindsFor(
  line: CommandLine,
  { platform = "linux", usesSsh = false }: { readonly platform?: string; readonly usesSsh?: boolean } = {},
): PermissionKind[] {
  const { command, options } = line;
  const grants = grantsFor(command, platform);
  // A door starts itself to go into the background, a sign-in a browser, a shell what a person says, a service its
  // manager, its log the journal's reader; all else that is run is named by the ssh configuration.
  const mayRun = usesSsh || grants.run === "any" ||
    ["{browser}", "systemctl", "journalctl"].some((program) => grants.run?.includes(program)) ||
    (command === "proxy" && options.has("--background")) || command === "connect";
  return permissionKinds.filter((kind) => grants[kind] !== undefined && (kind !== "run" || mayRun));
}

/** Whether what is configured may want programs: ssh hosts, also those of a catalogue, and what signs in to a cluster. Told from the text, since understanding it takes more than what is loaded by then. */
export function mayUseSsh(line: CommandLine, configText: string | undefined): boolean {
  const config = withoutRemarks(configText);
  // What kubevpn calls so is a door into a cluster, though it names no word of that.
  return line.options.has("--mapping-file") || line.command === "proxy-out" ||
    [...line.own, config].some((text) => /\b(?:ssh|kubernetes)\b/.test(text)) ||
    /\bcatalogues\b/.test(config);
}

/** What `config init` writes explains ssh and DNS in remarks. */
function withoutRemarks(configText: string | undefined): string {
  return (configText ?? "").replace(/^\s*#.*$/gm, "");
}

/** Whether an instance writes to no place that only its configuration names, and starts no program. */
export function isConfinable(line: CommandLine, needs: Needs, configText: string | undefined): boolean {
  const namesSocket = /\bunix\b/.test(withoutRemarks(configText)) ||
    line.own.some((word) => /\bunix:/.test(word));
  return commandGrants[line.command] === instance && !needs.ssh && !namesSocket &&
    !kindsFor(line).includes("run");
}

/**
 * What a command may give up, by what needs it. A place inside a directory that stays stays too: Deno would take away
 * the whole directory.
 */
export function needsTable(line: CommandLine, facts: SourceFacts): NeedsTable {
  const { write = [] } = commandGrants[line.command] ?? {};
  const filled = (names: readonly string[]) => names.flatMap((name) => fill(name, facts));
  const given = write === "any" ? [] : write;
  const runsMore = kindsFor(line, { platform: facts.platform }).includes("run");
  const stays = [
    ...filled(given.filter((name) => !["{ssh}", "{agent}", "{resolver}"].includes(name))),
    ...placesNamed(line).map((place) => isAbsolute(place) ? place : `${facts.directory?.()}/${place}`),
  ].map(withoutDots);
  const goes = (name: string) =>
    given.includes(name)
      ? filled([name]).filter((place) => !stays.some((stay) => `${place}/`.startsWith(`${stay}/`)))
      : [];
  return {
    ssh: { run: filled(sshPrograms), write: [...goes("{ssh}"), ...goes("{agent}")] },
    // A kubeconfig that postern wrote from source names Deno as the program, which could start with any permission.
    plugins: [...signInPrograms, ...facts.programs ?? [], ...runsMore ? [] : [facts.self]],
    resolver: goes("{resolver}"),
    runsMore,
  };
}

/** The most that a command may need, told from its words and the text of the configuration. */
export function mayNeed(
  line: CommandLine,
  configText: string | undefined,
  { hasCatalogue, hasResolverFiles }: { readonly hasCatalogue: boolean; readonly hasResolverFiles: boolean },
): Needs {
  const usesPrograms = hasCatalogue || mayUseSsh(line, configText);
  // Other commands that have these places are there to write them; an instance repairs what a killed one has left.
  const isInstance = commandGrants[line.command] === instance;
  const usesDns = [...line.own, withoutRemarks(configText)].some((text) => /\bdns\b/.test(text));
  return {
    ssh: usesPrograms,
    plugins: usesPrograms ? "any" : [],
    resolver: !isInstance || usesDns || hasResolverFiles,
  };
}

/** Whether a command speaks to control sockets and to nothing else, so that it may not look at what is above them. */
export function isControlClient(line: CommandLine): boolean {
  const { net, read } = commandGrants[line.command] ?? {};
  return read !== "any" && net !== undefined && net !== "any" && net.includes("{control}");
}

function isAbsolute(path: string): boolean {
  return /^(?:[\\/]|[A-Za-z]:)/.test(path);
}

/** A path without `.` and `..`, and without a slash at its end. */
function withoutDots(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return `${path.startsWith("/") ? "/" : ""}${parts.join("/")}`;
}
