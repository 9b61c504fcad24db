import { type Clock, type Conn, limitTime } from "../../core/mod.ts";
import { Pulse, type PulseTimes } from "../../mux/mod.ts";
import { PosternError, withContext } from "../../words/mod.ts";
import type { SpdyEffect, SpdySession } from "../../wire/mod.ts";
import { type HalfClose, podName, type PodPort } from "./forward_api.ts";
import { ForwardCrowd } from "./forward_crowd.ts";
import { type ForwardFraming, plainFraming, WebSocketFraming } from "./forward_framing.ts";
import { ForwardLanes } from "./forward_lanes.ts";
import { ForwardOutput } from "./forward_output.ts";
import { ForwardPair } from "./forward_pair.ts";
import { ForwardStream } from "./forward_stream.ts";

export interface SessionHandlers {
  /** Called when a stream ends, and when the session becomes full or free. */
  readonly onChange: () => void;
  /** Called once at the end, with the error of a broken session and the number of forwards it carried. */
  readonly onOver: (error: unknown, carried: number) => void;
}

export interface ForwardSessionOptions extends SessionHandlers {
  readonly clock: Clock;
  readonly pod: Pick<PodPort, "namespace" | "pod">;
  /** A new SPDY session for this connection. */
  readonly spdy: SpdySession;
  /** Whether SPDY runs inside WebSocket messages. */
  readonly isWebSocket: boolean;
  readonly halfClose: HalfClose;
  readonly pulse: PulseTimes;
}

/**
 * Forwards to the ports of one pod over one connection to its API server (SPDY/3.1, plain or inside WebSocket
 * messages). A forward is a pair of streams, one for errors and one for data; opening one waits for nothing.
 */
export class ForwardSession implements AsyncDisposable {
  readonly openedAt: number;
  readonly #conn: Conn;
  readonly #options: ForwardSessionOptions;
  readonly #spdy: SpdySession;
  readonly #framing: ForwardFraming;
  readonly #output: ForwardOutput;
  readonly #pulse: Pulse;
  readonly #crowd: ForwardCrowd;
  readonly #lanes: ForwardLanes;
  /** Keyed by the ids of both streams. */
  readonly #pairs = new Map<number, ForwardPair>();
  #requests = 0;
  #takesMore = true;
  /** Set when the pod is gone; a new pod of the same name needs a new session. */
  #podIsGone = false;
  #isOver = false;
  #resume: (() => void) | undefined;
  readonly #reading: Promise<void>;
  #leaving: Promise<void> | undefined;

