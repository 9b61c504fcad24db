import type { Clock } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { SpdyEffect } from "../../wire/mod.ts";
import { podName, type PodPort } from "./forward_api.ts";
import { forwardFailure } from "./forward_failure.ts";
import type { ForwardStream } from "./forward_stream.ts";

export interface ForwardPairOptions {
  readonly clock: Clock;
  readonly target: PodPort;
  readonly stream: ForwardStream;
  readonly numbers: { readonly data: number; readonly errors: number };
  /** Ends the data stream towards the server. */
  readonly drop: () => void;
  /** Called when the pod of the session is gone. */
  readonly onGone: () => void;
}

type StreamEffect = Extract<SpdyEffect, { kind: "data" | "ended" | "reset" }>;

/**
 * The two streams of one forward as one connection. A kubelet that cannot connect ends the data stream first
 * and then sends the reason on the error stream. So if the data stream ends without a byte, wait for the
 * error stream.
 */
export class ForwardPair implements Disposable {
  readonly stream: ForwardStream;
  readonly numbers: { readonly data: number; readonly errors: number };
  readonly #options: ForwardPairOptions;
  #said = new Uint8Array(0);
  /** How the data stream ended. */
  #ended: "ended" | "reset" | undefined;
  #haveErrorsEnded = false;
  #timer: Disposable | undefined;

  constructor(options: ForwardPairOptions) {
    this.#options = options;
    this.stream = options.stream;
    this.numbers = options.numbers;
  }

  /** Whether the pod has ended its direction. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  receive(effect: StreamEffect): void {
    if (effect.stream === this.numbers.errors) this.#onErrors(effect);
    else if (effect.kind === "data") this.stream.onData(effect.bytes);
    else this.#onEnd(effect.kind);
  }

  /** The server ended the session before it accepted the streams. */
  onNotServed(): void {
    const { target } = this.#options;
    this.stream.onFailure(
      new PosternError("unreachable", `Cannot reach the pod "${podName(target)}": its session ended`, {
        detail: "vanished",
      }),
    );
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  #onErrors(effect: StreamEffect): void {
    if (effect.kind === "data") {
      const room = mostSaid - this.#said.length;
      this.#said = new Uint8Array([...this.#said, ...effect.bytes.subarray(0, room)]);
      // Some servers send the reason but never end the stream.
      this.#timer ??= this.#options.clock.after(patience, () => this.#fail());
      return;
    }
    this.#haveErrorsEnded = true;
    if (this.#said.length > 0) this.#fail();
    else if (this.#ended) this.#finish();
  }

  #onEnd(how: "ended" | "reset"): void {
    this.#ended ??= how;
    if (this.#said.length > 0) {
      if (this.#haveErrorsEnded) this.#fail();
    } else if (this.#haveErrorsEnded || (how === "ended" && this.stream.received > 0)) {
      this.#finish();
    } else {
      this.#timer ??= this.#options.clock.after(patience, () => this.#finish());
    }
  }

  #fail(): void {
    const text = new TextDecoder().decode(this.#said);
    const hasBegun = this.stream.received > 0;
    const failure = forwardFailure(this.#options.target, text, { hasBegun });
    this.#options.drop();
    if (failure.detail === "vanished") this.#options.onGone();
    this.stream.onFailure(failure);
  }

  #finish(): void {
    this.#timer?.[Symbol.dispose]();
    if (this.#said.length > 0) return this.#fail();
    if (this.#ended === "ended") return this.stream.onEnd();
    const { target } = this.#options;
    this.stream.onFailure(
      new PosternError(
        "unreachable",
        `Cannot keep the connection to port ${target.port} of the pod "${
          podName(target)
        }": the API server reset it`,
        {
          detail: "reset",
        },
      ),
    );
  }
}

const mostSaid = 8 * 1024;
/** In ms; a server that sends a reason sends it at once. */
const patience = 3000;
