import type { SshHost } from "./config/ssh_host.ts";

/** How sentences name a host. */
export function sshLabel({ alias }: Pick<SshHost, "alias">): string {
  return `ssh ${alias}`;
}
