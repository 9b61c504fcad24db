import type { Clock, Log } from "../core/mod.ts";
import type { Files, Network, Places, Process, Terminal } from "../world/mod.ts";
import { Openssh } from "./openssh/openssh.ts";
import { OpensshDirectory } from "./openssh/openssh_directory.ts";
import { runProxyCommand } from "./hops/proxy_command.ts";
import type { SshHost } from "./config/ssh_host.ts";
import { sshPrompt } from "./sign_in/ssh_prompt.ts";
import { readingOf } from "./config/ssh_reading.ts";
import type { SshSection } from "./config/ssh_section.ts";
import { SshServices } from "./ssh_services.ts";

/** The parts of the user's environment that ssh needs. */
export interface SshPerson {
  readonly network: Network;
  readonly clock: Clock;
  readonly files: Files;
  readonly log: Log;
  readonly process: Process;
  readonly places: Pick<Places, "runtime">;
  /** The terminal for prompts; absent when postern must not prompt. */
  readonly terminal?: Terminal | undefined;
  /** Set when no user watches the desktop: see `SshPromptParts`. */
  readonly isUnattended?: boolean | undefined;
}

/** Builds the ssh services from the user's own configuration, agent, programs and terminal. */
export function sshOfPerson(person: SshPerson, section: SshSection | undefined): SshServices {
  const { network, clock, files, log, process, places, terminal, isUnattended } = person;
  const prompt = terminal && sshPrompt({ terminal, process, log, isUnattended });
  const { platform } = process;
  const parent = `${places.runtime}/ssh`;
  const directory = new OpensshDirectory({ parent, platform, network, files, clock, log });
  return new SshServices({
    network,
    clock,
    files,
    log,
    reading: readingOf(person),
    runCommand: (command, options) => runProxyCommand(command, { process, clock }, options),
    openSsh: (host, { times, config }) =>
      new Openssh({
        host,
        target: targetOf(host, config),
        deps: { process, network, files, clock, log, directory, times },
      }),
    directory,
    prompt,
  }, section);
}

function targetOf({ alias, asked, jumps }: SshHost, config: string | undefined) {
  return { ...asked, alias, jumps, config };
}
