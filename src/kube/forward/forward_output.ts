import { type Bytes, type Clock, type Conn, GatheredOutput } from "../../core/mod.ts";
import { sealWebSocketFrame, webSocketFrameRoom, webSocketOpcodes } from "../../wire/mod.ts";

export interface ForwardOutputOptions {
  readonly clock: Clock;
  /** Whether what is said goes into messages of a WebSocket. */
  readonly isWebSocket: boolean;
  readonly onFailure: (error: unknown) => void;
}

/**
 * What a session says, gathered into one write, and there into one message: so the opening of a stream and the first
 * bytes on it are one.
 */
export class ForwardOutput {
  readonly #clock: Clock;
  readonly #output: GatheredOutput;
  #patience: Disposable | undefined;
  #isClosed = false;

  constructor(conn: Conn, { clock, isWebSocket, onFailure }: ForwardOutputOptions) {
    this.#clock = clock;
    this.#output = new GatheredOutput(conn, { onFailure, ...isWebSocket && messages });
  }

  /** Whether something was said that the connection has not taken yet. */
  get isBusy(): boolean {
    return this.#output.isBusy;
  }

  /** Copies bytes into the next write; what can wait for a moment goes along with what comes next. */
  add(bytes: Uint8Array, { canWait = false } = {}): void {
    if (!canWait) return this.#output.add(bytes);
    this.#output.gather(bytes);
    if (!this.#isClosed) this.#patience ??= this.#clock.after(moment, this.#onPatience);
  }

  /** A frame of the WebSocket of its own: a pong or the close. */
  addControl(frame: Bytes): void {
    this.#output.addSeparate(frame, { most: mostControl });
  }

  /** Undefined while less than a large write waits; else resolves when it is on its way. */
  room(): Promise<void> | undefined {
    return this.#output.room();
  }

  /** Writes what waits, at once; resolves when that is written or lost. Nothing is written any more. */
  async finish(): Promise<void> {
    this.#output.writeSoon();
    await this.#output.flush();
    this.close();
  }

  /** Forgets what waits; nothing is written any more. */
  close(): void {
    this.#isClosed = true;
    this.#output.close();
    this.#patience?.[Symbol.dispose]();
  }

  /** It rings once for all that wait: often for something that has long gone along. */
  readonly #onPatience = (): void => {
    this.#patience = undefined;
    this.#output.writeSoon();
  };
}

const messages = {
  headRoom: webSocketFrameRoom,
  seal: (bytes: Bytes): Bytes => sealWebSocketFrame(bytes, webSocketOpcodes.binary),
};
/** In ms: a client's first bytes come sooner after its connection. */
const moment = 1;
/** Who asks more often than it takes answers gets none of them. */
const mostControl = 64;
