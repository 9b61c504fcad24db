import { PosternError } from "../../words/mod.ts";
import type { SshConfigDeps } from "./ssh_config_deps.ts";
import { SshConfigEvaluation, type SshHostQuestion } from "./ssh_config_evaluation.ts";
import { type SshConfigContents, SshConfigFiles } from "./ssh_config_files.ts";
import type { SshHost } from "./ssh_host.ts";
import { sshHostOfSettings } from "./ssh_host_of_settings.ts";
import { loadSshTokens } from "./ssh_tokens.ts";

/** Settings that override the configuration, as `ssh -l` and `-p` do. */
export type SshHostPreset = Omit<SshHostQuestion, "alias">;

/** Reads the ssh configuration on first use, each file and each host once. A reload creates a new reader. */
export class SshConfigReader {
  readonly #deps: SshConfigDeps;
  readonly #files: SshConfigFiles;
  readonly #hosts = new Map<string, Promise<SshHost>>();

  constructor(deps: SshConfigDeps) {
    this.#deps = deps;
    this.#files = new SshConfigFiles(deps);
  }

  /** Every file read or looked for so far. Reload when one of them changes or appears. */
  get files(): readonly string[] {
    return this.#files.paths;
  }

  /** Every directory that a pattern searched. Reload when a file appears there. */
  get directories(): readonly string[] {
    return this.#files.directories;
  }

  /** The contents of all these files and directories when they were read. */
  get contents(): SshConfigContents {
    return this.#files.contents;
  }

  /** Returns a host's configuration, with its problems. Rejects only an invalid alias or user. */
  read(alias: string, preset: SshHostPreset = {}): Promise<SshHost> {
    const key = JSON.stringify([alias, preset.user, preset.port]);
    const before = this.#hosts.get(key);
    if (before) return before;
    const reading = this.#read({ ...preset, alias });
    this.#hosts.set(key, reading);
    return reading;
  }

  async #read(question: SshHostQuestion): Promise<SshHost> {
    checkHost(question.alias);
    if (question.user !== undefined) checkUser(question.user);
    await loadSshTokens();
    const evaluation = new SshConfigEvaluation(question, this.#deps, this.#files);
    await evaluation.run();
    return sshHostOfSettings(question.alias, evaluation, this.#deps);
  }
}

/** Reads one host's configuration without a cache. */
export function readSshHost(alias: string, preset: SshHostPreset, deps: SshConfigDeps): Promise<SshHost> {
  return new SshConfigReader(deps).read(alias, preset);
}

/**
 * Validates names: they may come from a catalogue, and end up in the commands of `Match exec` and
 * `ProxyCommand`.
 */
function checkHost(alias: string): void {
  if (alias !== "" && alias.length <= 1024 && !/^-|['`"$\\;&<>|(){}\s\p{Cc}]/u.test(alias)) return;
  throw new PosternError(
    "config",
    `Cannot use ${JSON.stringify(alias.slice(0, 64))} as the name of an ssh host`,
    {
      hint: "use a Host of the ssh configuration or a host name",
    },
  );
}

function checkUser(user: string): void {
  if (user !== "" && !/^-|['`";&<>|(){}\p{Cc}]|\s-|\\$/u.test(user)) return;
  throw new PosternError(
    "config",
    `Cannot use ${JSON.stringify(user.slice(0, 64))} as the name of an ssh user`,
    { hint: "correct the option User of that host in the ssh configuration; ssh rejects such names too" },
  );
}
