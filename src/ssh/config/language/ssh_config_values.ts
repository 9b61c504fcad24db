import type { SshConfigLine } from "./ssh_config_lines.ts";
import { parseSshJumps } from "./ssh_config_jump.ts";
import { parsePort, parseSeconds } from "./ssh_config_numbers.ts";

/** The form of an option's value. */
export type SshValueKind =
  | "word"
  | "words"
  /** Everything to the end of the line. */
  | "command"
  | "jumps"
  | "flag"
  | "time"
  | "integer"
  | "port"
  | "algorithms"
  /** Any value except an empty one. */
  | "loose"
  | readonly string[];

/** The value of a line in one spelling (`yes` for `true`, seconds for `1m`), or its fault. */
export type SshValue = { readonly values: readonly string[] } | { readonly fault: string };

export function readSshValue(kind: SshValueKind, line: SshConfigLine): SshValue {
  if (line.fault !== undefined) return { fault: line.fault };
  if (kind === "command") return { values: [line.rest.replace(/^[ \t\r=]+/, "")] };
  if (kind === "jumps") {
    if (parseSshJumps(line.rest)) return { values: [line.rest] };
    return { fault: "the value must be a list of [user@]host[:port]" };
  }
  const { arguments: words } = line;
  const [first = ""] = words;
  if (words.length === 0 || words.includes("")) return { fault: "the option has no argument" };
  if (kind === "loose") return { values: words };
  if (kind === "words") {
    const none = words.find((word) => word.toLowerCase() === "none");
    return none !== undefined && words.length > 1
      ? { fault: '"none" must be the only value' }
      : { values: words };
  }
  if (words.length > 1) {
    return { fault: `the option takes one argument, and a second follows: "${words[1]}"` };
  }
  return readWord(kind, first);
}

function readWord(
  kind: Exclude<SshValueKind, "command" | "jumps" | "words" | "loose">,
  word: string,
): SshValue {
  if (typeof kind !== "string") return readChoice(kind, word);
  switch (kind) {
    case "word":
      return { values: [word] };
    case "flag":
      return readChoice(["yes", "no"], word);
    case "algorithms":
      return /^[-+^]?[^,!]+(,[^,!]+)*$/.test(word)
        ? { values: [word] }
        : { fault: `the value must be a list of algorithms: current value is "${word}"` };
    case "time":
      return word === "none"
        ? { values: ["none"] }
        : numeric(parseSeconds(word), "a time such as 10 or 1m30s", word);
    case "integer":
      return numeric(/^\d{1,9}$/.test(word) ? Number(word) : undefined, "a number", word);
    case "port":
      return numeric(parsePort(word), "a port from 1 to 65535", word);
  }
}

function numeric(value: number | undefined, what: string, word: string): SshValue {
  return value === undefined
    ? { fault: `the value must be ${what}: current value is "${word}"` }
    : { values: [String(value)] };
}

/** Reads a choice, ignoring case; `true` and `false` mean `yes` and `no` when these are choices. */
function readChoice(choices: readonly string[], word: string): SshValue {
  const folded = word.toLowerCase();
  const meant = folded === "true" ? "yes" : folded === "false" ? "no" : folded;
  if (choices.includes(meant)) return { values: [meant] };
  return { fault: `the value must be one of ${choices.join(", ")}: current value is "${word}"` };
}
