import type { SshHost } from "./config/ssh_host.ts";

/** The name of a host in messages. */
export function sshLabel({ alias }: Pick<SshHost, "alias">): string {
  return `ssh ${alias}`;
}
