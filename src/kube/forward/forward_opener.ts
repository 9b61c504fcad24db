import { type Clock, type Conn, within } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { type HalfClose, type KubeUpgrades, podName, type PodPort } from "./forward_api.ts";
import { type ForwardForm, ForwardForms, type OpenedForm } from "./forward_forms.ts";
import { type ForwardLimits, pulseTimes } from "./forward_limits.ts";
import { ForwardSession, type SessionHandlers } from "./forward_session.ts";
import { ForwardV4 } from "./forward_v4.ts";

export interface ForwardOpenerOptions {
  readonly clock: Clock;
  readonly api: KubeUpgrades;
  readonly halfClose: HalfClose;
  readonly limits: ForwardLimits;
  /** Called once with each sentence about the server that the user should know. */
  readonly onNote?: ((text: string) => void) | undefined;
}

/** Opens connections for port-forwards to one API server, in the best form that it supports. */
export class ForwardOpener implements Disposable {
  readonly #options: ForwardOpenerOptions;
  readonly #forms: ForwardForms;
  readonly #closing = new AbortController();
  #hasToldOfHalfClose = false;

  constructor(options: ForwardOpenerOptions) {
    this.#options = options;
    const { api, onNote } = options;
    this.#forms = new ForwardForms(api, {
      onRefused: (form, taken) =>
        onNote?.(`${api.name} does not forward ports over ${nameOf[form]}; postern uses ${nameOf[taken]}`),
    });
  }

  /** Aborts when the opener is disposed. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** The form for the next connection. */
  get form(): ForwardForm {
    return this.#forms.current;
  }

  /**
   * Opens a new connection. It has no signal: several clients may wait for it, and continue when one of them
   * leaves.
   */
  connect(target: PodPort): Promise<OpenedForm> {
    const { clock, api, limits: { opening: ms } } = this.#options;
    const what = `Cannot forward to the pod "${podName(target)}" of ${api.name}`;
    const error = () => new PosternError("timeout", `${what}: no session within ${ms / 1000} s`);
    return within(
      { clock, ms, signal: this.#closing.signal, error },
      (signal) => this.#forms.open(target, { signal }),
    );
  }

  /** A session for many forwards to a pod. */
  session(
    { form, conn, spdy }: OpenedForm,
    { namespace, pod }: Pick<PodPort, "namespace" | "pod">,
    handlers: SessionHandlers,
  ): ForwardSession {
    const { clock, halfClose, limits } = this.#options;
    return new ForwardSession(conn, {
      clock,
      pod: { namespace, pod },
      spdy,
      isWebSocket: form === "websocket",
      halfClose,
      pulse: pulseTimes(limits),
      ...handlers,
    });
  }

  /** One forward with a separate connection. */
  single({ conn }: OpenedForm, target: PodPort, onOver: () => void): Conn {
    const { clock, api, limits, onNote } = this.#options;
    if (!this.#hasToldOfHalfClose) {
      this.#hasToldOfHalfClose = true;
      onNote?.(
        `${api.name} forwards ports over ${nameOf.v4} only, which has no half-close: ` +
          "after a client's half-close, postern relays the pod's data until the linger timeout",
      );
    }
    return new ForwardV4(conn, { clock, target, pulse: pulseTimes(limits), onOver }).stream;
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new PosternError("cancelled", "The transport was closed"));
  }
}

const nameOf: Record<ForwardForm, string> = {
  websocket: "SPDY over a WebSocket",
  spdy: "SPDY",
  v4: "one WebSocket per forward (v4.channel.k8s.io)",
};
