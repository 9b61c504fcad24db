import { parseTarget, type Target } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { expandTilde } from "./language/ssh_config_tokens.ts";
import { sshConfigPaths } from "./ssh_config_deps.ts";
import { SshConfigFiles } from "./ssh_config_files.ts";
import { SshConfigReader } from "./ssh_config_reader.ts";
import type { SshHost } from "./ssh_host.ts";
import { personalDeps } from "./ssh_reading.ts";

/** A section `Host` of the ssh configuration. */
export interface SshSurveyEntry {
  readonly file: string;
  readonly line: number;
  readonly patterns: readonly string[];
  /** The targets of its LocalForward lines, with the lines. */
  readonly forwards: readonly { readonly target: Target; readonly line: number }[];
  /** The line of its first DynamicForward. */
  readonly dynamicForward?: number;
}

/** The hosts that an ssh configuration names, and how ssh would connect to them. */
export interface SshSurvey {
  /** In the order of the files. */
  readonly entries: readonly SshSurveyEntry[];
  /** By name: every `Host` without a wildcard, and one example for every pattern with one. */
  readonly hosts: ReadonlyMap<string, SshHost>;
  /** The parts that were not read, for the user. */
  readonly notes: readonly string[];
}

/** How deep files may include each other, as in OpenSSH. */
const mostDepth = 16;
const mostFiles = 256;
/** The maximum number of names to look up. */
const mostNames = 1000;

/**
 * Lists the hosts of the user's ssh configuration. Connects to nothing and runs no command: conditions of
 * `Match exec` count as false.
 */
export async function surveySsh(
  world: Pick<World, "clock" | "files" | "process">,
  { config, signal }: { readonly config?: string | undefined; readonly signal: AbortSignal },
): Promise<SshSurvey> {
  const run = () => Promise.resolve({ code: 1, stdout: "", stderr: "" });
  const deps = { ...await personalDeps(world, { config, signal }), run };
  const walk = new Walk(new SshConfigFiles(deps), deps);
  const { user, userDirectory } = sshConfigPaths(deps);
  await walk.file(user, { depth: 0, directory: userDirectory });
  const reader = new SshConfigReader(deps);
  const hosts = new Map<string, SshHost>();
  const notes = new Set(walk.notes);
  const names = new Set(walk.entries.flatMap(({ patterns }) => patterns.map(exampleOf)));
  for (const name of names) {
    signal.throwIfAborted();
    if (hosts.size >= mostNames) {
      notes.add(`the ssh configuration names more than ${mostNames} hosts: postern looked at the first ones`);
      break;
    }
    // A negated pattern has no example; the reader rejects names that ssh would reject too.
    const host = name === "" ? undefined : await reader.read(name).catch(() => undefined);
    if (host) hosts.set(name, host);
  }
  return { entries: walk.entries, hosts, notes: [...notes] };
}

/** A name that a pattern matches: the pattern itself without wildcards. Empty for a negated pattern. */
export function exampleOf(pattern: string): string {
  if (pattern.startsWith("!")) return "";
  return pattern.replaceAll("*", "postern-setup").replaceAll("?", "x");
}

interface Place {
  readonly depth: number;
  /** The directory of relative paths of Include. */
  readonly directory: string;
}

/** Collects the sections of a file and of the files that it includes. */
class Walk {
  readonly entries: SshSurveyEntry[] = [];
  readonly notes: string[] = [];
  readonly #files: SshConfigFiles;
  readonly #deps: Parameters<typeof expandTilde>[1];
  readonly #seen = new Set<string>();

  constructor(files: SshConfigFiles, deps: Parameters<typeof expandTilde>[1]) {
    this.#files = files;
    this.#deps = deps;
  }

  async file(path: string, { depth, directory }: Place): Promise<void> {
    if (this.#seen.has(path) || depth > mostDepth || this.#seen.size >= mostFiles) return;
    this.#seen.add(path);
    const read = await this.#files.load(path);
    if ("fault" in read) return void this.notes.push(`${path}: ${read.fault}`);
    if (!("lines" in read)) return;
    let forwards: { target: Target; line: number }[] = [];
    /** The index of the section that the lines belong to; undefined before the first and inside `Match`. */
    let at: number | undefined;
    for (const { keyword, arguments: words, line, fault } of read.lines) {
      if (fault !== undefined) continue;
      if (keyword === "host") {
        forwards = [];
        at = this.entries.push({ file: path, line, patterns: words, forwards }) - 1;
      } else if (keyword === "match") at = undefined;
      else if (keyword === "include") await this.#include(words, { depth, directory });
      else if (keyword === "localforward" && at !== undefined) {
        const target = forwardTarget(words);
        if (target) forwards.push({ target, line });
      } else if (keyword === "dynamicforward" && at !== undefined) {
        const entry = this.entries[at];
        if (entry) this.entries[at] = { ...entry, dynamicForward: entry.dynamicForward ?? line };
      }
    }
  }

  async #include(words: readonly string[], { depth, directory }: Place): Promise<void> {
    for (const word of words) {
      const expanded = expandTilde(word, this.#deps);
      if ("fault" in expanded || /[%$]/.test(expanded.text)) {
        this.notes.push(`postern did not look for hosts in the files of "Include ${word}"`);
        continue;
      }
      const { text } = expanded;
      const pattern = /^(?:\/|[A-Za-z]:\/)/.test(text) ? text : `${directory}/${text}`;
      const found = await this.#files.matching(pattern).catch(() => []);
      for (const path of found) await this.file(path, { depth: depth + 1, directory });
    }
  }
}

/** The target of `LocalForward PORT HOST:PORT`; undefined for sockets and for the server itself. */
function forwardTarget([, written]: readonly string[]): Target | undefined {
  // ssh also accepts HOST/PORT.
  const text = written?.replace(/^([^/]+)\/([0-9]+)$/, "$1:$2") ?? "";
  if (!/:[0-9]+$/.test(text)) return undefined;
  try {
    return parseTarget(text);
  } catch {
    // ssh rejects such a line when it connects; for a survey it names no target.
    return undefined;
  }
}
