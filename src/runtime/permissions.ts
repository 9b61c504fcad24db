// The first thing main.ts loads: this file imports nothing but types.
import type { Needs } from "../world/mod.ts";

/** The kinds of permission that Deno knows. */
export type DenoPermission = "read" | "write" | "net" | "env" | "sys" | "run" | "ffi" | "import";

const allKinds: readonly DenoPermission[] = ["read", "write", "net", "env", "sys", "run", "ffi", "import"];

/** Gives back, for good, every permission of a kind that is not in `kinds`. */
export function keepOnly(kinds: readonly DenoPermission[]): void {
  for (const name of allKinds) {
    if (!kinds.includes(name)) Deno.permissions.revokeSync({ name });
  }
}

/** The flag that would have allowed what failed (`--allow-read`, `--allow-sys=uid`); undefined where the failure is another one. */
export function missingFlag(error: unknown): string | undefined {
  if (!(error instanceof Deno.errors.NotCapable)) return undefined;
  const [, kind = "all", what] = /Requires ([a-z]+) access(?: to "([^"]*)")?/.exec(error.message) ?? [];
  // Paths and addresses are granted by the directory or as a whole, so the whole value would mislead.
  return what !== undefined && (kind === "sys" || kind === "env")
    ? `--allow-${kind}=${what}`
    : `--allow-${kind}`;
}

/** What each need stands for on this machine: programs by name or path, places by path. */
export interface NeedsTable {
  readonly ssh: { readonly run: readonly string[]; readonly write: readonly string[] };
  readonly plugins: readonly string[];
  readonly resolver: readonly string[];
  /** Whether the command starts programs for something else too. */
  readonly runsMore: boolean;
}

const emptyTable: NeedsTable = { ssh: { run: [], write: [] }, plugins: [], resolver: [], runsMore: true };

/**
 * What this process may still start and write to. Deno takes a name from a list of names, and nothing from a grant
 * without a list: the compiled program has no lists, so there only a whole kind is given up.
 */
export class Rights {
  readonly #table: NeedsTable;
  /** Programs that could be started before, by their names. */
  readonly #givenUp = new Set<string>();
  #gaveUpAll = false;
  #hasSsh = true;

  constructor(table: NeedsTable = emptyTable) {
    this.#table = table;
  }

  /** Gives up, for good, all that is not needed. */
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

  /** What of these needs has been given up: `ssh`, or a program. */
  missing({ ssh, plugins }: Needs): string | undefined {
    if (ssh && !this.#hasSsh && !isOpen()) return "ssh";
    return plugins === "any"
      ? undefined
      : plugins.find((program) => !mayRun(program) && this.gaveUp(program));
  }

  /** Whether we could start this program once. */
  gaveUp(program: string): boolean {
    return this.#gaveUpAll || this.#givenUp.has(nameOf(program));
  }

  #giveUpProgram(command: string): void {
    if (isOpen() || !mayRun(command)) return;
    this.#givenUp.add(nameOf(command));
    Deno.permissions.revokeSync({ name: "run", command });
  }
}

/** Whether Deno lets us start a program. */
export function mayRun(command: string): boolean {
  return Deno.permissions.querySync({ name: "run", command }).state === "granted";
}

function isOpen(): boolean {
  return Deno.permissions.querySync({ name: "run" }).state === "granted";
}

function nameOf(program: string): string {
  return program.replace(/^.*[\\/]/, "");
}
