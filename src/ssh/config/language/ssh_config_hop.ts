import { parseSshDestination, parseSshJumps, type SshDestination } from "./ssh_config_jump.ts";
import { sshOption } from "./ssh_config_options.ts";
import { parsePort } from "./ssh_config_numbers.ts";

/** The target that the command must connect to, and the configuration it must read. */
export interface SshHopTarget {
  readonly host: string;
  readonly port: number;
  /**
   * The configuration's path. A command with `-F` and another path reads different settings, so it is no hop.
   */
  readonly config: string;
}

/**
 * Returns the hops of a `ProxyCommand` of the form `ssh -W host:port jump`, nearest first. Returns undefined
 * for any other command, and for an `ssh` with an option that hops cannot express: such a command runs
 * unchanged.
 */
export function parseSshHops(command: string, target: SshHopTarget): readonly SshDestination[] | undefined {
  const words = shellWords(command);
  if (!words) return undefined;
  if (words[0] === "exec") words.shift();
  const program = words.shift() ?? "";
  if (!/^([\w./-]*\/)?ssh$/.test(program)) return undefined;
  const reading = new HopReading(target);
  return reading.read(words);
}

/** Options of ssh that take no value and do not affect a hop. */
const plainFlags = "qvTaxkCNAXYy";

class HopReading {
  readonly #target: SshHopTarget;
  #forward: string | undefined;
  #user: string | undefined;
  #port: number | undefined;
  #before: readonly SshDestination[] = [];
  #destination: SshDestination | undefined;

  constructor(target: SshHopTarget) {
    this.#target = target;
  }

  read(words: string[]): readonly SshDestination[] | undefined {
    let optionsEnded = false;
    while (words.length > 0) {
      const word = words.shift() ?? "";
      if (!optionsEnded && word === "--") optionsEnded = true;
      else if (!optionsEnded && /^-./.test(word)) {
        if (!this.#option(word.slice(1), words)) return undefined;
      } else {
        // A second word would be a command for the jump host.
        if (this.#destination) return undefined;
        this.#destination = parseSshDestination(word);
        if (!this.#destination || word.startsWith("-")) return undefined;
      }
    }
    return this.#hops();
  }

  #hops(): readonly SshDestination[] | undefined {
    const { host, port } = this.#target;
    const there = parseSshDestination(this.#forward ?? "");
    if (!this.#destination || there?.user !== undefined) return undefined;
    if (there?.host.toLowerCase() !== host.toLowerCase() || there.port !== port) return undefined;
    const { host: jump } = this.#destination;
    const user = this.#user ?? this.#destination.user;
    const jumpPort = this.#port ?? this.#destination.port;
    return [...this.#before, {
      ...(user !== undefined && { user }),
      host: jump,
      ...(jumpPort !== undefined && { port: jumpPort }),
    }];
  }

  /** Reads one word of options, `qT` or `p2222`; takes a missing value from `words`. */
  #option(letters: string, words: string[]): boolean {
    for (let at = 0; at < letters.length; at++) {
      const letter = letters[at] ?? "";
      if (plainFlags.includes(letter)) continue;
      const value = letters.slice(at + 1) || words.shift();
      return value !== undefined && this.#valued(letter, value);
    }
    return true;
  }

  #valued(letter: string, value: string): boolean {
    switch (letter) {
      case "W":
        this.#forward ??= value;
        return this.#forward === value;
      case "l":
        this.#user ??= value;
        return true;
      case "p":
        this.#port ??= parsePort(value);
        return parsePort(value) !== undefined;
      case "J":
        this.#before = parseSshJumps(value) ?? [];
        return this.#before.length > 0;
      case "F":
        return value === this.#target.config;
      case "e":
      case "E":
        return true;
      case "o":
        return this.#setting(value);
      default:
        return false;
    }
  }

  #setting(text: string): boolean {
    const [, name = "", value = ""] = /^\s*(\w+)\s*[=\s]\s*(.*)$/.exec(text) ?? [];
    const keyword = name.toLowerCase();
    if (keyword === "user") return this.#valued("l", value);
    if (keyword === "port") return this.#valued("p", value);
    return keyword === "batchmode" || sshOption(keyword)?.class === "harmless";
  }
}

/** Splits a simple command into words; undefined when the shell would do more than split it. */
function shellWords(command: string): string[] | undefined {
  const words: string[] = [];
  let rest = command.trim();
  if (rest.length > 4096) return undefined;
  while (rest !== "") {
    const part = /^(?:[\w@%+=:,./[\]-]|'[^']*'|"[^"$`\\!]*")+/.exec(rest)?.[0];
    if (part === undefined) return undefined;
    words.push(
      part.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ""),
    );
    const after = rest.slice(part.length);
    rest = after.trimStart();
    if (rest !== "" && rest === after) return undefined;
  }
  return words;
}
