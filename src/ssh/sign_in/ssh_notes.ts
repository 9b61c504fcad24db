import type { TransportNote } from "../../core/mod.ts";
import type { SshHost } from "../config/ssh_host.ts";

/** What a person has to know of the configuration of a chain. What the ssh program does itself is none of it. */
export function sshNotes(chain: readonly SshHost[]): TransportNote[] {
  return chain.flatMap(({ alias, engine, problems }) =>
    engine === "openssh" ? [] : problems.map(({ severity, file, line, option, message }) => ({
      severity,
      text: `${line > 0 ? `${file}:${line}` : file}: ${option} of ssh ${alias}: ${message}`,
    }))
  );
}
