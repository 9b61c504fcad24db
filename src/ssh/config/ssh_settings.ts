import { usualSshPort } from "./language/ssh_config_numbers.ts";
import type { SshOption } from "./language/ssh_config_options.ts";
import { parseSshJumps } from "./language/ssh_config_jump.ts";
import { isOwnCommand } from "./language/ssh_config_own_command.ts";
import type { SshConfigProblem } from "./ssh_host.ts";

export interface SshConfigPlace {
  readonly file: string;
  readonly line: number;
}

/** An option's values and where they are set. */
export interface GivenSshOption extends SshConfigPlace {
  readonly option: SshOption;
  readonly values: readonly string[];
}

/** The options of one host. For most options the first value wins; for some the values add up. */
export class SshSettings {
  readonly #first = new Map<string, GivenSshOption>();

  /** Every option that is set, in order. */
  get all(): readonly GivenSshOption[] {
    return [...this.#first.values()];
  }

  give(given: GivenSshOption): void {
    const name = given.option.name.toLowerCase();
    // As if it were not there: a later ProxyJump of the user applies.
    if (name === "proxycommand" && isOwnCommand(given.values[0] ?? "")) return;
    const before = this.#first.get(name);
    if (before === undefined) {
      if (!this.#isOutdone(name)) this.#first.set(name, given);
    } else if (given.option.accumulates) {
      // A second pass reads the same values again.
      const values = [...new Set([...before.values, ...given.values])];
      this.#first.set(name, { ...before, values });
    }
  }

  /** Returns an option by its lower-case name, if it is set. */
  given(name: string): GivenSshOption | undefined {
    return this.#first.get(name);
  }

  /** Returns the value of a single-valued option. */
  value(name: string): string | undefined {
    return this.#first.get(name)?.values[0];
  }

  get port(): string {
    return this.value("port") ?? String(usualSshPort);
  }

  values(name: string): readonly string[] | undefined {
    return this.#first.get(name)?.values;
  }

  /** The first of ProxyJump and ProxyCommand applies; "ProxyJump none" disables later jumps only. */
  #isOutdone(name: string): boolean {
    if (name === "proxyjump") return this.#first.has("proxycommand");
    if (name !== "proxycommand") return false;
    return parseSshJumps(this.value("proxyjump") ?? "none")?.length !== 0;
  }
}

/** Collects the problems of a configuration, each one once. */
export class SshProblems {
  readonly #problems = new Map<string, SshConfigProblem>();

  get all(): readonly SshConfigProblem[] {
    return [...this.#problems.values()];
  }

  add(
    severity: SshConfigProblem["severity"],
    place: SshConfigPlace,
    said: { option: string; message: string },
  ): void {
    const { file, line } = place;
    const problem = { severity, file, line, ...said };
    this.#problems.set(JSON.stringify(problem), problem);
  }
}
