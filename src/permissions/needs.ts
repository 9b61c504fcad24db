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
 * The kinds that a command line needs: postern revokes the others first. `usesSsh` says whether the configuration may
 * name an ssh host.
 */
export function kindsFor(
  line: CommandLine,
  { platform = "linux", usesSsh = false }: { readonly platform?: string; readonly usesSsh?: boolean } = {},
): PermissionKind[] {
  const { command, options } = line;
  const grants = grantsFor(command, platform);
  // Programs that postern starts without ssh: itself in the background, a browser for a sign-in, the program of a
  // shell, the service manager, journalctl, those of the desktop. Only the ssh configuration names others.
  const mayRun = usesSsh || grants.run === "any" ||
    ["{browser}", "systemctl", "journalctl", "gsettings"].some((program) => grants.run?.includes(program)) ||
    (command === "proxy" && options.has("--background")) || command === "connect";
  return permissionKinds.filter((kind) => grants[kind] !== undefined && (kind !== "run" || mayRun));
}

/**
 * Whether the configuration may start programs: for ssh hosts (its own or a catalogue's), or to sign in to a cluster.
 * Searches the text, because the modules that can parse it are not loaded yet.
 */
export function mayUseSsh(line: CommandLine, configText: string | undefined): boolean {
  const config = withoutComments(configText);
  // kubevpn's proxy-out connects to a cluster, although its command line does not contain such a word; setup tries
  // what it proposes.
  return line.options.has("--mapping-file") || ["proxy-out", "setup"].includes(line.command) ||
    [...line.own, config].some((text) => /\b(?:ssh|kubernetes)\b/.test(text)) ||
    /\bcatalogues\b/.test(config);
}

/** Removes comments: those of `config init` mention ssh and DNS. */
function withoutComments(configText: string | undefined): string {
  return (configText ?? "").replace(/^\s*#.*$/gm, "");
}

/** Whether an instance starts no program and writes only to known directories. */
export function isConfinable(line: CommandLine, needs: Needs, configText: string | undefined): boolean {
  const namesSocket = /\bunix\b/.test(withoutComments(configText)) ||
    line.own.some((word) => /\bunix:/.test(word));
  return commandGrants[line.command] === instance && !needs.ssh && !namesSocket &&
    !kindsFor(line).includes("run");
}

/**
 * The permissions that a command can revoke, by feature. Excludes paths inside a directory that the command keeps:
 * Deno would revoke the whole directory.
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
    // A kubeconfig that postern wrote from source starts Deno, which could run with any permission.
    plugins: [...signInPrograms, ...facts.programs ?? [], ...runsMore ? [] : [facts.self]],
    resolver: goes("{resolver}"),
    runsMore,
  };
}

/** The most that a command may need, according to its words and the text of the configuration. */
export function mayNeed(
  line: CommandLine,
  configText: string | undefined,
  { hasCatalogue, hasResolverFiles }: { readonly hasCatalogue: boolean; readonly hasResolverFiles: boolean },
): Needs {
  const usesPrograms = hasCatalogue || mayUseSsh(line, configText);
  // Other commands with these paths exist to write them; an instance only repairs the leftovers of a killed one.
  const isInstance = commandGrants[line.command] === instance;
  const usesDns = [...line.own, withoutComments(configText)].some((text) => /\bdns\b/.test(text));
  return {
    ssh: usesPrograms,
    plugins: usesPrograms ? "any" : [],
    resolver: !isInstance || usesDns || hasResolverFiles,
  };
}

/** Whether a command only connects to control sockets: it may not read the directories above them. */
export function isControlClient(line: CommandLine): boolean {
  const { net, read } = commandGrants[line.command] ?? {};
  return read !== "any" && net !== undefined && net !== "any" && net.includes("{control}");
}

function isAbsolute(path: string): boolean {
  return /^(?:[\\/]|[A-Za-z]:)/.test(path);
}

/** A path without `.`, `..` and a trailing slash. */
function withoutDots(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return `${path.startsWith("/") ? "/" : ""}${parts.join("/")}`;
}
