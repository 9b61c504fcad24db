import { type Conn, GatheredOutput, limitTime } from "../../core/mod.ts";
import { PosternError, type Target } from "../../words/mod.ts";
import { OpensshEngine } from "./openssh_engine.ts";
import { lossFailure } from "./openssh_failure.ts";
import type { OpensshDeps, OpensshMaster } from "./openssh_master.ts";
import { firstWindow } from "../session/ssh_channel.ts";
import { SshChannels } from "../session/ssh_channels.ts";
import type { HopSession } from "../hops/ssh_hop.ts";

export interface OpensshSessionOptions {
  readonly alias: string;
  readonly deps: Pick<OpensshDeps, "clock" | "times">;
}

/** The parts of a master that a session uses. */
type HeldMaster = Pick<OpensshMaster, "conn" | "ended"> & AsyncDisposable;

/** The channels to a server through a master. The session ends with its master and cannot be restarted. */
export class OpensshSession implements HopSession {
  readonly ended: Promise<void>;
  readonly #master: HeldMaster;
  readonly #options: OpensshSessionOptions;
  readonly #output: GatheredOutput;
  readonly #engine: OpensshEngine;
  readonly #channels: SshChannels;
  readonly #end = Promise.withResolvers<void>();
  readonly #reading: Promise<void>;
  #reason: unknown;
  #isLosing = false;
  #pingedAt: number | undefined;
  #answer: Disposable | undefined;
  #roundTrip: number | undefined;
  #shortest: number | undefined;
  /** How many more pings to send only to measure the round trip: one ping alone may have met a busy server. */
  #soundings = 2;

  /** Takes ownership of the master. */
  constructor(master: HeldMaster, options: OpensshSessionOptions) {
    const { clock } = options.deps;
    this.#master = master;
    this.#options = options;
    this.ended = this.#end.promise;
    this.#output = new GatheredOutput(master.conn, { onFailure: () => this.#lose() });
    this.#channels = new SshChannels({
      label: `ssh ${options.alias}`,
      engine: () => this.isOver ? undefined : this.#engine,
      room: () => this.#output.room(),
      now: () => clock.now(),
      roundTrip: () => this.#shortest,
      sharedWindow: () => (this.#shortest ?? 0) < shortRoundTrip ? firstWindow : undefined,
    });
    this.#engine = new OpensshEngine({
      output: this.#output,
      handlers: () => this.#channels.handlers,
      onPong: () => this.#onPong(),
    });
    void master.ended.then(() => this.#lose());
    this.#reading = this.#read();
    this.check();
  }

  get reason(): unknown {
    return this.#reason;
  }

  get isOver(): boolean {
    return this.#isLosing || this.#reason !== undefined;
  }

  get channels(): number {
    return this.#channels.open;
  }

  get roundTrip(): number | undefined {
    return this.#roundTrip;
  }

  /** Sends a ping now; ssh sends its own keepalives at its own interval. */
  check(): void {
    if (this.isOver || this.#answer) return;
    const { clock, times: { keepalive, deadAfter } } = this.#options.deps;
    const ms = Math.max(deadAfter - keepalive, keepalive / 2);
    this.#pingedAt = clock.now();
    this.#answer = limitTime(clock, ms, () => this.#fail(this.#silence(ms)));
    this.#engine.sendPing();
  }

  connect(target: Target, { signal }: { readonly signal: AbortSignal }): Promise<Conn> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.isOver) return Promise.reject(this.#reason ?? this.#lost("postern is closing the session"));
    if (this.#engine.refusals >= mostRefusals) return Promise.reject(this.#worn(target));
    return this.#channels.connect(target, { engine: this.#engine, signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new PosternError(
      "cancelled",
      `postern closed the session with ssh ${this.#options.alias}`,
    );
    // A stopped master that reads nothing must not delay our own end.
    using _late = limitTime(this.#options.deps.clock, lastWords, () => this.#fail(closed));
    await this.#output.flush();
    this.#fail(closed);
    await this.#reading;
    await this.#master[Symbol.asyncDispose]();
  }

  async #read(): Promise<void> {
    let buffer = new Uint8Array(smallestRead);
    let used = 0;
    try {
      while (!this.isOver) {
        const count = await this.#master.conn.read(buffer.subarray(used));
        if (count === null) break;
        if (this.isOver) return;
        used += count;
        const wasFull = used === buffer.length;
        const taken = this.#engine.receive(buffer.subarray(0, used));
        const rest = buffer.subarray(taken, used);
        const size = Math.max(this.#engine.needs(rest), wasFull ? largestRead : 0);
        if (size > buffer.length) {
          buffer = new Uint8Array(size);
          buffer.set(rest);
        } else {
          buffer.copyWithin(0, taken, used);
        }
        used -= taken;
      }
    } catch (error) {
      if (error instanceof PosternError && error.code === "protocol") this.#fail(error);
    }
    await this.#lose();
  }

  #onPong(): void {
    this.#answer?.[Symbol.dispose]();
    this.#answer = undefined;
    if (this.#pingedAt === undefined) return;
    this.#roundTrip = this.#options.deps.clock.now() - this.#pingedAt;
    this.#shortest = Math.min(this.#roundTrip, this.#shortest ?? this.#roundTrip);
    if (this.#soundings-- > 0) this.check();
  }

  /** The connection has ended, or soon will: the program's last output explains why. */
  async #lose(): Promise<void> {
    if (this.isOver) return;
    this.#isLosing = true;
    const { clock } = this.#options.deps;
    const late = Promise.withResolvers<undefined>();
    using _late = clock.after(lastWords, () => late.resolve(undefined));
    const ended = await Promise.race([this.#master.ended, late.promise]);
    this.#fail(ended ? lossFailure(this.#options.alias, ended) : this.#lost("ssh closed its control socket"));
  }

  #silence(ms: number): PosternError {
    const says = `no data for ${Math.round(ms)} ms`;
    return new PosternError("timeout", `Cannot keep the session with ssh ${this.#options.alias}: ${says}`);
  }

  #lost(why: string): PosternError {
    return new PosternError(
      "unreachable",
      `Cannot keep the session with ssh ${this.#options.alias}: ${why}`,
      {
        detail: "host",
      },
    );
  }

  #worn({ host }: Target): PosternError {
    const says = `the session reached its limit of ${mostRefusals} refused channels`;
    return new PosternError(
      "unreachable",
      `Cannot reach ${host} through ssh ${this.#options.alias}: ${says}`,
      {
        detail: "overloaded",
      },
    );
  }

  #fail(error: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = error;
    this.#answer?.[Symbol.dispose]();
    this.#output.close();
    this.#channels.fail(error);
    this.#master.conn.abort(error);
    this.#end.resolve();
  }
}

const smallestRead = 16 * 1024;
const largestRead = 256 * 1024;
const lastWords = 1000;
/**
 * The round trip in milliseconds up to which all channels share one window, which fills such a path. Data
 * beyond it waits in the master, which copies its whole queue for each packet: one large window made a download
 * five times slower, and with 32 downloads at once almost nothing arrived.
 */
const shortRoundTrip = 10;
/** ssh remembers every refused channel until it ends, and searches all of them for each message. */
const mostRefusals = 1000;
