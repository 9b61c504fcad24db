import type { WorkerPermissions } from "../runtime/mod.ts";
import type { Needs } from "../world/mod.ts";
import {
  commandGrants,
  type Grant,
  type Grants,
  grantsFor,
  type PermissionKind,
  permissionKinds,
} from "./command_grants.ts";
import type { CommandLine } from "./command_line.ts";
import { placesNamed } from "./named_places.ts";
import { fill, type SourceFacts } from "./source_facts.ts";

/** The narrowest flags of `deno run` for one command line from source. */
export function flagsFor(line: CommandLine, facts: SourceFacts): string[] {
  return toFlags(grantsFor(line.command, facts.platform), narrowFor(line, facts));
}

/** The permissions for a worker of the compiled program, which uses no ssh and starts no programs. */
export function workerPermissions(
  line: CommandLine,
  facts: SourceFacts,
  { resolver }: Needs,
): WorkerPermissions {
  const unneeded = ["{ssh}", "{agent}", ...resolver ? [] : ["{resolver}"]];
  const narrow: Narrow = (kind, grant) =>
    narrowFor(line, facts)(kind, grant.filter((name) => !unneeded.includes(name)));
  const grants = grantsFor(line.command, facts.platform);
  const kinds = permissionKinds.map((kind) => {
    const grant = kind === "run" ? undefined : grants[kind];
    return [kind, grant === undefined || grant === "any" ? grant === "any" : narrow(kind, grant)];
  });
  return Object.fromEntries(kinds);
}

function narrowFor(line: CommandLine, facts: SourceFacts): Narrow {
  const named = placesNamed(line);
  return (kind, grant) => {
    const names = grant.flatMap((name) => fill(name, facts));
    if (kind === "run") return [...new Set([...names, ...facts.programs ?? []])];
    if (kind !== "read" && kind !== "write") return names;
    const { former } = facts;
    const isSeen = former && grant.includes("{runtime}") && (kind === "read" || former.isOurs);
    return [...new Set([...names, ...(isSeen ? [former.path] : []), ...named])];
  };
}

/**
 * The flags for compiling: the union of all commands. The directories and the program's path are unknown at that
 * time, so kinds with such names are unrestricted. At run time, postern revokes what `kindsFor` does not return.
 */
export function compiledFlags(): string[] {
  const union: Partial<Record<PermissionKind, Grant>> = {};
  for (const grants of Object.values(commandGrants)) {
    for (const kind of permissionKinds) {
      const grant = grants[kind];
      if (grant === undefined) continue;
      const isOpen = grant === "any" || union[kind] === "any" || grant.some((name) => name.startsWith("{"));
      union[kind] = isOpen ? "any" : [...new Set([...(union[kind] ?? []), ...grant])];
    }
  }
  return toFlags(union, (_kind, grant) => grant);
}

type Narrow = (kind: PermissionKind, grant: readonly string[]) => string[];

function toFlags(
  grants: Grants,
  narrow: (kind: PermissionKind, grant: readonly string[]) => readonly string[],
): string[] {
  return permissionKinds.flatMap((kind) => {
    const grant = grants[kind];
    if (grant === undefined) return [];
    if (grant === "any") return [`--allow-${kind}`];
    const names = narrow(kind, grant).map(escape);
    return names.length === 0 ? [] : [`--allow-${kind}=${names.join(",")}`];
  });
}

/** Doubles commas inside a value. */
function escape(name: string): string {
  return name.replaceAll(",", ",,");
}
