import type { Clock, Conn } from "../../core/mod.ts";
import { Pulse, type PulseTimes } from "../../mux/mod.ts";
import { PosternError, withContext } from "../../words/mod.ts";
import {
  PortForwardV4,
  v4Data,
  webSocketClientFrame,
  webSocketOpcodes,
  WebSocketReader,
} from "../../wire/mod.ts";
import { podName, type PodPort } from "./forward_api.ts";
import { forwardFailure } from "./forward_failure.ts";
import { ForwardStream } from "./forward_stream.ts";

export interface ForwardV4Options {
  readonly clock: Clock;
  readonly target: PodPort;
  readonly pulse: PulseTimes;
  readonly onOver: () => void;
}

/**
 * One forward over a separate WebSocket. It has no half-close: ending one direction ends both. A slow reader
 * may make the server wait, because no other forward shares the connection.
 */
export class ForwardV4 {
  readonly stream: ForwardStream;
  readonly #conn: Conn;
  readonly #options: ForwardV4Options;
  readonly #webSocket = new WebSocketReader("client");
  readonly #forward = new PortForwardV4();
  readonly #pulse: Pulse;
  #said = "";
  #writing: Promise<void> = Promise.resolve();
  #waiting = 0;
  #resume: (() => void) | undefined;
  #isOver = false;

  constructor(conn: Conn, options: ForwardV4Options) {
    this.#conn = conn;
    this.#options = options;
    const { target, clock } = options;
    this.stream = new ForwardStream({
      send: (bytes) => this.#write(v4Data(bytes)),
      sendEnd: () => {},
      sendReset: () => this.#over(undefined),
      room: () => this.#isOver || this.#waiting < much ? undefined : this.#writing,
      onTaken: () => this.#resume?.(),
      onOver: () => this.#over(undefined),
    }, { peer: `${podName(target)}:${target.port}`, carriesHalfClose: false });
    this.#pulse = new Pulse({
      clock,
      ...options.pulse,
      ask: () => this.#write(webSocketClientFrame(webSocketOpcodes.ping, 0, () => {})),
      onDead: (silence) => this.#fail(new Error(`no data for ${Math.round(silence / 1000)} s`)),
    });
    this.#pulse.start();
    this.#read();
  }

  async #read(): Promise<void> {
    const into = new Uint8Array(readSize);
    try {
      while (!this.#isOver) {
        const count = await this.#conn.read(into);
        if (count === null) throw new Error("the API server closed the connection");
        this.#pulse.onHeard();
        this.#receive(into.subarray(0, count));
        while (this.stream.held > most && !this.#isOver) {
          this.#pulse.deaf(true);
          await new Promise<void>((resolve) => this.#resume = resolve);
          this.#pulse.deaf(false);
        }
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #receive(bytes: Uint8Array<ArrayBuffer>): void {
    for (const part of this.#webSocket.receive(bytes)) {
      for (const effect of this.#forward.receive(part)) {
        if (effect.kind === "data") this.stream.onData(effect.bytes);
        else if (effect.kind === "error") this.#onError(effect.bytes);
        else if (effect.kind === "ping") this.#onPing(effect.bytes);
        else if (effect.kind === "ended") return this.#onEnded(effect);
      }
    }
  }

  #onError(bytes: Uint8Array): void {
    this.#said = (this.#said + new TextDecoder().decode(bytes)).slice(0, mostSaid);
  }

  #onPing(bytes: Uint8Array): void {
    // Ignore pings of a server that does not read the pongs.
    if (this.#waiting >= much) return;
    this.#write(webSocketClientFrame(webSocketOpcodes.pong, bytes.length, (into) => into.set(bytes)));
  }

  #onEnded({ code, reason }: { readonly code: number; readonly reason: string }): void {
    if (this.#said !== "") return this.#fail(undefined);
    if (code !== 1000 && code !== 1005) {
      return this.#fail(new Error(`the API server closed the WebSocket: ${code} ${reason}`));
    }
    this.stream.onEnd();
    // The client still reads the data that arrived; further writes fail.
    this.#over(
      new PosternError(
        "unreachable",
        `Cannot write to ${this.stream.peer}: the pod has closed the connection`,
        {
          detail: "reset",
        },
      ),
    );
  }

  #write(frame: Uint8Array<ArrayBuffer>): void {
    if (this.#isOver) return;
    this.#waiting += frame.length;
    // Write in sequence: a socket that takes part of a frame could otherwise take another frame before the
    // rest.
    this.#writing = this.#writing.then(async () => {
      if (!this.#isOver) await this.#conn.write(frame);
      this.#waiting -= frame.length;
    }).catch((error) => this.#fail(error));
    this.#pulse.onSaid();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    const { target } = this.#options;
    const hasBegun = this.stream.received > 0;
    const failure = this.#said !== ""
      ? forwardFailure(target, this.#said, { hasBegun })
      : withContext(`Cannot keep the connection to ${this.stream.peer}`, error, {
        code: "unreachable",
        detail: "reset",
      });
    this.#over(failure);
  }

  #over(failure: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pulse[Symbol.dispose]();
    this.#resume?.();
    if (failure !== undefined) this.stream.onFailure(failure);
    this.#conn.abort(failure);
    this.#options.onOver();
  }
}

const readSize = 64 * 1024;
const most = 1024 * 1024;
const much = 256 * 1024;
const mostSaid = 8 * 1024;
