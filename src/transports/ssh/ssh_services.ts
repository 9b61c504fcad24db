import type { Clock, Conn, DialOptions, Files, Log, Network } from "../../core/mod.ts";
import { HostKeys } from "./host_keys.ts";
import type { Prompt } from "./ssh_auth.ts";
import type { ReadSshHost } from "./ssh_chain.ts";
import { SshPool } from "./ssh_pool.ts";

/** What all ssh transports of a program share. */
export interface SshServices {
  readonly pool: SshPool;
  readonly read: ReadSshHost;
  /** Runs a ProxyCommand; its standard input and output are the connection. */
  readonly runCommand?: (command: string, options: DialOptions) => Promise<Conn>;
}

export interface SshServicesOptions {
  readonly network: Network;
  readonly clock: Clock;
  readonly files: Files;
  readonly log: Log;
  readonly read: ReadSshHost;
  readonly prompt?: Prompt;
  readonly runCommand?: SshServices["runCommand"];
  /** Milliseconds: when a silent server is asked, when it counts as gone, and how long signing in may take. */
  readonly keepalive?: number;
  readonly deadAfter?: number;
  readonly connectTimeout?: number;
}

/** Makes the services; disposing the pool closes every session. */
export function createSshServices(
  { network, clock, files, log, read, prompt, runCommand, ...times }: SshServicesOptions,
): SshServices {
  const pool = new SshPool({
    deps: {
      network,
      clock,
      files,
      log,
      hostKeys: new HostKeys({ files, clock, log }),
      ...(prompt && { prompt }),
      keepalive: times.keepalive ?? 3000,
      deadAfter: times.deadAfter ?? 6000,
      connectTimeout: times.connectTimeout ?? 10_000,
    },
  });
  return { pool, read, ...(runCommand && { runCommand }) };
}
