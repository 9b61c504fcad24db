import type { Clock } from "../../core/mod.ts";
import type { Files, Process } from "../../world/mod.ts";

/** What the reader of the ssh configuration needs from the system. */
export interface SshConfigDeps {
  readonly files: Pick<Files, "read" | "list" | "info">;
  /** Runs the commands of `Match exec`. */
  readonly run: Process["run"];
  readonly clock: Clock;
  /** Aborted when the reader's owner ends. */
  readonly signal: AbortSignal;
  env(name: string): string | undefined;
  /**
   * The value of `~`. ssh takes it from the user database, and from HOME for Include only. Deno cannot read
   * the user database. Both agree unless the user changed HOME.
   */
  readonly home: string;
  readonly localUser: string;
  readonly uid: number | undefined;
  /** This machine's name; called only when a token needs it. */
  hostname(): string;
  /** Read instead of the user's and the system's file, as with `ssh -F`; the file must exist. */
  readonly userConfig?: string | undefined;
  /** The system's file (default: `/etc/ssh/ssh_config`). */
  readonly systemConfig?: string;
}

/** The files to read, in order. */
export interface SshConfigPaths {
  readonly user: string;
  /** Whether `userConfig` names the user's file. */
  readonly isUserNamed: boolean;
  readonly system: string | undefined;
  /** The base directory for relative paths of `Include`. */
  readonly userDirectory: string;
  readonly systemDirectory: string;
}

/**
 * Returns the configuration's files. If `userConfig` names the usual path, the system's file follows as
 * usual.
 */
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
