import { type Clock, type Conn, unlessAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { type HalfClose, type KubeUpgrades, podName, type PodPort } from "./forward_api.ts";
import type { ForwardForm } from "./forward_forms.ts";
import { type ForwardLimits, usualForwardLimits } from "./forward_limits.ts";
import { ForwardOpener } from "./forward_opener.ts";
import type { ForwardSession } from "./forward_session.ts";
import { PodForwards } from "./pod_forwards.ts";

export interface ForwardPoolOptions {
  readonly clock: Clock;
  readonly api: KubeUpgrades;
  readonly halfClose: HalfClose;
  /** Called once with each sentence about the server that the user should know. */
  readonly onNote?: (text: string) => void;
  /** Called for each broken session; postern replaces it when needed. */
  readonly onBroken?: (pod: string, error: unknown) => void;
  readonly limits?: Partial<ForwardLimits>;
}

/** The fields that `status` shows. */
export interface ForwardPoolStatus {
  readonly form: ForwardForm;
  readonly sessions: number;
  readonly streams: number;
  /** Sessions so far that broke while in use. */
  readonly broken: number;
  readonly lastError?: string;
}

/** Forwards to all pods of one API server, over as few connections as possible. */
export class ForwardPool implements AsyncDisposable {
  readonly #options: ForwardPoolOptions;
  readonly #limits: ForwardLimits;
  readonly #opener: ForwardOpener;
  readonly #pods = new Map<string, PodForwards>();
  readonly #idle = new Set<ForwardSession>();
  #broken = 0;
  #lastError: string | undefined;

  constructor(options: ForwardPoolOptions) {
    this.#options = options;
    this.#limits = { ...usualForwardLimits, ...options.limits };
    this.#opener = new ForwardOpener({ ...options, limits: this.#limits });
  }

  /**
   * Opens a connection to a port of a pod. If the pod refuses, the connection fails before its first byte.
   */
  async open(target: PodPort, { signal }: { signal: AbortSignal }): Promise<Conn> {
    signal.throwIfAborted();
    this.#opener.signal.throwIfAborted();
    const key = podName(target);
    let pod = this.#pods.get(key);
    if (!pod) {
      pod = new PodForwards({
        clock: this.#options.clock,
        limits: this.#limits,
        idle: this.#idle,
        pod: { namespace: target.namespace, pod: target.pod },
        opener: this.#opener,
        onEmpty: () => {
          if (this.#pods.get(key) === pod) this.#pods.delete(key);
        },
        onBroken: (error) => this.#onBroken(key, error),
      });
      this.#pods.set(key, pod);
    }
    try {
      return await unlessAborted(pod.open(target.port, { signal }), signal);
    } catch (error) {
      if (!signal.aborted && error instanceof PosternError) this.#lastError = error.message;
      throw error;
    }
  }

  status(): ForwardPoolStatus {
    const pods = [...this.#pods.values()];
    return {
      form: this.#opener.form,
      sessions: pods.reduce((sum, pod) => sum + pod.sessions, 0),
      streams: pods.reduce((sum, pod) => sum + pod.streams, 0),
      broken: this.#broken,
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
    };
  }

  /** Checks soon which sessions are alive, after the machine slept or the network changed. */
  check(): void {
    for (const pod of this.#pods.values()) pod.check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#opener[Symbol.dispose]();
    await Promise.all([...this.#pods.values()].map((pod) => pod[Symbol.asyncDispose]()));
    this.#pods.clear();
  }

  #onBroken(pod: string, error: unknown): void {
    this.#broken++;
    if (error instanceof PosternError) this.#lastError = error.message;
    this.#options.onBroken?.(pod, error);
  }
}