  constructor(conn: Conn, options: ForwardSessionOptions) {
    this.#conn = conn;
    this.#options = options;
    const { clock, isWebSocket, onChange, pod, spdy } = options;
    this.#spdy = spdy;
    this.openedAt = clock.now();
    this.#framing = isWebSocket
      ? new WebSocketFraming((frame) => this.#output.addControl(frame))
      : plainFraming;
    this.#output = new ForwardOutput(conn, {
      clock,
      isWebSocket,
      onFailure: (error) => this.#break(error),
    });
    this.#pulse = new Pulse({
      clock,
      ...options.pulse,
      ask: () => this.#lanes.ping(),
      onDead: (silence) =>
        this.#break(
          new PosternError(
            "timeout",
            `Cannot keep the connection to the pod "${podName(pod)}": no data for ${
              Math.round(silence / 1000)
            } s`,
            { detail: "reset" },
          ),
        ),
    });
    this.#lanes = new ForwardLanes({
      clock,
      ping: () => {
        const { id, bytes } = this.#spdy.ping();
        this.#send(bytes);
        return id;
      },
    });
    this.#crowd = new ForwardCrowd({
      clock,
      onChange: () => {
        if (!this.#crowd.mustWait) this.#resume?.();
        if (!this.#takesMore && this.streams === 0) this.#end();
        else onChange();
      },
    });
    this.#pulse.start();
    this.#reading = this.#read();
  }

  /** The number of forwards it carries. */
  get streams(): number {
    return this.#crowd.size;
  }

  /** Whether it never carried a forward. */
  get isUnused(): boolean {
    return this.#requests === 0;
  }

  /** Whether it can take another forward. */
  get takesMore(): boolean {
    return this.#takesMore && !this.#podIsGone && !this.#isOver && !this.#pulse.isInDoubt &&
      this.#spdy.nextStream < lastNumber;
  }

  /** Whether a reader, here or in the pod, is so slow that a new forward might have to wait. */
  get isCrowded(): boolean {
    return this.#crowd.isFull || this.#lanes.isStuck;
  }

  /** Whether a forward receives enough data to slow down others. */
  get hasBulk(): boolean {
    return this.#crowd.hasBulk;
  }

  /**
   * Opens a connection to a port of the pod without waiting. If the pod refuses, the connection fails later.
   */
  open(port: number): Conn {
    const { clock, pod, halfClose } = this.#options;
    const requestId = String(this.#requests++);
    const headers = (type: string) =>
      [["streamtype", type], ["port", String(port)], ["requestid", requestId]] as const;
    for (let left = this.#lanes.free(this.#spdy.nextStream); left > 0; left--) this.#spdy.skip();
    // The error stream only receives.
    const errors = this.#spdy.open(headers("error"), { isLast: true });
    const data = this.#spdy.open(headers("data"));
    const stream = new ForwardStream({
      send: (bytes) => {
        this.#output.add(this.#spdy.dataHead(data.stream, bytes.length));
        this.#send(bytes);
        this.#lanes.onSaid(data.stream, bytes.length);
      },
      sendEnd: () => {
        if (halfClose === "hold" && !pair.hasEnded) return;
        // A client that has its response usually just disconnects, so this can wait.
        this.#sendIf(data.stream, this.#spdy.end(data.stream), { canWait: !stream.isExpectant });
      },
      sendReset: () => {
        this.#sendIf(data.stream, this.#spdy.reset(data.stream), { canWait: true });
        this.#sendIf(errors.stream, this.#spdy.reset(errors.stream), { canWait: true });
      },
      room: () => this.#isOver ? undefined : this.#lanes.room(data.stream) ?? this.#output.room(),
      onTaken: () => this.#crowd.onTaken(stream),
      onOver: () => {
        pair[Symbol.dispose]();
        // Send the half-close that was held back.
        this.#sendIf(data.stream, this.#spdy.end(data.stream), { canWait: true });
        this.#pairs.delete(data.stream);
        this.#pairs.delete(errors.stream);
        this.#crowd.leave(stream);
      },
    }, { peer: `${podName(pod)}:${port}` });
    const pair = new ForwardPair({
      clock,
      target: { ...pod, port },
      stream,
      numbers: { data: data.stream, errors: errors.stream },
      drop: () => this.#sendIf(data.stream, this.#spdy.reset(data.stream), { canWait: true }),
      onGone: () => this.#podIsGone = true,
    });
    this.#pairs.set(data.stream, pair);
    this.#pairs.set(errors.stream, pair);
    this.#crowd.enter(stream);
    // Wait for the client's first bytes and send them together.
    this.#output.add(errors.bytes, { canWait: true });
    this.#send(data.bytes, { canWait: true });
    this.#lanes.onOpened(errors.stream);
    this.#lanes.onOpened(data.stream);
    return stream;
  }

  /** Accepts no more forwards; ends with the last one. */
  retire(): void {
    this.#takesMore = false;
    if (this.streams === 0) this.#end();
  }

  /** Checks soon whether the session is alive. */
  check(): void {
    this.#pulse.check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    await this.#conn[Symbol.asyncDispose]();
    await Promise.all([this.#reading, this.#leaving]);
  }

  async #read(): Promise<void> {
    const into = new Uint8Array(readSize);
    try {
      while (!this.#isOver) {
        const count = await this.#conn.read(into);
        if (count === null) {
          throw new PosternError(
            "unreachable",
            "Cannot keep the port-forward: the API server closed the connection",
            {
              detail: "reset",
            },
          );
        }
        this.#pulse.onHeard();
        for (const bytes of this.#framing.receive(into.subarray(0, count))) {
          for (const effect of this.#spdy.receive(bytes)) this.#do(effect);
        }
        if (this.#crowd.mustWait) await this.#untilTaken();
      }
    } catch (error) {
      this.#break(error);
    }
  }

  async #untilTaken(): Promise<void> {
    this.#pulse.deaf(true);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resume = resolve;
    await promise;
    this.#resume = undefined;
    this.#pulse.deaf(false);
  }

  #do(effect: SpdyEffect): void {
    switch (effect.kind) {
      case "send":
        return this.#send(effect.bytes);
      case "data":
      case "ended":
      case "reset": {
        // A refused stream confirms its lane like an accepted one.
        if (effect.kind === "reset") this.#lanes.onAccepted(effect.stream);
        const pair = this.#pairs.get(effect.stream);
        if (!pair) return;
        pair.receive(effect);
        if (effect.kind === "data") this.#crowd.onHeld(pair.stream);
        return;
      }
      case "opened":
        // A server must not open streams.
        return this.#sendIf(effect.stream, this.#spdy.reset(effect.stream));
      case "accepted":
        return this.#lanes.onAccepted(effect.stream);
      case "pong":
        return this.#lanes.onPong(effect.id);
      case "goingAway":
        return this.#onGoingAway(effect.lastStream);
    }
  }

  #onGoingAway(lastStream: number): void {
    this.#takesMore = false;
    if (this.isUnused) {
      const message =
        "Cannot start the port-forward: the API server opened a session but accepts no forwards in it";
      return this.#break(new PosternError("unreachable", message, { detail: "reset" }));
    }
    for (const pair of new Set(this.#pairs.values())) {
      if (pair.numbers.data > lastStream) pair.onNotServed();
    }
    if (this.streams === 0) this.#end();
    else this.#options.onChange();
  }

  #send(bytes: Uint8Array, { canWait = false } = {}): void {
    this.#output.add(bytes, { canWait });
    this.#pulse.onSaid();
  }

  #sendIf(stream: number, bytes: Uint8Array | undefined, { canWait = false } = {}): void {
    if (!bytes || this.#isOver) return;
    this.#send(bytes, { canWait });
    this.#lanes.onSaid(stream, 0);
  }

  /** Ends the session and notifies the server. */
  #end(): void {
    if (this.#isOver) return;
    const closed = new PosternError("cancelled", "The session was closed");
    this.#over(closed);
    this.#options.onOver(undefined, 0);
    this.#leaving = this.#leave(closed);
  }

  /** The last data of clients may still be pending, and this session alone must deliver it. */
  async #leave(reason: PosternError): Promise<void> {
    using _limit = limitTime(this.#options.clock, leaveTime, () => this.#conn.abort(reason));
    if (this.#output.isBusy) await this.#output.finish();
    else this.#output.close();
    // Close the connection even if the server does not get the message.
    await this.#conn.write(this.#framing.farewell ?? this.#spdy.goAway()).catch(() => {});
    await this.#conn[Symbol.asyncDispose]();
  }

  #break(error: unknown): void {
    if (this.#isOver) return;
    const { pod } = this.#options;
    const isOurs = error instanceof PosternError;
    const failure = isOurs && error.detail === "reset"
      ? error
      : withContext(`Cannot keep the connection to the pod "${podName(pod)}"`, error, {
        code: isOurs ? error.code : "unreachable",
        detail: "reset",
      });
    const carried = this.streams;
    this.#over(failure);
    this.#output.close();
    this.#conn.abort(failure);
    this.#options.onOver(failure, carried);
  }

  /** Ends all forwards with one shared error, because a thousand errors would need a thousand stacks. */
  #over(error: unknown): void {
    this.#isOver = true;
    this.#takesMore = false;
    this.#pulse[Symbol.dispose]();
    for (const pair of new Set(this.#pairs.values())) pair.stream.onFailure(error);
    this.#pairs.clear();
    this.#crowd[Symbol.dispose]();
    this.#lanes.close();
    this.#resume?.();
  }
}

const readSize = 128 * 1024;
/** How long the server may take to read the last data, in ms. */
const leaveTime = 10_000;
/** Far below the highest stream id. */
const lastNumber = 0x4000_0000;
