import type { Clock } from "../../core/mod.ts";
import type { Files, Process } from "../../world/mod.ts";

/** What reading the ssh configuration needs of the world. */
export interface SshConfigDeps {
  readonly files: Pick<Files, "read" | "list" | "info">;
  /** Runs the commands of `Match exec`. */
  readonly run: Process["run"];
  readonly clock: Clock;
  /** Ends with whoever owns the reader. */
  readonly signal: AbortSignal;
  env(name: string): string | undefined;
  /**
   * What `~` means. ssh asks the user database, and HOME for Include alone; Deno knows no user database. Both agree
   * unless HOME was changed by hand.
   */
  readonly home: string;
  readonly localUser: string;
  readonly uid: number | undefined;
  /** This machine's name; asked only where a token needs it. */
  hostname(): string;
  /** The file to read instead of the user's and the system's, as `ssh -F`; it must be there. */
  readonly userConfig?: string | undefined;
  /** The system's file where it is not `/etc/ssh/ssh_config`. */
  readonly systemConfig?: string;
}

/** The files that are read, first one first. */
export interface SshConfigPaths {
  readonly user: string;
  /** Whether the user's file was asked for by name. */
  readonly isUserNamed: boolean;
  readonly system: string | undefined;
  /** Where relative paths of `Include` begin. */
  readonly userDirectory: string;
  readonly systemDirectory: string;
}

/** Where the configuration is. A file named by its usual path is the usual one, with the system's file behind it. */
export function sshConfigPaths(deps: SshConfigDeps): SshConfigPaths {
  const userDirectory = `${deps.home.replace(/\/$/, "")}/.ssh`;
  const usual = `${userDirectory}/config`;
  const { userConfig = usual, systemConfig = "/etc/ssh/ssh_config" } = deps;
  const isUserNamed = userConfig !== usual;
  return {
    user: userConfig,
    isUserNamed,
    system: isUserNamed ? undefined : systemConfig,
    userDirectory,
    systemDirectory: systemConfig.slice(0, systemConfig.lastIndexOf("/")),
  };
}
