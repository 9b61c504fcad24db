import type { Conn, DialOptions } from "../../src/core/mod.ts";
import type { Target } from "../../src/words/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { Ssh } from "../../src/transports/ssh.ts";
import type { Prompt } from "../../src/ssh/sign_in/ssh_auth.ts";
import type { ReadSshHost } from "../../src/ssh/hops/ssh_chain.ts";
import { type SshHost, SshServices, type SshServicesOptions } from "../../src/ssh/mod.ts";
import { usualSshSection } from "../../src/ssh/config/ssh_section.ts";
import { recordingLog } from "./recording_log.ts";

export interface SshTransportsOptions {
  readonly read?: ReadSshHost;
  readonly prompt?: Prompt;
  readonly runCommand?: SshServicesOptions["runCommand"];
  readonly keepalive?: number;
  readonly deadAfter?: number;
  readonly connectTimeout?: number;
}

/** ssh transports over real sockets with shared sessions; a list replaces the ssh configuration. */
export class SshTransports implements AsyncDisposable {
  readonly network = createNetwork();
  readonly services: SshServices;
  readonly log = recordingLog();
  readonly #hosts = new Map<string, SshHost>();
  readonly #transports: Ssh[] = [];
  readonly #dialer = (target: Target, options: DialOptions): Promise<Conn> =>
    this.network.connect(target, options);

  constructor(
    hosts: readonly SshHost[],
    { read = (alias, asked) => this.#read(alias, asked), prompt, runCommand, ...times }:
      SshTransportsOptions = {},
  ) {
    for (const host of hosts) this.#hosts.set(host.alias, host);
    this.services = new SshServices({
      network: this.network,
      clock: systemClock,
      files: createFiles(systemClock),
      log: this.log,
      reading: () => ({ read, [Symbol.dispose]() {} }),
      ...(prompt && { prompt }),
      ...(runCommand && { runCommand }),
    }, { ...usualSshSection, ...times });
  }

  /** Returns the transport to a host. */
  to(alias: string): Ssh {
    const transport = new Ssh(alias, {
      name: alias,
      network: this.network,
      dialer: this.#dialer,
      services: this.services,
    });
    this.#transports.push(transport);
    return transport;
  }

  #read(alias: string, asked: { readonly user?: string; readonly port?: number }): Promise<SshHost> {
    const host = this.#hosts.get(alias);
    if (!host) return Promise.reject(new Error(`the test has no host ${alias}`));
    return Promise.resolve({ ...host, ...asked });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const transport of this.#transports) await transport[Symbol.asyncDispose]();
    await this.services[Symbol.asyncDispose]();
  }
}
