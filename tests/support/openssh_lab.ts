import type { Process } from "../../src/world/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { createProcess } from "../../src/runtime/programs/process.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { Openssh } from "../../src/ssh/openssh/openssh.ts";
import { OpensshDirectory } from "../../src/ssh/openssh/openssh_directory.ts";
import type { OpensshTarget } from "../../src/ssh/openssh/openssh_arguments.ts";
import { recordingLog } from "./recording_log.ts";
import type { Sshd, SshLab } from "./sshd.ts";

/** The required peers. */
export const opensshPeers = ["sshd", "ssh_keygen", "sh", "ssh"] as const;

/** Returns the ssh configuration lines for a named server. */
export function hostLines(
  lab: SshLab,
  { name, port }: Pick<Sshd, "name" | "port">,
  ...more: string[]
): string {
  return [
    `Host ${name}`,
    "HostName 127.0.0.1",
    `Port ${port}`,
    `User ${lab.user}`,
    `IdentityFile ${lab.key}`,
    "IdentitiesOnly yes",
    "GlobalKnownHostsFile none",
    `UserKnownHostsFile ${lab.knownHosts}`,
    ...more,
  ].join("\n  ");
}

/** Hosts reached with the ssh program and a separate configuration. */
export class OpensshLab implements AsyncDisposable {
  readonly parent: string;
  readonly log = recordingLog();
  readonly directory: OpensshDirectory;
  readonly network = createNetwork();
  readonly files = createFiles(systemClock);
  readonly process: Pick<Process, "env" | "run" | "pipe" | "platform">;
  readonly #lab: SshLab;
  /** The path of the ssh configuration. */
  readonly config: string;
  readonly #hosts: Openssh[] = [];

  private constructor(lab: SshLab, config: string) {
    const real = createProcess({ clock: systemClock, files: this.files, main: "", flags: [] });
    // The tests may run the shell found in PATH.
    const pipe: Process["pipe"] = ([program = "", ...args], options) =>
      real.pipe([program.replace("/bin/sh", "sh"), ...args], options);
    this.process = { env: () => undefined, run: real.run, pipe, platform: real.platform };
    this.#lab = lab;
    this.config = config;
    this.parent = `${lab.directory}/run`;
    this.directory = new OpensshDirectory({
      parent: this.parent,
      platform: this.process.platform,
      network: this.network,
      files: this.files,
      clock: systemClock,
      log: this.log,
    });
  }

  static async create(lab: SshLab, lines: readonly string[]): Promise<OpensshLab> {
    const config = `${lab.directory}/openssh_config`;
    await Deno.writeTextFile(config, `${lines.join("\n")}\n`);
    return new OpensshLab(lab, config);
  }

  to(
    alias: string,
    { times = {}, ...more }: Partial<OpensshTarget> & { times?: Partial<{ connectTimeout: number }> } = {},
  ): Openssh {
    const { network, files, process, log, directory } = this;
    const host = new Openssh({
      host: this.#lab.host({ name: alias, port: 22 }),
      target: { alias, config: this.config, ...more },
      deps: {
        network,
        files,
        process,
        log,
        directory,
        clock: systemClock,
        times: { keepalive: 1000, deadAfter: 3000, connectTimeout: 10_000, ...times },
      },
    });
    this.#hosts.push(host);
    return host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts) await host[Symbol.asyncDispose]();
    await this.directory[Symbol.asyncDispose]();
  }
}
