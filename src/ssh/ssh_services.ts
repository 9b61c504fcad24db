import type { Clock, Conn, Log } from "../core/mod.ts";
import type { Files, Network } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { SshHost } from "./config/ssh_host.ts";
import { HostKeys } from "./host_keys/host_keys.ts";
import type { Prompt } from "./sign_in/ssh_auth.ts";
import type { ProxyCommandOptions } from "./hops/proxy_command.ts";
import type { ReadSshHost } from "./hops/ssh_chain.ts";
import { SshPool, type SshStation, type SshTimes } from "./hops/ssh_pool.ts";
import type { SshConfigContents } from "./config/ssh_config_files.ts";
import type { SshReading } from "./config/ssh_reading.ts";
import { type SshSection, usualSshSection } from "./config/ssh_section.ts";
import { UnlockedKeys } from "./keys/unlocked_keys.ts";

export interface SshServicesOptions {
  readonly network: Pick<Network, "connect" | "lookup">;
  readonly clock: Clock;
  readonly files: Files;
  readonly log: Log;
  /** Starts a new reading of the ssh configuration. */
  readonly reading: (section: SshSection) => SshReading;
  readonly prompt?: Prompt | undefined;
  /** Creates the station of a host that uses the user's ssh program. */
  readonly openSsh?: (
    host: SshHost,
    options: { readonly times: SshTimes; readonly config: string | undefined },
  ) => SshStation;
  /** The directory of that program's sockets; disposed with the services. */
  readonly directory?: AsyncDisposable;
  /** Runs a ProxyCommand; its stdio is the connection. */
  readonly runCommand?: (command: string, options: ProxyCommandOptions) => Promise<Conn>;
}

/** What all ssh transports share: sessions, known host keys, and one reading of the configuration. */
export class SshServices implements AsyncDisposable {
  readonly pool: SshPool;
  readonly clock: Clock;
  readonly runCommand: SshServicesOptions["runCommand"];
  readonly #options: SshServicesOptions;
  readonly #unlocked = new UnlockedKeys();
  #section: SshSection;
  #reading: SshReading;

  constructor(options: SshServicesOptions, section: SshSection = usualSshSection) {
    const { network, clock, files, log, prompt } = options;
    this.#options = options;
    this.clock = clock;
    this.#section = section;
    this.#reading = options.reading(section);
    this.runCommand = options.runCommand;
    this.pool = new SshPool({
      network,
      clock,
      files,
      log,
      hostKeys: new HostKeys({ files, clock, log }),
      unlocked: this.#unlocked,
      openSsh: (host, times) => {
        const { openSsh = noProgram } = options;
        return openSsh(host, { times, config: this.#section.config });
      },
      prompt,
    });
  }

  get section(): SshSection {
    return this.#section;
  }

  /** The contents of the files read so far. */
  get contents(): SshConfigContents | undefined {
    return this.#reading.contents;
  }

  readonly read: ReadSshHost = async (alias, asked) => {
    const host = await this.#reading.read(alias, asked);
    return this.#section.hosts[alias]?.engine === "openssh" ? { ...host, engine: "openssh", asked } : host;
  };

  /** Starts a new reading of everything. Transports keep their state until they are prepared again. */
  renew(section: SshSection = usualSshSection): void {
    this.#section = section;
    this.#unlocked.forget();
    this.#reading[Symbol.dispose]();
    this.#reading = this.#options.reading(section);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reading[Symbol.dispose]();
    await this.pool[Symbol.asyncDispose]();
    await this.#options.directory?.[Symbol.asyncDispose]();
  }
}

function noProgram({ alias }: SshHost): never {
  throw new PosternError("config", `Cannot use ssh ${alias}: this instance cannot run programs`, {
    hint: "use a host whose ssh configuration needs no program",
  });
}
