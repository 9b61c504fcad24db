import type { SshHost } from "../../src/ssh/mod.ts";

/** Returns OpenSSH's default settings of a host, without user files. */
export function sshHost(alias: string, more: Partial<SshHost> = {}): SshHost {
  return {
    alias,
    hostName: "127.0.0.1",
    port: 22,
    user: "me",
    jumps: [],
    identityFiles: [],
    certificateFiles: [],
    identitiesOnly: false,
    userKnownHostsFiles: [],
    globalKnownHostsFiles: [],
    strictHostKeyChecking: "yes",
    hashKnownHosts: false,
    addressFamily: "any",
    kbdInteractive: true,
    password: true,
    pubkey: true,
    problems: [],
    ...more,
  };
}
