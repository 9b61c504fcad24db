import { Household, type Instance } from "./postern_process.ts";
import type { Sshd, SshLab } from "./sshd.ts";

/** Returns the ssh configuration lines for a lab's server. */
export function sshHostLines(
  name: string,
  { port }: Pick<Sshd, "port">,
  ...more: readonly string[]
): string[] {
  return [`Host ${name}`, "  HostName 127.0.0.1", `  Port ${port}`, ...more.map((line) => `  ${line}`)];
}

/** Writes an ssh configuration with the lab's key and known hosts for every host; returns its path. */
export async function writeSshConfig(
  { directory, user, key, knownHosts }: Pick<SshLab, "directory" | "user" | "key" | "knownHosts">,
  lines: readonly string[],
): Promise<string> {
  const path = `${directory}/ssh_config`;
  const usual = [
    "Host *",
    `  User ${user}`,
    `  IdentityFile ${key}`,
    "  IdentitiesOnly yes",
    `  UserKnownHostsFile ${knownHosts}`,
    "  GlobalKnownHostsFile none",
  ];
  await Deno.writeTextFile(path, `${[...lines, ...usual].join("\n")}\n`);
  return path;
}

/** Creates a private home whose postern configuration uses a separate ssh configuration. */
export async function openSshHousehold(
  lab: SshLab,
  { ssh, postern, section = [] }: {
    readonly ssh: readonly string[];
    readonly postern: readonly string[];
    /** Additional lines of the section `ssh`. */
    readonly section?: readonly string[];
  },
): Promise<Household> {
  const config = await writeSshConfig(lab, ssh);
  const home = await Household.open();
  await home.configure(
    [`ssh:`, `  config: "${config}"`, ...section.map((line) => `  ${line}`), ...postern].join("\n") + "\n",
  );
  return home;
}

export type { Instance };
