import { usualSshPort } from "../config/language/ssh_config_numbers.ts";
import { type Conn, type DialOptions, within } from "../../core/mod.ts";
import { formatTarget, isPosternError, PosternError, type Target } from "../../words/mod.ts";
import { type OpensshTarget, patienceOf } from "./openssh_arguments.ts";
import { askOptions, type OpensshDeps, OpensshMaster } from "./openssh_master.ts";
import { OpensshSession } from "./openssh_session.ts";
import { SshHop, type SshHopStatus } from "../hops/ssh_hop.ts";
import type { SshHost } from "../config/ssh_host.ts";
import type { SshStation } from "../hops/ssh_pool.ts";

export interface OpensshOptions {
  /** The host's configuration, for names and addresses in messages. */
  readonly host: SshHost;
  readonly target: OpensshTarget;
  readonly deps: OpensshDeps;
}

/** One ssh host, reached with the user's own ssh program and all its features. */
export class Openssh implements SshStation {
  readonly host: SshHost;
  readonly #target: OpensshTarget;
  readonly #deps: OpensshDeps;
  readonly #hop: SshHop;
  #address: string | undefined;

  constructor({ host, target, deps }: OpensshOptions) {
    this.host = host;
    this.#target = target;
    this.#deps = deps;
    this.#hop = new SshHop({ host, connect: (options) => this.#signIn(options), deps });
  }

  get channels(): number {
    return this.#hop.channels;
  }

  /** Connects from this host to a target; the host resolves names. */
  dial(target: Target, options: DialOptions): Promise<Conn> {
    return this.#hop.dial(target, options);
  }

  ready(options: DialOptions): Promise<void> {
    return this.#hop.ready(options);
  }

  check(): void {
    this.#hop.check();
  }

  status(): SshHopStatus {
    return { ...this.#hop.status(), ...(this.#address !== undefined && { address: this.#address }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hop[Symbol.asyncDispose]();
  }

  async #signIn({ signal, onStep }: DialOptions): Promise<OpensshSession> {
    const { alias } = this.#target;
    const deps = this.#deps;
    if (deps.process.platform === "windows") {
      throw new PosternError("config", `Cannot use ssh ${alias}: ssh on Windows has no control sockets`, {
        hint: "use the built-in engine for this host",
      });
    }
    const asked = await askOptions(this.#target, deps, { signal });
    const { options } = asked;
    const host = options.get("hostname") ?? alias;
    this.#address = formatTarget({ host, port: Number(options.get("port") ?? usualSshPort) });
    onStep?.(`starting the ssh program for ${alias}`);
    const ms = patienceOf(options, deps.times);
    const error = () =>
      new PosternError("timeout", `Cannot reach ssh ${alias}: no session within ${ms / 1000} s`, {
        hint: "check whether the host answers, or raise ConnectTimeout",
      });
    const master = await within({ clock: deps.clock, ms, signal, error }, async (signal) => {
      for (let left = mostSignIns;; left--) {
        try {
          return await OpensshMaster.start(this.#target, { ...asked, deps, signal });
        } catch (error) {
          // Retry once: the server may have been restarting, or the connection broke.
          if (left <= 1 || signal.aborted || !isPosternError(error, "unreachable")) throw error;
        }
      }
    });
    onStep?.(`signed in to ssh ${alias}`);
    return new OpensshSession(master, { alias, deps });
  }
}

const mostSignIns = 2;
