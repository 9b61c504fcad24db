import { type Clock, type Conn, unlessAborted, within } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { type HalfClose, type KubeUpgrades, podName, type PodPort } from "./forward_api.ts";
import { type ForwardForm, ForwardForms, type OpenedForm } from "./forward_forms.ts";
import { type ForwardLimits, usualForwardLimits } from "./forward_limits.ts";
import { ForwardSession } from "./forward_session.ts";
import { ForwardV4 } from "./forward_v4.ts";
import { PodForwards, type SessionHandlers } from "./pod_forwards.ts";

export interface ForwardPoolOptions {
  readonly clock: Clock;
  readonly api: KubeUpgrades;
  readonly halfClose: HalfClose;
  /** Told once of each thing that a person may want to know of the server, in a sentence. */
  readonly onNote?: (text: string) => void;
  /** Told of each session that broke and is replaced when it is needed. */
  readonly onBroken?: (pod: string, error: unknown) => void;
  readonly limits?: Partial<ForwardLimits>;
}

/** What `status` shows. */
export interface ForwardPoolStatus {
  readonly form: ForwardForm;
  readonly sessions: number;
  readonly streams: number;
  /** Sessions that broke while they were in use, so far. */
  readonly broken: number;
  readonly lastError?: string;
}

/** Forwards to all pods of one API server, over as few connections as will do. */
export class ForwardPool implements AsyncDisposable {
  readonly #options: ForwardPoolOptions;
  readonly #limits: ForwardLimits;
  readonly #forms: ForwardForms;
  readonly #pods = new Map<string, PodForwards>();
  readonly #idle = new Set<ForwardSession>();
  readonly #closing = new AbortController();
  #broken = 0;
  #lastError: string | undefined;
  #hasToldOfHalfClose = false;

  constructor(options: ForwardPoolOptions) {
    this.#options = options;
    this.#limits = { ...usualForwardLimits, ...options.limits };
    this.#forms = new ForwardForms(options.api, {
      onRefused: (form, taken) =>
        options.onNote?.(
          `${options.api.name} does not forward ports by ${nameOf[form]}; ${nameOf[taken]} is used`,
        ),
    });
  }

  /** A connection to a port of a pod. That the pod refuses shows on the connection, before its first byte. */
  async open(target: PodPort, { signal }: { signal: AbortSignal }): Promise<Conn> {
    signal.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    const key = podName(target);
    let pod = this.#pods.get(key);
    if (!pod) {
      pod = new PodForwards({
        clock: this.#options.clock,
        limits: this.#limits,
        idle: this.#idle,
        isSingle: () => this.#forms.current === "v4",
        connect: (port) => this.#connect({ ...target, port }),
        onEmpty: () => {
          if (this.#pods.get(key) === pod) this.#pods.delete(key);
        },
        onBroken: (error) => this.#onBroken(key, error),
        makeSession: (opened, handlers) => this.#makeSession(opened, target, handlers),
        makeSingle: (opened, port, onOver) => this.#makeSingle(opened, { ...target, port }, onOver),
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
      form: this.#forms.current,
      sessions: pods.reduce((sum, pod) => sum + pod.sessions, 0),
      streams: pods.reduce((sum, pod) => sum + pod.streams, 0),
      broken: this.#broken,
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
    };
  }

  /** Finds out soon which sessions are still there: after a sleep, or when the network has changed. */
  check(): void {
    for (const pod of this.#pods.values()) pod.check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new PosternError("cancelled", "The transport was closed"));
    await Promise.all([...this.#pods.values()].map((pod) => pod[Symbol.asyncDispose]()));
    this.#pods.clear();
  }

  /** Not for one client: others wait for it too, and go on when that one gives up. */
  #connect(target: PodPort): Promise<OpenedForm> {
    const { clock, api } = this.#options;
    const seconds = this.#limits.opening / 1000;
    return within({
      clock,
      ms: this.#limits.opening,
      signal: this.#closing.signal,
      error: () =>
        new PosternError(
          "timeout",
          `Cannot forward to the pod "${podName(target)}" of ${api.name}: no session within ${seconds} s`,
        ),
    }, (signal) => this.#forms.open(target, { signal }));
  }

  #makeSession(
    { form, conn, spdy }: OpenedForm,
    { namespace, pod }: PodPort,
    handlers: SessionHandlers,
  ): ForwardSession {
    return new ForwardSession(conn, {
      clock: this.#options.clock,
      pod: { namespace, pod },
      spdy,
      isWebSocket: form === "websocket",
      halfClose: this.#options.halfClose,
      pulse: this.#limits,
      ...handlers,
    });
  }

  #makeSingle({ conn }: OpenedForm, target: PodPort, onOver: () => void): Conn {
    if (!this.#hasToldOfHalfClose) {
      this.#hasToldOfHalfClose = true;
      this.#options.onNote?.(
        `${this.#options.api.name} forwards ports by ${nameOf.v4} only, which has no half-close: ` +
          "a client that ends its direction gets what the pod says until the linger is over",
      );
    }
    return new ForwardV4(conn, { clock: this.#options.clock, target, pulse: this.#limits, onOver }).stream;
  }

  #onBroken(pod: string, error: unknown): void {
    this.#broken++;
    if (error instanceof PosternError) this.#lastError = error.message;
    this.#options.onBroken?.(pod, error);
  }
}

const nameOf: Record<ForwardForm, string> = {
  websocket: "SPDY over a WebSocket",
  spdy: "SPDY",
  v4: "one WebSocket each (v4.channel.k8s.io)",
};
