// main.ts loads this file first, so it imports only types.
import type { Needs } from "../world/mod.ts";

export type DenoPermission = "read" | "write" | "net" | "env" | "sys" | "run" | "ffi" | "import";

const allKinds: readonly DenoPermission[] = ["read", "write", "net", "env", "sys", "run", "ffi", "import"];

/** Permanently drops every permission whose kind is not in `kinds`. */
export function keepOnly(kinds: readonly DenoPermission[]): void {
  for (const name of allKinds) {
    if (!kinds.includes(name)) Deno.permissions.revokeSync({ name });
  }
}

/**
 * Returns the flag that the failed call needs (`--allow-read`, `--allow-sys=uid`); undefined for other
 * errors.
 */
export function missingFlag(error: unknown): string | undefined {
  if (!(error instanceof Deno.errors.NotCapable)) return undefined;
  const [, kind = "all", what] = /Requires ([a-z]+) access(?: to "([^"]*)")?/.exec(error.message) ?? [];
  // Paths and addresses are granted by directory or as a whole, so a flag with the full value would mislead.
  return what !== undefined && (kind === "sys" || kind === "env")
    ? `--allow-${kind}=${what}`
    : `--allow-${kind}`;
}

/** The meaning of each need on this machine: programs by name or path, places by path. */
export interface NeedsTable {
  readonly ssh: { readonly run: readonly string[]; readonly write: readonly string[] };
  readonly plugins: readonly string[];
  readonly resolver: readonly string[];
  /** Whether the command also starts programs for other purposes. */
  readonly runsMore: boolean;
}

const emptyTable: NeedsTable = { ssh: { run: [], write: [] }, plugins: [], resolver: [], runsMore: true };

/**
 * The programs that this process may still start, and the places that it may write to. Deno can remove a name
 * from a list of names, but nothing from a grant without a list. The compiled program has no lists, so there
 * only a whole kind can be dropped.
 */
export class Rights {
  readonly #table: NeedsTable;
  /** Names of programs that this process could start before. */
  readonly #givenUp = new Set<string>();
  #gaveUpAll = false;
  #hasSsh = true;

  constructor(table: NeedsTable = emptyTable) {
    this.#table = table;
  }

  /** Permanently drops everything that is not needed. */
  keepOnly(needs: Needs | "nothing"): void {
    if (needs === "nothing") return keepOnly([]);
    const { ssh, plugins, resolver, runsMore } = this.#table;
    const named = needs.plugins === "any" ? undefined : needs.plugins.map(nameOf);
    const unneeded = [
      ...needs.ssh ? [] : ssh.run.filter((program) => !named?.includes(nameOf(program))),
      ...named ? plugins.filter((program) => !named.includes(nameOf(program))) : [],
    ];
    for (const program of unneeded) this.#giveUpProgram(program);
    if (!needs.ssh) {
      this.#hasSsh = false;
      for (const path of ssh.write) Deno.permissions.revokeSync({ name: "write", path });
    }
    if (!needs.resolver) {
      for (const path of resolver) Deno.permissions.revokeSync({ name: "write", path });
    }
    if (needs.ssh || named?.length !== 0 || runsMore) return;
    this.#gaveUpAll = true;
    Deno.permissions.revokeSync({ name: "run" });
  }

  /** Returns which of these needs was dropped: `ssh`, or a program. */
  missing({ ssh, plugins }: Needs): string | undefined {
    if (ssh && !this.#hasSsh && !isOpen()) return "ssh";
    return plugins === "any"
      ? undefined
      : plugins.find((program) => !mayRun(program) && this.gaveUp(program));
  }

  /** Whether this process could start the program before it dropped the permission. */
  gaveUp(program: string): boolean {
    return this.#gaveUpAll || this.#givenUp.has(nameOf(program));
  }

  #giveUpProgram(command: string): void {
    if (isOpen() || !mayRun(command)) return;
    this.#givenUp.add(nameOf(command));
    Deno.permissions.revokeSync({ name: "run", command });
  }
}

/** Whether Deno allows starting a program. */
export function mayRun(command: string): boolean {
  return Deno.permissions.querySync({ name: "run", command }).state === "granted";
}

function isOpen(): boolean {
  return Deno.permissions.querySync({ name: "run" }).state === "granted";
}

function nameOf(program: string): string {
  return program.replace(/^.*[\\/]/, "");
}
