import type { Clock } from "../../core/mod.ts";
import type { Files, Process } from "../../world/mod.ts";
import type { ReadSshHost } from "../hops/ssh_chain.ts";
import type { SshConfigDeps } from "./ssh_config_deps.ts";
import type { SshConfigContents } from "./ssh_config_files.ts";
import { SshConfigReader } from "./ssh_config_reader.ts";
import type { SshHost } from "./ssh_host.ts";
import type { SshSection } from "./ssh_section.ts";

/** The ssh configuration at the time of first use. Disposing it ends the commands that still run for it. */
export interface SshReading extends Disposable {
  readonly read: ReadSshHost;
  /** The contents of the files read so far. */
  readonly contents?: SshConfigContents | undefined;
}

interface Reader {
  readonly clock: Clock;
  readonly files: Files;
  readonly process: Pick<Process, "run" | "env" | "uid" | "account" | "hostName">;
}

/** Reads the user's ssh configuration and applies the section `ssh` to it. */
export function readingOf({ clock, files, process }: Reader): (section: SshSection) => SshReading {
  return ({ config, agent }) => {
    const ending = new AbortController();
    let reader: Promise<SshConfigReader> | undefined;
    let known: SshConfigReader | undefined;
    const begin = async () => {
      const deps = await personalDeps({ clock, files, process }, { config, signal: ending.signal });
      const env = (variable: string) =>
        variable === "SSH_AUTH_SOCK" && agent !== "auto" ? namedAgent(agent) : deps.env(variable);
      return known = new SshConfigReader({ ...deps, env });
    };
    return {
      get contents() {
        return known?.contents;
      },
      read: async (alias, asked) => withAgent(await (await (reader ??= begin())).read(alias, asked), agent),
      [Symbol.dispose]: () =>
        ending.abort(new DOMException("The ssh configuration is being reloaded", "AbortError")),
    };
  };
}

/** What the reader needs, for the user of this process. */
export async function personalDeps(
  { clock, files, process }: Reader,
  { config, signal }: { readonly config?: string | undefined; readonly signal: AbortSignal },
): Promise<SshConfigDeps> {
  const { name, home } = await process.account();
  return {
    files,
    clock,
    signal,
    run: (command, options) => process.run(command, options),
    env: (variable) => process.env(variable),
    home: slashed(home),
    localUser: name,
    uid: process.uid,
    hostname: () => process.hostName,
    userConfig: config,
  };
}

/** Replaces the backslashes of a Windows home: file patterns use slashes, and Windows accepts both. */
function slashed(home: string): string {
  return /^[A-Za-z]:\\/.test(home) ? home.replaceAll("\\", "/") : home;
}

function namedAgent(agent: string): string | undefined {
  return agent === "none" ? undefined : agent;
}

/** Sets the agent: postern's own configuration overrides ssh's. */
function withAgent(host: SshHost, agent: string): SshHost {
  if (agent === "auto") return host;
  const { identityAgent: _, ...rest } = host;
  const named = namedAgent(agent);
  return named === undefined ? rest : { ...rest, identityAgent: named };
}
