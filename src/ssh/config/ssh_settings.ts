import { usualSshPort } from "./language/ssh_config_numbers.ts";
import type { SshOption } from "./language/ssh_config_options.ts";
import { parseSshJumps } from "./language/ssh_config_jump.ts";
import type { SshConfigProblem } from "./ssh_host.ts";

/** Where something stands. */
export interface SshConfigPlace {
  readonly file: string;
  readonly line: number;
}

/** The value that an option was given, and where. */
export interface GivenSshOption extends SshConfigPlace {
  readonly option: SshOption;
  readonly values: readonly string[];
}

/** The options of one host as its configuration gives them: of several values the first one wins, some add up. */
export class SshSettings {
  readonly #first = new Map<string, GivenSshOption>();

  /** Every option that was given, in order. */
  get all(): readonly GivenSshOption[] {
    return [...this.#first.values()];
  }

  give(given: GivenSshOption): void {
    const name = given.option.name.toLowerCase();
    const before = this.#first.get(name);
    if (before === undefined) {
      if (!this.#isOutdone(name)) this.#first.set(name, given);
    } else if (given.option.accumulates) {
      // What a second pass reads again is there already.
      const values = [...new Set([...before.values, ...given.values])];
      this.#first.set(name, { ...before, values });
    }
  }

  /** An option that is given, by its name in lower case. */
  given(name: string): GivenSshOption | undefined {
    return this.#first.get(name);
  }

  /** The one value of an option. */
  value(name: string): string | undefined {
    return this.#first.get(name)?.values[0];
  }

  get port(): string {
    return this.value("port") ?? String(usualSshPort);
  }

  values(name: string): readonly string[] | undefined {
    return this.#first.get(name)?.values;
  }

  /** Whichever of the two ways through another host comes first holds; "ProxyJump none" forbids later jumps only. */
  #isOutdone(name: string): boolean {
    if (name === "proxyjump") return this.#first.has("proxycommand");
    if (name !== "proxycommand") return false;
    return parseSshJumps(this.value("proxyjump") ?? "none")?.length !== 0;
  }
}

/** What there is to say of a configuration, each thing once. */
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
