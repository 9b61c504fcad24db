import type { TransportNote } from "../../core/mod.ts";
import type { SshHost } from "../config/ssh_host.ts";

/** Returns the notes about the configuration of a chain, except for hosts of the ssh program. */
export function sshNotes(chain: readonly SshHost[]): TransportNote[] {
  return chain.flatMap(({ alias, engine, problems }) =>
    engine === "openssh" ? [] : problems.map(({ severity, file, line, option, message }) => ({
      severity,
      text: `${line > 0 ? `${file}:${line}` : file}: ${option} of ssh ${alias}: ${message}`,
    }))
  );
}
