import type { Clock, Conn, DialOptions, Log } from "../core/mod.ts";
import type { Files, Network } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { SshHost } from "./config/ssh_host.ts";
import { HostKeys } from "./host_keys/host_keys.ts";
import type { Prompt } from "./sign_in/ssh_auth.ts";
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
  /** Begins to read the ssh configuration, as it is from now on. */
  readonly reading: (section: SshSection) => SshReading;
  readonly prompt?: Prompt | undefined;
  /** Makes the station of a host for which the person's ssh program is to be used. */
  readonly openSsh?: (
    host: SshHost,
    options: { readonly times: SshTimes; readonly config: string | undefined },
  ) => SshStation;
  /** Where that program's sockets are; it goes with the services. */
  readonly directory?: AsyncDisposable;
  /** Runs a ProxyCommand; its standard input and output are the connection. */
  readonly runCommand?: (command: string, options: DialOptions) => Promise<Conn>;
}

/** What all ssh transports of a program share: sessions, known host keys, and one reading of the configuration. */
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

  /** The files that the answers so far come from, as they were. */
  get contents(): SshConfigContents | undefined {
    return this.#reading.contents;
  }

  readonly read: ReadSshHost = async (alias, asked) => {
    const host = await this.#reading.read(alias, asked);
    return this.#section.hosts[alias]?.engine === "openssh" ? { ...host, engine: "openssh", asked } : host;
  };

  /** Reads everything anew from now on. Transports hold what they have until they are prepared again. */
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
  throw new PosternError("config", `Cannot use ssh ${alias}: no program can be run here`, {
    hint: "its ssh configuration asks for a program: use a host that the built-in engine can reach",
  });
}
